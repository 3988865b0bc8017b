"""The child process of the KaHIP partitioner: ``python kahip_child.py FOLDER`` (protocol: child.py)."""

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
    """Check the width and return the call of KaFFPa."""
    import kahip

    starts, adjacent = arrays["starts"], arrays["adjacent"]
    if len(adjacent) > np.iinfo(np.int32).max:
        sys.exit("KaHIP counts edges in 32 bits; the graph has more")
    weights = arrays.get("edge_weights")
    edge_weights = np.ones(len(adjacent), dtype=np.int32) if weights is None else weights.astype(np.int32)
    node_weights = np.ones(len(starts) - 1, dtype=np.int32)
    graph = (node_weights, starts.astype(np.int32), edge_weights, adjacent.astype(np.int32))
    mode = getattr(kahip, job["mode"].upper())

    def call() -> Arrays:
        _, parts = kahip.kaffpa(*graph, job["num_parts"], job["imbalance"], True, job["rng_seed"], mode)
        return {"assignment": np.asarray(parts, dtype=np.int64)}

    return call


if __name__ == "__main__":
    child_job.run(prepare)
