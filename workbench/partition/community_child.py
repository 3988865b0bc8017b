"""The child process of the community partitioner: ``python community_child.py FOLDER`` (protocol: child.py)."""

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
    """Return the call of scikit-network's Louvain or Leiden."""
    from scipy import sparse
    from sknetwork import clustering

    starts, adjacent = np.array(arrays["starts"]), np.array(arrays["adjacent"])
    weights = arrays.get("edge_weights")
    weights = np.ones(len(adjacent)) if weights is None else np.asarray(weights, dtype=np.float64)
    matrix = sparse.csr_matrix((weights, adjacent, starts), shape=(len(starts) - 1,) * 2)
    algorithm = clustering.Leiden if job["algorithm"] == "leiden" else clustering.Louvain
    chosen = algorithm(resolution=job["resolution"], shuffle_nodes=True, random_state=job["rng_seed"])
    return lambda: {"clusters": np.asarray(chosen.fit_predict(matrix), dtype=np.int64)}


if __name__ == "__main__":
    child_job.run(prepare)
