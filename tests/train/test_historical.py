"""Histories: exact once they are refreshed with frozen weights; ages and bytes as counted; kept in checkpoints."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.train.halo_runs import mixed_graph
from tests.train.test_resume import _train_with, control_at
from workbench.graph import Graph
from workbench.models import MODELS, call_model
from workbench.testing import graphs
from workbench.testing.nets import CLASSES, EXACT, WIDTH
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import resolve
from workbench.train.graph_statistics import GraphStatistics
from workbench.train.history import HistoryRows
from workbench.train.history_batch import ClusterDeal, batch_of
from workbench.train.history_model import forward_batch, inputs_of, look_at, pushing
from workbench.train.history_probe import choose_mode
from workbench.train.whole import as_tensor, whole_graph_inputs

NewFolder = Callable[[], Path]
CPU = torch.device("cpu")
WORDS: dict[str, Any] = {"epochs": 3, "num_clusters": 6, "clusters_per_batch": 2, "partitioner": "hash", "lr": 0.02}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return graphs.random(90, 300)


def double(name: str, graph: Graph, **words: Any) -> nn.Module:
    torch.manual_seed(3)
    spec = MODELS.create(name, **{"dropout": 0.0, **words})
    return spec.build(graph.num_features, graph.num_classes).double()


class Refreshed:
    """A model in evaluation whose histories are refreshed batch by batch."""

    def __init__(self, module: nn.Module, graph: Graph, num_batches: int, *, padded: bool) -> None:
        self.module, self.graph = copy.deepcopy(module).eval(), graph
        self.plan = look_at(self.module, graph, CPU, torch.float64, padded=padded)
        self.rows = HistoryRows(graph.num_nodes, self.plan.width, torch.float64, "memory")
        self.statistics = GraphStatistics(graph, CPU)
        owners = np.random.default_rng(2).integers(0, num_batches, graph.num_nodes)
        self.batches = [batch_of(graph, np.flatnonzero(owners == one)) for one in range(num_batches)]

    @torch.no_grad()
    def refresh(self) -> Tensor:
        """Compute every batch once and return the outputs."""
        result = torch.full((self.graph.num_nodes, CLASSES), torch.nan, dtype=torch.float64)
        for batch in self.batches:
            x = as_tensor(self.graph.x[batch.node_ids], CPU, torch.float64)
            inputs, node_ids = inputs_of(self.graph, batch, x, CPU, torch.float64)
            own = node_ids[: batch.num_own]
            pulled, _ = self.rows.read(node_ids[batch.num_own :])
            exchange = pushing(self.plan, lambda slot, rows, own=own: self.rows.write(own, slot, rows), pulled, CPU)  # type: ignore[misc]
            result[own] = forward_batch(
                self.module,
                inputs,
                node_ids,
                batch.num_own,
                plan=self.plan,
                exchange=exchange,
                statistics=self.statistics,
            )
        return result


@pytest.mark.parametrize("name", sorted(EXACT))
@pytest.mark.parametrize("num_batches", [1, 2, 5])
def test_frozen_weights_give_the_full_batch_after_as_many_refreshes_as_calls_read_histories(
    name: str, num_batches: int
) -> None:
    graph = mixed_graph(WIDTH, CLASSES)
    torch.manual_seed(1)
    module = EXACT[name][0]().double().eval()
    mode, difference = choose_mode(module, graph)
    assert mode is not None, difference
    run = Refreshed(module, graph, num_batches, padded=mode == "padded")
    with torch.no_grad():
        expected = call_model(module, whole_graph_inputs(graph, CPU, torch.float64))
    num_calls = len(run.plan.layers)
    for _ in range(num_calls - 1):
        run.refresh()
    assert (run.refresh() - expected).abs().max() < 1e-10


def test_fewer_refreshes_are_not_enough() -> None:
    """The comparison above can fail: the first pass of a model of three calls reads zeros."""
    graph = mixed_graph(WIDTH, CLASSES)
    torch.manual_seed(1)
    module = MODELS.create("sage", hidden_channels=5, num_layers=3, dropout=0.0).build(WIDTH, CLASSES).double().eval()
    run = Refreshed(module, graph, 3, padded=False)
    with torch.no_grad():
        expected = call_model(module, whole_graph_inputs(graph, CPU, torch.float64))
    first, second, third = (run.refresh() - expected for _ in range(3))
    assert first.abs().max() > 1e-3
    assert second.abs().max() < first.abs().max()
    assert third.abs().max() < 1e-10


def frozen(graph: Graph, module: nn.Module, folder: Path, **words: Any) -> LocalRun:
    keywords = {**WORDS, "epochs": 4, "lr": 0.0, "optimizer": "sgd", **words}
    return train_here(resolve(graph, module, "historical", **keywords), folder)


@pytest.mark.parametrize("trainers", [1, 2, 3])
@pytest.mark.parametrize("name", ["gcn", "sage", "gat", "appnp"])
def test_a_run_with_frozen_weights_comes_to_the_loss_of_the_full_batch(
    name: str, trainers: int, graph: Graph, new_folder: NewFolder
) -> None:
    """The whole way, on one rank and several: clusters, prefetch, exchange, loss."""
    words: dict[str, Any] = {"K": 3} if name == "appnp" else {"num_layers": 3, "hidden_channels": 8}
    module = double(name, graph, **words)
    run = frozen(graph, module, new_folder(), trainers=trainers)
    outputs = call_model(module.eval(), whole_graph_inputs(graph, CPU, torch.float64))
    nodes = torch.from_numpy(np.array(graph.train_nodes))
    expected = nn.functional.cross_entropy(outputs[nodes], torch.from_numpy(np.array(graph.y))[nodes]).item()
    assert run.losses[0] != pytest.approx(expected, abs=1e-6)
    assert run.losses[2:] == pytest.approx([expected, expected], abs=1e-10)


def test_every_edge_counts_in_every_epoch(graph: Graph, new_folder: NewFolder) -> None:
    run = frozen(graph, double("gcn", graph), new_folder(), trainers=2)
    for epoch in range(1, 5):
        steps = [step for step in run.told("step_finished") if step["epoch"] == epoch]
        assert sum(step["num_edges"] for step in steps) == graph.num_edges
        assert sum(step["num_seeds"] for step in steps) == len(graph.train_nodes)


@pytest.mark.parametrize("trainers", [1, 2])
def test_ages_stay_within_their_bound_and_cold_rows_within_the_first_epoch(
    trainers: int, graph: Graph, new_folder: NewFolder
) -> None:
    run = frozen(graph, double("gcn", graph), new_folder(), trainers=trainers, clusters_per_batch=1)
    readings = run.told("staleness_measured")
    steps_per_epoch = 6 // trainers
    assert {reading["source"] for reading in readings} == {"history"}
    assert {reading["bound"] for reading in readings} == {2 * steps_per_epoch - 1}
    assert max(age for reading in readings for age in reading["ages"]) <= 2 * steps_per_epoch - 1
    assert min(age for reading in readings for age in reading["ages"]) >= 1
    cold = {reading["step"]: reading["num_cold"] for reading in readings if reading["num_cold"]}
    assert cold
    assert max(cold) <= steps_per_epoch
    told = [log["text"] for log in run.told("log_written") if "never been written" in log["text"]]
    assert len(told) == trainers
    if trainers == 1:
        assert f"{sum(cold.values()):,} of the" in told[0]


def test_ages_are_those_of_the_rows(graph: Graph, new_folder: NewFolder) -> None:
    """Worked out anew from the order of the clusters: each row's age is the step less that of its last push."""
    run = frozen(graph, double("gcn", graph), new_folder())
    resolved = resolve(graph, double("gcn", graph), "historical", **{**WORDS, "lr": 0.0})
    clusters = _sampler(resolved.config).clusters(graph)
    deal = ClusterDeal(clusters, [np.arange(6)], 2, 0, 0)
    written = np.zeros(graph.num_nodes, np.int64)
    for reading in run.told("staleness_measured"):
        epoch, index = divmod(reading["step"] - 1, deal.steps_per_epoch)
        batch = batch_of(graph, deal.own_nodes(epoch + 1, index))
        steps = written[batch.halo_ids]
        ages, counts = np.unique(reading["step"] - steps[steps > 0], return_counts=True)
        assert (reading["ages"], reading["counts"]) == (ages.tolist(), counts.tolist())
        assert reading["num_cold"] == int((steps == 0).sum())
        written[batch.node_ids[: batch.num_own]] = reading["step"]


def _sampler(config: Any) -> Any:
    from workbench.train.base import STRATEGIES
    from workbench.train.clusters import cluster_sampler

    return cluster_sampler(STRATEGIES.from_dict(config.strategy.to_json()), config.trainers)


@pytest.mark.parametrize("trainers", [1, 3])
def test_bytes_are_those_of_the_formula(trainers: int, graph: Graph, new_folder: NewFolder) -> None:
    """Push n, pull the sum of halo(batch), each times the widths of calls 1 to L - 1; remote rows are of those."""
    run = frozen(graph, double("gcn", graph, num_layers=3, hidden_channels=7), new_folder(), trainers=trainers)
    row = (7 + 7) * 8
    for epoch in run.told("epoch_finished"):
        steps = [step for step in run.told("step_finished") if step["epoch"] == epoch["epoch"]]
        halo = sum(step["num_nodes"] for step in steps) - graph.num_nodes
        assert epoch["bytes"]["history_push"] == graph.num_nodes * row
        assert epoch["bytes"]["history_pull"] == halo * row
        assert epoch["bytes"].get("history_remote", 0) <= halo * row
        assert ("history_remote" in epoch["bytes"]) == (trainers > 1)


def test_reading_ahead_and_files_change_no_bit(graph: Graph, new_folder: NewFolder) -> None:
    words = {**WORDS, "hidden_channels": 8, "num_layers": 3, "epochs": 4}
    runs = [
        train_here(resolve(graph, "gcn", "historical", **words, **more), new_folder())
        for more in ({}, {"prefetch": False}, {"history": "mmap"}, {"history": "mmap", "prefetch": False})
    ]
    for other in runs[1:]:
        assert other.losses == runs[0].losses
        assert (other.folder / "model.pt").read_bytes() == (runs[0].folder / "model.pt").read_bytes()
        assert not list((other.folder / "histories").glob("*")) if (other.folder / "histories").exists() else True


@pytest.mark.parametrize("step", [2, 3, 4, 6])
@pytest.mark.parametrize("history", ["memory", "mmap"])
def test_a_stopped_and_resumed_run_equals_the_undisturbed_one(
    step: int, history: str, graph: Graph, new_folder: NewFolder
) -> None:
    resolved = resolve(graph, "gcn", "historical", **WORDS, hidden_channels=8, history=history)
    whole, folder = train_here(resolved, new_folder()), new_folder()
    part = train_here(resolved, folder, controls=control_at(step, "stop"))
    assert part.outcomes[0].status == "stopped"
    rest = train_here(resolved, folder)
    assert part.losses + rest.losses == whole.losses
    assert (folder / "model.pt").read_bytes() == (whole.folder / "model.pt").read_bytes()
    ages = [run.told("staleness_measured") for run in (part, rest, whole)]
    assert [dict(one) for one in ages[0] + ages[1]] == [dict(one) for one in ages[2]]


def test_two_ranks_resume_with_their_own_histories(graph: Graph, new_folder: NewFolder) -> None:
    resolved = resolve(graph, "gcn", "historical", **WORDS, hidden_channels=8, dropout=0.0, trainers=2)
    whole, folder = train_here(resolved, new_folder()), new_folder()
    _train_with(resolved, folder, [control_at(3, "stop") for _ in range(2)])
    rest = train_here(resolved, folder)
    assert rest.losses == whole.losses[-len(rest.losses) :]
    assert (folder / "model.pt").read_bytes() == (whole.folder / "model.pt").read_bytes()


def test_one_rank_with_all_clusters_in_a_batch_is_the_full_batch(graph: Graph, new_folder: NewFolder) -> None:
    module = double("gcn", graph, hidden_channels=7)
    words: dict[str, Any] = {"epochs": 5, "optimizer": "sgd", "lr": 0.1}
    clusters = {"num_clusters": 6, "clusters_per_batch": 6, "partitioner": "hash"}
    run = train_here(resolve(graph, module, "historical", **words, **clusters), new_folder())
    whole = train_here(resolve(graph, module, "full_graph", **words), new_folder())
    assert run.losses == pytest.approx(whole.losses, abs=1e-10)


def test_ranks_without_a_cluster_join(new_folder: NewFolder) -> None:
    few = graphs.random(40, 80).with_data(train_nodes=np.array([0, 2, 4]))
    words = {**WORDS, "num_clusters": 3, "clusters_per_batch": 1, "hidden_channels": 4}
    run = train_here(resolve(few, "sage", "historical", **words, trainers=4), new_folder())
    assert all(outcome.status == "finished" for outcome in run.outcomes)
    assert sum(step["num_seeds"] for step in run.told("step_finished")) == 3 * 3


def test_a_disk_without_room_is_found_before_training(graph: Graph, tmp_path: Path, monkeypatch: Any) -> None:
    import shutil

    from workbench.core.errors import RunError

    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(100, 90, 10))
    with pytest.raises(RunError, match="history='memory'"):
        HistoryRows(100, 16, torch.float32, "mmap", tmp_path)


def test_a_graph_without_edges_trains(new_folder: NewFolder) -> None:
    lone = Graph.from_edge_index(
        np.zeros((2, 0), np.int64),
        20,
        x=np.eye(20, 4, dtype=np.float32),
        y=np.arange(20) % 3,
        train_nodes=np.arange(10),
    )
    run = train_here(resolve(lone, "gcn", "historical", **WORDS, hidden_channels=4), new_folder())
    assert np.isfinite(run.losses).all()
