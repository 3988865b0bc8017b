"""The child process of the Mt-KaHyPar partitioner: ``python mtkahypar_child.py FOLDER`` (protocol: child.py)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent))  # at the end: nothing here may hide a module of the standard library
import child_job  # type: ignore[import-not-found]

Arrays = dict[str, np.ndarray]


def prepare(job: dict[str, Any], arrays: Arrays) -> Callable[[], Arrays]:
    """Build the library's graph of every pair once, and return the call."""
    import mtkahypar

    starts, adjacent = arrays["starts"], arrays["adjacent"]
    num_nodes = len(starts) - 1
    low = np.repeat(np.arange(num_nodes), np.diff(starts))
    once = low < adjacent
    pairs = np.stack([low[once], adjacent[once]], axis=1).tolist()
    weights = arrays.get("edge_weights")
    edge_weights = [1] * len(pairs) if weights is None else weights[once].tolist()
    library = mtkahypar.initialize(job["num_threads"])
    context = library.context_from_preset(getattr(mtkahypar.PresetType, job["preset"].upper()))
    context.set_partitioning_parameters(job["num_parts"], job["imbalance"], mtkahypar.Objective.CUT)
    context.logging = False
    graph = library.create_graph(context, num_nodes, len(pairs), pairs, [1] * num_nodes, edge_weights)
    return lambda: {"assignment": np.asarray(graph.partition(context).get_partition(), dtype=np.int64)}


if __name__ == "__main__":
    child_job.run(prepare)
