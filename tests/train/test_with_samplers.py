"""What changes no bit of a run with batches: samplers over the ring, and a stop in the middle."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.core.control import Control
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


@pytest.mark.parametrize("step", [2, 4])
@pytest.mark.parametrize("strategy", ["cluster_batch", "partitioned_mini_batch"])
def test_a_stop_changes_no_bit(strategy: str, step: int, graph: Graph, new_folder: NewFolder) -> None:
    """All ranks stop before the same step, also in the middle of an epoch, and nothing is fetched for nobody."""
    words = {**CASES[strategy], "trainers": 2, "epochs": 2, "hidden_channels": 8, "dropout": 0.0}
    resolved, folder = resolve(graph, "sage", strategy, **words), new_folder()
    whole = train_here(resolved, new_folder())
    stop = Control(kind="stop", id=1)
    part = train_here(resolved, folder, controls=lambda asked, call: stop if asked == step else None)
    assert {(outcome.status, outcome.step) for outcome in part.outcomes} == {("stopped", step - 1)}
    rest = train_here(resolved, folder)
    assert part.losses + rest.losses == whole.losses
    assert (folder / "model.pt").read_bytes() == (whole.folder / "model.pt").read_bytes()
    told = [
        [epoch["bytes"].get("gather_remote") for epoch in run.told("epoch_finished")] for run in (part, rest, whole)
    ]
    assert told[0] + told[1] == told[2]
