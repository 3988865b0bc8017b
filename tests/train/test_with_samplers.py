"""Strategies with batches made by samplers, over the ring: the same bits as with none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.gather import BatchPlan
from workbench.graph import Graph
from workbench.runtime.rank_link import RankLink
from workbench.runtime.remote_source import RemoteSource
from workbench.runtime.sampler_task import serve_trainers
from workbench.testing import graphs
from workbench.testing import rank_context as hosting
from workbench.testing.rank_context import train_here
from workbench.train import resolve

NewFolder = Callable[[], Path]
CASES: dict[str, dict[str, Any]] = {
    "cluster_batch": {"num_clusters": 9, "clusters_per_batch": 2, "partitioner": "hash"},
    "partitioned_mini_batch": {"partition": "hash", "fanouts": (3, 2), "batch_size": 8},
    "mini_batch": {"task": "link_prediction", "out_channels": 4, "fanouts": (3, 2), "batch_size": 40},
    "graph_batch": {"batch_size": 3},
}


class Link(RankLink):
    """A rank's link that tells nobody."""

    def __init__(self) -> None:
        self.num_told = 0

    def emit(self, kind: str, **data: Any) -> None:
        self.num_told += 1


@pytest.fixture(scope="module")
def graph() -> Graph:
    return graphs.random(100, 300)


@pytest.mark.parametrize("strategy", CASES)
def test_samplers_change_no_bit(
    strategy: str, graph: Graph, new_folder: NewFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {**CASES[strategy], "trainers": 2, "epochs": 2, "hidden_channels": 8, "dropout": 0.0}
    if strategy == "graph_batch":
        graph = graphs.union(*[3 + i % 4 for i in range(18)])
    alone = train_here(resolve(graph, "sage", strategy, **words), new_folder())
    threads: list[threading.Thread] = []

    def with_sampler(plan: BatchPlan) -> RemoteSource:
        source = RemoteSource(plan, Link(), "127.0.0.1", 1)
        threads.append(threading.Thread(target=serve_trainers, args=([source.address], 0, "here"), daemon=True))
        threads[-1].start()
        return source

    monkeypatch.setattr(hosting, "LocalSource", with_sampler)
    served = train_here(resolve(graph, "sage", strategy, **words), new_folder())
    for thread in threads:
        thread.join(30)
    assert len(threads) == 2
    assert {event["sampler"] for event in served.told("batch_sampled")} == {0}
    assert served.losses == alone.losses
    assert np.array_equal(np.load(served.folder / "predictions.npy"), np.load(alone.folder / "predictions.npy"))
    assert served.told("epoch_finished")[-1]["bytes"] == alone.told("epoch_finished")[-1]["bytes"]
