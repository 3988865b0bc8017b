"""The symmetric, loop-free view of a graph that partitioners and layouts want."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from workbench.core.jit import kernel, read_only

if TYPE_CHECKING:
    from workbench.graph.graph import Graph


def symmetric_topology(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return neighbours in either direction, without loops and duplicates.

    Returns
    -------
    starts : int64 (n + 1,)
    adjacent : int32 or int64
        Neighbours of node v, ascending: ``adjacent[starts[v]:starts[v + 1]]``.
    weights : int32 or None
        Directed edges that each entry stands for, in both directions together; None where all are equal.

    Notes
    -----
    Linear in nodes and edges. The graph's own arrays are returned where they already are what is asked for.
    """
    indptr, indices = graph.indptr, graph.indices
    if _is_ascending_without_loops(read_only(indptr), read_only(indices)) and graph.is_symmetric():
        return indptr, indices, None
    shape = (graph.num_nodes, graph.num_nodes)
    ones = np.ones(len(indices), dtype=np.int32)
    matrix = sparse.csr_array((ones, np.array(indices), np.array(indptr)), shape=shape)
    matrix.sum_duplicates()
    both = (matrix + matrix.T).tocsr()
    clear_loops(read_only(both.indptr), read_only(both.indices), both.data)
    both.eliminate_zeros()
    both.sort_indices()
    uniform = not len(both.data) or both.data.min() == both.data.max()
    return both.indptr.astype(np.int64), both.indices, None if uniform else both.data


@kernel
def _is_ascending_without_loops(indptr: np.ndarray, indices: np.ndarray) -> bool:
    for node in range(len(indptr) - 1):
        for edge in range(indptr[node], indptr[node + 1]):
            if indices[edge] == node or (edge > indptr[node] and indices[edge] <= indices[edge - 1]):
                return False
    return True


@kernel
def has_all_reverses(indptr: np.ndarray, indices: np.ndarray) -> bool:
    """Say whether every edge has its reverse, sources ascending: the reverses of a node's out-edges come in order."""
    cursor = indptr[:-1].copy()
    for node in range(len(indptr) - 1):
        for edge in range(indptr[node], indptr[node + 1]):
            source = indices[edge]
            place = cursor[source]
            if place == indptr[source + 1] or indices[place] != node:
                return False
            cursor[source] += 1
    return True


@kernel
def clear_loops(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray) -> None:
    """Set the entries on the diagonal to zero."""
    for node in range(len(indptr) - 1):
        for edge in range(indptr[node], indptr[node + 1]):
            if indices[edge] == node:
                data[edge] = 0
