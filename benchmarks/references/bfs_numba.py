"""Neighbourhood sizes by one breadth-first search a seed, compiled: the obvious way."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np


@numba.njit(nogil=True, cache=True)
def _search(indptr: Any, indices: Any, seed: int, tag: int, stamp: Any, queue: Any, sizes: Any) -> None:
    stamp[seed] = tag
    queue[0] = seed
    begin, count = 0, 1
    sizes[0] = 1
    for hop in range(1, sizes.shape[0]):
        end = count
        for i in range(begin, end):
            for e in range(indptr[queue[i]], indptr[queue[i] + 1]):
                u = indices[e]
                if stamp[u] != tag:
                    stamp[u] = tag
                    queue[count] = u
                    count += 1
        begin = end
        sizes[hop] = count


def sizes_one_by_one(indptr: Any, indices: Any, seeds: Any, depth: int) -> Any:
    """Return the nodes within each hop of each seed, (seeds, depth + 1)."""
    num_nodes = len(indptr) - 1
    stamp, queue = np.full(num_nodes, -1, np.int32), np.empty(num_nodes, np.int32)
    sizes = np.zeros((len(seeds), depth + 1), np.int64)
    for row, seed in enumerate(seeds):
        _search(indptr, indices, seed, row, stamp, queue, sizes[row])
    return sizes
