"""Every task on real data: it learns, and beats what needs no learning by a margin. Seconds each, so few epochs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.core.rng import generator
from workbench.graph import Graph, datasets
from workbench.graph.graph_set import graph_set
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import resolve

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
NewFolder = Callable[[], Path]
QUIET: dict[str, Any] = {"evaluate_every": 0, "checkpoint_every": 0, "dropout": 0.0, "lr": 0.01}
SAMPLED: dict[str, Any] = {**QUIET, "fanouts": (5, 5), "hidden_channels": 32, "trainers": 2}


def trained(folder: Path, graph: Graph, model: str, strategy: str, **words: Any) -> tuple[LocalRun, dict[str, float]]:
    run = train_here(resolve(graph, model, strategy, **words), folder, timeout_s=800)
    return run, run.told("epoch_finished")[-1]["metrics"]


def split(num_nodes: int, num_train: int, num_val: int) -> dict[str, Any]:
    order = generator(0, num_nodes).permutation(num_nodes)
    ends = num_train, num_train + num_val
    return {"train_nodes": order[: ends[0]], "val_nodes": order[ends[0] : ends[1]], "test_nodes": order[ends[1] :]}


def test_multi_label_beats_every_constant_answer(data_root: Path, new_folder: NewFolder) -> None:
    """Cora: which topics occur in a paper or among those that it is linked with? Fixed answers reach F1 0.4."""
    cora = datasets.load("cora", root=data_root / "planetoid")
    topics, (source, destination) = np.eye(7, dtype=np.float32)[cora.y], cora.edge_index()
    np.maximum.at(topics, destination, topics[source])
    parts = split(cora.num_nodes, 1600, 500)
    graph = cora.with_data(y=topics, class_names=None, num_classes=None, **parts)
    run, metrics = trained(new_folder(), graph, "sage", "mini_batch", batch_size=100, epochs=3, **SAMPLED)
    shares = np.sort(topics[parts["test_nodes"]].mean(axis=0))[::-1]
    constant = max(2 * shares[:k].sum() / (k + shares.sum()) for k in range(1, 8))
    assert constant < 0.45
    assert metrics["test_f1"] > constant + 0.25
    assert run.losses[-1] < run.losses[0]


def test_regression_beats_the_mean(new_folder: NewFolder) -> None:
    """Debian: the size of a package, installed (log of KiB), from its words and what it depends on."""
    debian = datasets.load("debian")
    sizes = np.log1p(debian.node_data["installed_size_kib"]).astype(np.float32)
    parts = split(debian.num_nodes, 6000, 500)
    sizes = (sizes - sizes[parts["train_nodes"]].mean()) / sizes[parts["train_nodes"]].std()
    graph = debian.with_data(y=sizes, class_names=None, num_classes=None, **parts)
    run, metrics = trained(new_folder(), graph, "sage", "mini_batch", batch_size=250, epochs=3, **SAMPLED)
    assert run.told("train_started")[0]["metric"] == "mae"
    of_mean = float(np.abs(sizes[parts["test_nodes"]]).mean())  # the training mean is 0
    assert metrics["test_mae"] < 0.85 * of_mean
    assert metrics["test_r2"] > 0.25


def test_links_are_told_from_chance(data_root: Path, new_folder: NewFolder) -> None:
    """Cora: which papers are linked? Chance: AUC 0.5, MRR 0.05 among 100 negatives."""
    cora = datasets.load("cora", root=data_root / "planetoid", normalize_features=True)
    words = {"task": "link_prediction", "out_channels": 32, "batch_size": 256, "epochs": 4}
    _, sampled = trained(new_folder(), cora, "sage", "mini_batch", **words, **SAMPLED)
    assert sampled["test_auc"] > 0.65
    assert sampled["test_mrr"] > 0.08
    words = {"task": "link_prediction", "out_channels": 32, "hidden_channels": 32, "epochs": 10}
    _, whole = trained(new_folder(), cora, "gcn", "full_graph", **words, **QUIET)
    assert whole["test_auc"] > 0.75
    assert whole["test_mrr"] > 0.15


def test_graphs_are_classified_better_than_by_chance(data_root: Path, new_folder: NewFolder) -> None:
    """ENZYMES: six classes of equal size, so the majority is right in 1 of 6."""
    graph = datasets.load("enzymes", root=data_root, train_share=0.6, val_share=0.2)
    x = np.array(graph.x)
    graph = graph.with_data(x=(x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6))
    words = {"hidden_channels": 64, "num_layers": 3, "batch_size": 16, "trainers": 2, "epochs": 15}
    _, metrics = trained(new_folder(), graph, "sage", "graph_batch", **words, **QUIET)
    found = graph_set(graph)
    assert found.y is not None
    majority = np.bincount(found.y[found.test_graphs]).max() / len(found.test_graphs)
    assert majority < 0.2
    assert (metrics["test_accuracy"] + metrics["val_accuracy"]) / 2 > majority + 0.12
