"""Links: metrics against brute force, what a model may see, and what is refused."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, SAGEConv

from workbench.core.errors import InputError
from workbench.gather.link_pairs import negatives, oriented
from workbench.gather.link_split import split_links
from workbench.graph import Graph
from workbench.testing import graphs
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import TASKS, ResolvedRun, exact, resolve
from workbench.train.build import load_trained
from workbench.train.heads import Decoded
from workbench.train.ranking import auc, mean_reciprocal_rank
from workbench.train.tasks.link_prediction import _EVALUATION

NewFolder = Callable[[], Path]
SHARES = {"val_share": 0.1, "test_share": 0.1, "rng_seed": 0}
WORDS: dict[str, Any] = {"task": "link_prediction", "out_channels": 6, "hidden_channels": 8, "dropout": 0.0, "lr": 0.02}
SAMPLED: dict[str, Any] = {**WORDS, "batch_size": 40, "fanouts": (3, 3), "epochs": 2}
SCORES = st.sampled_from([-1.5, 0.0, 0.5, 2.0])


@given(npst.arrays(float, st.integers(1, 7), elements=SCORES), npst.arrays(float, st.integers(1, 9), elements=SCORES))
def test_auc_is_the_share_of_pairs_in_order(positive: Any, negative: Any) -> None:
    won = [1.0 if p > q else 0.5 if p == q else 0.0 for p, q in itertools.product(positive, negative)]
    assert auc(positive, negative) == pytest.approx(np.mean(won))
    task, scores = TASKS.create("link_prediction"), torch.from_numpy(np.concatenate([positive, negative]))
    targets = torch.cat([torch.ones(len(positive)), torch.zeros(len(negative))])
    assert task.measure(scores, targets) == pytest.approx(np.mean(won))


@given(st.data())
def test_mrr_is_the_mean_over_ranks_counted_one_by_one(data: st.DataObject) -> None:
    num, count = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 6))
    positive = data.draw(npst.arrays(float, num, elements=SCORES))
    negative = data.draw(npst.arrays(float, (num, count), elements=SCORES))
    there = data.draw(npst.arrays(bool, (num, count)))
    there[0, 0] = True
    found = []
    for score, row, known in zip(positive.tolist(), negative.tolist(), there.tolist(), strict=True):
        others = [value for value, is_there in zip(row, known, strict=True) if is_there]
        if others:
            above, equal = sum(v > score for v in others), sum(v == score for v in others)
            found.append(1 / (1 + above + equal / 2))
    assert mean_reciprocal_rank(positive, negative, there) == pytest.approx(np.mean(found))


def brute_metrics(rows: Any, split: Any, name: str, count: int, weight: Any = None) -> tuple[float, float]:
    """Score every validation (test) edge and its fixed negatives one by one."""
    pairs, key = getattr(split, f"{name}_pairs"), (0, _EVALUATION[name])
    ids = np.arange(pairs.shape[1])
    sources, destinations = oriented(split, pairs, ids, key)
    candidates = negatives(split, sources, ids, count, key)
    weight = np.eye(rows.shape[1]) if weight is None else weight
    won, reciprocal, total = 0.0, [], []
    for source, destination, others in zip(sources, destinations, candidates, strict=True):
        own = [rows[source] @ weight @ rows[other] for other in others if other >= 0]
        score = rows[source] @ weight @ rows[destination]
        total.append((score, own))
        if own:
            reciprocal.append(1 / (1 + sum(v > score for v in own) + 0.5 * sum(v == score for v in own)))
    every = [value for _, own in total for value in own]
    won = np.mean([[float(s > v) + 0.5 * (s == v) for v in every] for s, _ in total])
    return won, float(np.mean(reciprocal))


@pytest.mark.parametrize("decoder", ["dot", "bilinear"])
@pytest.mark.parametrize(("strategy", "trainers"), [("full_graph", 1), ("mini_batch", 1), ("mini_batch", 3)])
def test_metrics_are_those_of_every_pair_scored_by_hand(
    decoder: str, strategy: str, trainers: int, new_folder: NewFolder
) -> None:
    graph = graphs.karate()
    words = {**SAMPLED, "trainers": trainers} if strategy == "mini_batch" else {**WORDS, "epochs": 2}
    resolved = resolve(graph, "sage", strategy, **words, decoder=decoder, num_eval_negatives=7)
    run = train_here(resolved, new_folder())
    (started,) = run.told("train_started")
    split = split_links(graph, **SHARES)
    assert (started["metric"], started["num_train_nodes"]) == ("auc", split.train_pairs.shape[1])
    told = run.told("epoch_finished")[-1]["metrics"]
    assert list(told) == ["val_auc", "val_mrr", "test_auc", "test_mrr"]
    rows = np.load(run.folder / "predictions.npy").astype(np.float64)
    assert rows.shape == (graph.num_nodes, 6)
    module = load_trained(resolved.config, graph, run.folder)
    assert isinstance(module, Decoded) == (decoder == "bilinear")
    weight = module.weight.detach().double().numpy() if isinstance(module, Decoded) else None
    for name in ("val", "test"):
        wanted = brute_metrics(rows, split, name, 7, weight)
        assert (told[f"{name}_auc"], told[f"{name}_mrr"]) == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize(("strategy", "words"), [("full_graph", {"epochs": 2}), ("mini_batch", SAMPLED)])
def test_embeddings_are_those_of_the_graph_without_held_out_edges(
    strategy: str, words: dict[str, Any], new_folder: NewFolder
) -> None:
    graph = graphs.random(60, 200)
    split = split_links(graph, **SHARES)
    whole = train_here(resolve(graph, "gcn", strategy, **{**WORDS, **words}), new_folder())
    module = load_trained(resolve(graph, "gcn", strategy, **{**WORDS, **words}).config, graph, whole.folder)
    with torch.no_grad():
        rows = module(torch.tensor(np.array(graph.x)), torch.from_numpy(split.messages.edge_index()))
        seen = module(torch.tensor(np.array(graph.x)), torch.from_numpy(graph.edge_index()))
    predictions = np.load(whole.folder / "predictions.npy")
    assert np.allclose(rows.numpy(), predictions, atol=1e-6)
    assert not np.allclose(seen.numpy(), predictions, atol=1e-3)


def test_layer_by_layer_too_held_out_edges_are_not_seen(new_folder: NewFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, words = graphs.random(60, 200), {**SAMPLED, "trainers": 2, "decoder": "bilinear"}
    at_once = train_here(resolve(graph, "gcn", "mini_batch", **words), new_folder())
    monkeypatch.setattr(exact, "AT_ONCE_BYTES", 0)
    by_layer = train_here(resolve(graph, "gcn", "mini_batch", **words), new_folder())
    assert (
        by_layer.told("epoch_finished")[-1]["bytes"]["evaluate"]
        > at_once.told("epoch_finished")[-1]["bytes"]["evaluate"]
    )
    assert by_layer.losses == at_once.losses
    rows = [np.load(run.folder / "predictions.npy") for run in (at_once, by_layer)]
    assert np.allclose(*rows, atol=1e-6)
    metrics = [run.told("epoch_finished")[-1]["metrics"] for run in (at_once, by_layer)]
    assert metrics[0] == pytest.approx(metrics[1], abs=1e-3)


@pytest.mark.parametrize("folds", [1, 2, 3, 100])
def test_folds_predict_every_edge_once_from_the_others(folds: int, new_folder: NewFolder) -> None:
    graph = graphs.karate()
    run = train_here(resolve(graph, "gcn", "full_graph", **WORDS, epochs=2, num_folds=folds), new_folder())
    split = split_links(graph, **SHARES)
    num_train, num_messages = split.train_pairs.shape[1], split.messages.num_edges
    steps = run.told("step_finished")
    assert run.told("train_started")[0]["steps_per_epoch"] == min(folds, num_train)
    for epoch in (1, 2):
        own = [step for step in steps if step["epoch"] == epoch]
        assert sum(step["num_seeds"] for step in own) == num_train
        assert all(step["num_edges"] == num_messages - 2 * step["num_seeds"] for step in own)


def test_ranks_share_the_edges_of_an_epoch(new_folder: NewFolder) -> None:
    run = train_here(resolve(graphs.path(5), "sage", "mini_batch", **{**SAMPLED, "trainers": 4}), new_folder())
    by_rank = [run.told("step_finished", rank=rank) for rank in range(4)]
    assert len({len(steps) for steps in by_rank}) == 1
    num_train = split_links(graphs.path(5), **SHARES).train_pairs.shape[1]
    assert sum(step["num_seeds"] for steps in by_rank for step in steps) == 2 * num_train


class TwoLayers(nn.Module):
    def __init__(self, out_channels: int, *, cached: bool = False) -> None:
        super().__init__()
        self.first, self.second = SAGEConv(4, 8), GCNConv(8, out_channels, cached=cached)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        out: Tensor = self.second(self.first(x, edge_index).relu(), edge_index, edge_weight)
        return out


def test_any_model_of_nodes_embeds(new_folder: NewFolder) -> None:
    graph = graphs.random(40, 120)
    graph = graph.with_data(edge_data={"weight": np.linspace(0.5, 1, graph.num_edges, dtype=np.float32)})
    words = {"task": "link_prediction", "out_channels": 6, "epochs": 1}
    for strategy, more in (("full_graph", {}), ("mini_batch", {"fanouts": (3, 3), "batch_size": 50})):
        run = train_here(resolve(graph, TwoLayers(6), strategy, **words, **more), new_folder())
        assert np.isfinite(run.losses).all()
        assert set(torch.load(run.folder / "model.pt")) == set(TwoLayers(6).state_dict())


def refused(graph: Graph, model: Any = "sage", strategy: str = "mini_batch", **words: Any) -> dict[str, Any]:
    with pytest.raises(InputError) as caught:
        resolve(graph, model, strategy, **{"task": "link_prediction", "epochs": 1, **words})
    return {finding.where: finding for finding in caught.value.findings}


def test_what_cannot_be_is_refused_with_its_fix() -> None:
    graph = graphs.random(40, 120)
    assert "strategy='full_graph' or strategy='mini_batch'" in refused(graph, strategy="cluster_batch")["strategy"].fix
    assert "edges" in refused(graphs.no_edges())
    assert "less than 1 together" in refused(graph, val_share=0.5, test_share=0.5)["val_share, test_share"].expected
    assert "starts at the edges" in refused(graph, sampler="saint_node")["sampler"].expected
    assert refused(graph, TwoLayers(5), out_channels=6)["model"].expected == "an output of shape (num_nodes, 6)"
    assert "model.second" in refused(graph, TwoLayers(64, cached=True), "full_graph")
    assert (
        "boolean"
        in refused(graph.with_data(edge_data={"val_edges": np.ones(graph.num_edges)}))[
            "edge_data['val_edges']"
        ].expected
    )
    assert "graph.x" in refused(graph.with_data(x=None))
    assert "trainers" in refused(graph, strategy="full_graph", trainers=2)


def test_a_split_without_edges_is_a_remark_and_not_measured(new_folder: NewFolder) -> None:
    resolved: ResolvedRun = resolve(graphs.karate(), "sage", "mini_batch", **SAMPLED, val_share=0.0)
    assert [finding.got for finding in resolved.warnings] == ["none: its metrics cannot be measured"]
    run: LocalRun = train_here(resolved, new_folder())
    assert set(run.told("epoch_finished")[-1]["metrics"]) == {"test_auc", "test_mrr"}


def test_a_decoder_that_cannot_tell_directions_is_a_remark_on_a_directed_graph() -> None:
    both_ways = graphs.random(40, 120)
    source, destination = both_ways.edge_index()
    one_way = Graph.from_edge_index(both_ways.edge_index()[:, source < destination], 40, x=both_ways.x)
    for graph, decoder, wanted in ((both_ways, "dot", 0), (one_way, "dot", 1), (one_way, "bilinear", 0)):
        resolved = resolve(graph, "sage", "mini_batch", **SAMPLED, decoder=decoder)
        assert [finding.where for finding in resolved.warnings].count("decoder") == wanted


def test_a_graph_needs_no_labels_and_no_split_of_nodes(new_folder: NewFolder) -> None:
    graph = graphs.random(40, 120).with_data(
        y=None, train_nodes=None, val_nodes=None, test_nodes=None, num_classes=None
    )
    resolved = resolve(graph, "sage", "mini_batch", **SAMPLED)
    assert "link_prediction" in resolved.summary
    assert train_here(resolved, new_folder()).outcomes[0].status == "finished"
