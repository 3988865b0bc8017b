"""Every strategy that trains on nodes serves every task of nodes, unknown targets included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from workbench.graph import Graph
from workbench.testing import graphs
from workbench.testing.rank_context import train_here
from workbench.train import STRATEGIES, TASKS, resolve

NewFolder = Callable[[], Path]
WORDS: dict[str, Any] = {"epochs": 2, "hidden_channels": 8, "dropout": 0.0, "lr": 0.02}
CASES: dict[str, dict[str, Any]] = {
    "full_graph": {},
    "halo_exchange": {"partition": "hash", "trainers": 2},
    "mini_batch": {"fanouts": (3, 2), "batch_size": 9, "trainers": 2},
    "cluster_batch": {"num_clusters": 6, "clusters_per_batch": 2, "partitioner": "hash", "trainers": 2},
    "historical": {"num_clusters": 6, "clusters_per_batch": 2, "partitioner": "hash", "trainers": 2},
    "feature_parallel": {"trainers": 2},
    "sampled_boundary": {"partition": "hash", "boundary_rate": 0.5, "trainers": 2},
    "stale_halo": {"partition": "hash", "trainers": 2},
    "partitioned_mini_batch": {"partition": "hash", "fanouts": (3, 2), "batch_size": 9, "trainers": 2},
}


def graph_of(task: str) -> Graph:
    graph, random = graphs.random(60, 200), np.random.default_rng(0)
    if task == "node_classification":
        return graph
    y = (random.random((60, 2)) < 0.5).astype(float) if task == "multi_label" else random.normal(size=(60, 2))
    y[4] = y[10, 1] = y[13] = np.nan
    return graph.with_data(y=y, num_classes=None)


def test_each_strategy_says_what_it_serves() -> None:
    served = {entry.name: entry.factory.serves for entry in STRATEGIES}
    assert {name for name, units in served.items() if "node" in units} == set(CASES)
    assert {name for name, units in served.items() if "edge" in units} == {"full_graph", "mini_batch"}
    assert {name for name, units in served.items() if "graph" in units} == {"graph_batch"}
    units = {entry.name: entry.factory.unit for entry in TASKS}
    assert {name for name, unit in units.items() if unit == "node"} == {
        "node_classification",
        "multi_label",
        "node_regression",
    }


@pytest.mark.parametrize("task", ["node_classification", "multi_label", "node_regression"])
@pytest.mark.parametrize("strategy", CASES)
def test_a_task_of_nodes_trains_by_every_strategy(strategy: str, task: str, new_folder: NewFolder) -> None:
    graph = graph_of(task)
    run = train_here(resolve(graph, "sage", strategy, **WORDS, **CASES[strategy]), new_folder())
    num_known = 30 - (0 if task == "node_classification" else 1)
    assert run.told("train_started")[0]["num_train_nodes"] == num_known
    for epoch in (1, 2):
        own = [step["num_seeds"] for step in run.told("step_finished") if step["epoch"] == epoch]
        assert sum(own) == num_known
    outputs, chosen = np.load(run.folder / "predictions.npy"), TASKS.create(task)
    assert np.isfinite(run.losses).all()
    metric = run.told("epoch_finished")[-1]["metrics"][f"test_{chosen.metric}"]
    nodes = chosen.labelled(graph, graph.test_nodes)
    rows = chosen.summarise(torch.from_numpy(outputs[nodes]))
    assert metric == pytest.approx(chosen.measure(rows, torch.from_numpy(graph.y[nodes])), abs=1e-5)


@pytest.mark.parametrize("task", ["node_classification", "multi_label", "node_regression"])
def test_a_partitioned_graph_gives_the_losses_of_the_whole_one(task: str, new_folder: NewFolder) -> None:
    graph = graph_of(task)
    whole = train_here(resolve(graph, "gcn", "full_graph", **WORDS), new_folder())
    parted = train_here(resolve(graph, "gcn", "halo_exchange", **WORDS, **CASES["halo_exchange"]), new_folder())
    assert parted.losses == pytest.approx(whole.losses, rel=1e-5)
