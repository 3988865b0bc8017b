"""Parts that a method left empty get a node each, taken where it costs least."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.jit import kernel, read_only

if TYPE_CHECKING:
    from workbench.graph import Graph


def repair_empty_parts(graph: Graph, assignment: np.ndarray, num_parts: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """Give every empty part one node of the part that is the largest at that moment.

    The node is the one with the fewest in-neighbours in its own part (ties: the lowest id), since moving it cuts
    the fewest edges. Deterministic; O(n log n + m), and only where a part is empty.

    Returns
    -------
    assignment : int32 (n,)
        The assignment itself where nothing had to be repaired.
    repaired : tuple of int
        The parts that had been empty.
    """
    sizes = np.bincount(assignment, minlength=num_parts)
    empty = np.flatnonzero(sizes == 0)
    if not len(empty):
        return assignment, ()
    inner_degrees = np.zeros(graph.num_nodes, dtype=np.int64)
    indptr, indices = read_only(graph.indptr), read_only(graph.indices)
    count_inner_in_edges(indptr, indices, read_only(assignment), inner_degrees)
    order = np.lexsort((np.arange(graph.num_nodes), inner_degrees, assignment))  # by part, then cheapest first
    next_node = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    largest = [(-int(size), part) for part, size in enumerate(sizes) if size]
    heapq.heapify(largest)
    repaired = assignment.copy()
    for part in empty:
        size, donor = heapq.heappop(largest)
        repaired[order[next_node[donor]]] = part
        next_node[donor] += 1
        heapq.heappush(largest, (size + 1, donor))
    return repaired, tuple(int(part) for part in empty)


@kernel
def count_inner_in_edges(indptr: np.ndarray, indices: np.ndarray, assignment: np.ndarray, out: np.ndarray) -> None:
    """Count, for every node, its in-edges from nodes of its own part (loops left out)."""
    for node in range(len(indptr) - 1):
        for edge in range(indptr[node], indptr[node + 1]):
            source = indices[edge]
            if source != node and assignment[source] == assignment[node]:
                out[node] += 1
