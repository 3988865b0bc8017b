"""Feature parallelism against halo exchange, between processes: where every cut is bad, and where one is good.

Both train the same GCN, full-batch, on the same ranks of the local cluster; runs take turns. Printed are the bytes that
a step moved between ranks, as the transport counted them, and the median seconds of a step. On the random graph, whose
every cut is bad, feature parallelism moves less; on the grid, halo exchange does. That the bytes are so is asserted:
they are the same on any machine. Seconds on a loopback say little about a network.

    python benchmarks/bench_feature_parallel.py --trainers 4 --num-nodes 20000
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
from typing import Any

import workbench as wb
from workbench.core.events import of_kind

WORDS: dict[str, Any] = {"hidden_channels": 32, "num_layers": 3, "epochs": 6, "evaluate_every": 0}
STRATEGIES: dict[str, dict[str, Any]] = {"feature_parallel": {}, "halo_exchange": {"partition": "metis"}}
KINDS = ("transpose_forward", "transpose_backward", "halo_forward", "halo_backward")


def graphs(num_nodes: int) -> dict[str, wb.Graph]:
    """Return a graph with no good cut, and one with a good one."""
    side = round(num_nodes**0.5)
    even = {"a": 0.25, "b": 0.25, "c": 0.25}  # any two nodes alike: nothing to find for a partitioner
    common = {"num_features": 32, "num_classes": 4}
    return {
        "random": wb.datasets.load("rmat", num_nodes=num_nodes, num_edges=10 * num_nodes, **even, **common),
        "grid": wb.datasets.load("grid", height=side, width=side, **common),
    }


def measure(session: wb.Session, graph: wb.Graph, strategy: str, trainers: int) -> tuple[int, float]:
    """Return the bytes between ranks and the median seconds of a step of one run."""
    words = {**WORDS, **STRATEGIES[strategy]}
    run = session.launch(graph, "gcn", strategy=strategy, trainers=trainers, **words).wait()
    moved: dict[int, int] = {}
    ends: dict[int, float] = {}
    for event in of_kind(run.events, "step_finished"):
        step, told = event.data["step"], event.data["bytes"]
        moved[step] = moved.get(step, 0) + sum(told.get(kind, 0) for kind in KINDS)
        ends[step] = max(ends.get(step, 0.0), max(start + took for _, start, took in event.data["spans"]))
    steps = sorted(ends)
    return moved[steps[-1]], statistics.median(ends[b] - ends[a] for a, b in itertools.pairwise(steps[1:]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainers", type=int, default=4)
    parser.add_argument("--num-nodes", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="workbench-bench-") as home:
        os.environ.setdefault("WORKBENCH_HOME", home)
        session = wb.connect(trainers=options.trainers, samplers=0)
        try:
            less = [compare(session, name, graph, options) for name, graph in graphs(options.num_nodes).items()]
        finally:
            session.close()
    if less != ["feature_parallel", "halo_exchange"]:
        raise SystemExit(f"expected feature_parallel to move less on random, halo_exchange on grid; got {less}")


def compare(session: wb.Session, name: str, graph: wb.Graph, options: argparse.Namespace) -> str:
    """Print what both strategies took on a graph, and return the one that moved less."""
    found: dict[str, list[tuple[int, float]]] = {strategy: [] for strategy in STRATEGIES}
    for _ in range(options.rounds):
        for strategy, runs in found.items():
            runs.append(measure(session, graph, strategy, options.trainers))
    for strategy, runs in found.items():
        seconds = min(took for _, took in runs)
        print(
            f"{name:6} {graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {options.trainers} ranks: {strategy:17} "
            f"{runs[-1][0] / 1e6:8.2f} MB a step, {seconds * 1000:6.0f} ms (load {os.getloadavg()[0]:.1f})",
            flush=True,
        )
    return min(found, key=lambda strategy: found[strategy][-1][0])


if __name__ == "__main__":
    main()
