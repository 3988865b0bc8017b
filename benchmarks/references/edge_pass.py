"""The least that anything must do that looks at every edge: read both owners and compare."""

from __future__ import annotations

from typing import Any

import numba


@numba.njit(nogil=True, cache=True)
def count_cut(indptr: Any, indices: Any, owners: Any) -> int:
    """Return the number of edges between parts."""
    cut = 0
    for node in range(len(indptr) - 1):
        for edge in range(indptr[node], indptr[node + 1]):
            cut += owners[indices[edge]] != owners[node]
    return cut
