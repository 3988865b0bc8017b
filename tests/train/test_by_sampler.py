"""Training by each sampler: every one runs, its weights count, and all clusters at once are the full batch."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from workbench.graph import Graph
from workbench.testing import graphs
from workbench.testing.rank_context import train_here
from workbench.testing.sampler_cases import CASES, cases, sampler_of, with_columns
from workbench.train import resolve
from workbench.train.tasks.node_classification import NodeClassification

NewFolder = Callable[[], Path]
WORDS: dict[str, Any] = {"hidden_channels": 8, "dropout": 0.0, "lr": 0.05}
RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results_sampling.py"


def made(num_nodes: int = 120) -> Graph:
    """Return a graph whose edges join nodes of one class."""
    nodes = np.random.default_rng(0).integers(0, num_nodes, 4 * num_nodes)
    steps = graphs.NUM_CLASSES * np.random.default_rng(1).integers(0, num_nodes // graphs.NUM_CLASSES, 4 * num_nodes)
    return with_columns(graphs.build("classes", np.stack([nodes, (nodes + steps) % num_nodes], axis=1), num_nodes))


@pytest.mark.parametrize("case", CASES)
def test_a_model_learns_by_every_sampler(case: str, new_folder: NewFolder) -> None:
    run = train_here(
        resolve(made(), "gcn", "mini_batch", sampler=sampler_of(case), batch_size=30, epochs=8, **WORDS), new_folder()
    )
    assert run.outcomes[0].status == "finished"
    assert run.losses[-1] < 0.9 * run.losses[0]


@pytest.mark.parametrize("case", ["neighbor", *cases(draws_seeds=True)])
def test_ranks_share_the_batches_of_an_epoch(case: str, new_folder: NewFolder) -> None:
    graph = made()
    resolved = resolve(
        graph, "sage", "mini_batch", sampler=sampler_of(case), batch_size=10, epochs=2, trainers=2, **WORDS
    )
    run = train_here(resolved, new_folder())
    steps = run.told("step_finished")
    assert {step["step"] for step in run.told("step_finished", rank=0)} == {
        step["step"] for step in run.told("step_finished", rank=1)
    }
    if not case.startswith("saint"):
        assert sum(step["num_seeds"] for step in steps) == 2 * len(graph.train_nodes)


@pytest.mark.parametrize("model", ["gcn", "sage"])
def test_all_clusters_in_one_batch_are_the_full_batch(model: str, new_folder: NewFolder) -> None:
    """Identity 12: the same losses, step by step."""
    graph, words = graphs.random(60, 200), {**WORDS, "epochs": 4}
    whole = train_here(resolve(graph, model, "full_graph", **words), new_folder())
    sampler = {"num_clusters": 6, "clusters_per_batch": 6, "partitioner": "hash"}
    at_once = train_here(resolve(graph, model, "mini_batch", sampler="cluster", **sampler, **words), new_folder())
    assert at_once.losses == pytest.approx(whole.losses, rel=1e-5)


def test_losses_count_by_their_weights() -> None:
    outputs, targets = torch.randn(5, 3), torch.tensor([0, 2, 1, 1, 0])
    task, weights = NodeClassification(label_smoothing=0.1), torch.tensor([0.0, 1.0, 2.0, 0.5, 3.0])
    alone = torch.stack([task.loss_sum(outputs[i : i + 1], targets[i : i + 1]) for i in range(5)])
    assert torch.isclose(task.loss_sum(outputs, targets, weights), (alone * weights).sum())
    assert torch.isclose(task.loss_sum(outputs, targets, torch.ones(5)), task.loss_sum(outputs, targets))


def test_weights_of_edges_and_losses_reach_the_model(new_folder: NewFolder) -> None:
    """One step of a linear model on one saint batch: its loss is the one computed from the sample by hand."""
    from torch_geometric.nn import GCNConv

    from workbench.sampling import sample

    class Linear(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = GCNConv(4, 3)

        def forward(self, x: Any, edge_index: Any, edge_weight: Any = None) -> Any:
            return self.layer(x, edge_index, edge_weight)

    torch.manual_seed(0)
    graph, model = graphs.random(80, 300), Linear()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    run = train_here(
        resolve(graph, model, "mini_batch", sampler="saint_node", num_draws=80, epochs=1, lr=0.01), new_folder()
    )
    drawn = sample(graph, graph.train_nodes, "saint_node", num_draws=80, epoch=1, batch=0)
    model.load_state_dict(before)
    outputs = model(
        torch.from_numpy(np.asarray(graph.x[drawn.node_ids])),
        torch.from_numpy(drawn.edge_index),
        torch.from_numpy(drawn.edge_weight),
    )
    targets = torch.from_numpy(graph.y[drawn.seed_nodes])
    losses = torch.nn.functional.cross_entropy(outputs[: drawn.num_seeds], targets, reduction="none")
    wanted = (losses * torch.from_numpy(drawn.node_weight)).mean().item()
    assert run.told("step_finished")[0]["loss"] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.slow
def test_the_measurement_of_accuracies_runs_and_resumes(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("results_sampling", RESULTS)
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    script.NUM_SEEDS = {"random": 1}
    graph, results = graphs.random(200, 800), script.Results(tmp_path, "sage", "random")
    for name in script.samplers_for(graph):
        results.add(script.measure(graph, "sage", name, 0, epochs=2))
    again = script.Results(tmp_path, "sage", "random")
    assert all(again.has(name, 0) for name in script.samplers_for(graph))
    assert not again.has("neighbor", 1)
    assert script.table([again]).count("\n") == 1 + len(script.samplers_for(graph))
    assert "| neighbor |" in script.report([again])
    again.runs = [{**run, "test_accuracy": 0.5 if run["sampler"] == "labor" else 0.8} for run in again.runs]
    assert again.missed() == ["labor on random: 30.0 points"]
