"""How much memory training takes, by full batch and with histories: one run, in this process, told as a line of JSON.

python -m benchmarks.history_memory grid 100000 "historical, mmap"
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from workbench.graph import Graph, datasets
from workbench.testing.rank_context import LocalContext
from workbench.train import resolve, train_rank

GRAPHS = {"grid": "A grid: clusters with few neighbours outside", "barabasi_albert": "Barabási-Albert: hubs everywhere"}
STRATEGIES: dict[str, dict[str, Any]] = {
    "full_graph": {"strategy": "full_graph"},
    "historical, memory": {"strategy": "historical", "history": "memory"},
    "historical, mmap": {"strategy": "historical", "history": "mmap"},
}
CLUSTER = 5_000  # nodes
WIDTH = 64


class Watched:
    """A rank's context that looks at the memory in use at the end of every step."""

    def __init__(self, inner: LocalContext) -> None:
        self.inner, self.peak_bytes, self.largest_batch = inner, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def emit(self, kind: str, **data: Any) -> None:
        """Note the peak so far."""
        if kind == "step_finished":
            self.peak_bytes = status("VmHWM")
            self.largest_batch = max(self.largest_batch, data["num_nodes"])
        self.inner.emit(kind, **data)


def status(name: str) -> int:
    """Return a figure of this process's memory, in bytes."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def graph_of(name: str, num_nodes: int) -> Graph:
    """Return a graph of about so many nodes; neighbours on the grid have near ids."""
    if name == "grid":
        return datasets.load("grid", height=num_nodes // 250, width=250, num_features=WIDTH)
    return datasets.load(name, num_nodes=num_nodes, num_features=WIDTH)


def main() -> None:
    name, num_nodes, row = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    graph = graph_of(name, num_nodes)
    words = {**STRATEGIES[row], "epochs": 2, "hidden_channels": WIDTH, "num_layers": 3}
    words |= {"evaluate_every": 0, "checkpoint_every": 0}
    if words["strategy"] == "historical":
        words |= {"num_clusters": graph.num_nodes // CLUSTER, "clusters_per_batch": 1, "partitioner": "contiguous"}
    resolved = resolve(graph, "sage", **words)
    opened = Graph.open(resolved.config.graph.folder)
    del graph
    with tempfile.TemporaryDirectory() as folder:
        context = Watched(LocalContext(config=resolved.config, graph=opened, folder=Path(folder)))
        before = status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        outcome = train_rank(context)  # type: ignore[arg-type]
    found = {"peak_bytes": context.peak_bytes - before, "largest_batch": context.largest_batch, "steps": outcome.step}
    print(json.dumps({**found, "before_bytes": before, "num_edges": opened.num_edges}))


if __name__ == "__main__":
    main()
