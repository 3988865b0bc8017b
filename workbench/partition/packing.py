"""Clusters of any size merged into balanced parts, neighbours together."""

from __future__ import annotations

import math

import numpy as np

from workbench.core.jit import kernel, read_only
from workbench.partition.orders import Topology, breadth_first

PIECES_A_PART = 4  # a cluster larger than a quarter of a part is packed in pieces


def pack_clusters(
    topology: Topology, weights: np.ndarray, clusters: np.ndarray, num_parts: int, imbalance: float
) -> np.ndarray:
    """Merge clusters into parts of at most ``ceil((1 + imbalance) n / p)`` nodes.

    Parameters
    ----------
    topology : (starts, adjacent)
        Symmetric, without loops.
    weights : int32 (m,) or empty
        Edges behind each entry; one each where empty.
    clusters : int64 (n,)
        Cluster of each node, from 0 up.
    num_parts : int
    imbalance : float

    Returns
    -------
    int32 (n,)

    Notes
    -----
    A cluster too large for a part is cut, breadth first, into pieces that stay neighbours. Pieces are placed whole,
    those of the largest clusters first, in the part that most of their edges lead to, less so the fuller it is; one
    that fits nowhere is dealt out node by node.
    """
    starts, adjacent = topology
    num_nodes = len(clusters)
    sizes = np.bincount(clusters)
    rank = np.empty(num_nodes, dtype=np.int64)
    rank[breadth_first(topology, np.arange(num_nodes, dtype=np.int64))] = np.arange(num_nodes)
    by_size = np.empty(len(sizes), dtype=np.int64)
    by_size[np.lexsort((np.arange(len(sizes)), -sizes))] = np.arange(len(sizes))
    order = np.lexsort((rank, by_size[clusters]))  # clusters side by side, the largest first, each breadth first
    piece_starts = _piece_starts(np.sort(sizes[sizes > 0])[::-1], max(1, num_nodes // (num_parts * PIECES_A_PART)))
    capacity = math.ceil(num_nodes * (1 + imbalance) / num_parts)
    assignment = np.full(num_nodes, -1, dtype=np.int32)
    arrays = (read_only(starts), read_only(adjacent), read_only(weights), read_only(order), read_only(piece_starts))
    _place_pieces(*arrays, num_parts, capacity, assignment)
    return assignment


def _piece_starts(sizes: np.ndarray, largest: int) -> np.ndarray:
    """Return where pieces of at most `largest` nodes begin, and the end, if clusters of these sizes lie in a row."""
    num_pieces = -(-sizes // largest)
    first = np.repeat(np.cumsum(sizes) - sizes, num_pieces)
    number = np.arange(len(first)) - np.repeat(np.cumsum(num_pieces) - num_pieces, num_pieces)
    inner = number * np.repeat(sizes, num_pieces) // np.repeat(num_pieces, num_pieces)
    return np.append(first + inner, sizes.sum()).astype(np.int64)


@kernel
def _count_edges(
    starts: np.ndarray, adjacent: np.ndarray, weights: np.ndarray, assignment: np.ndarray, node: int, counts: np.ndarray
) -> None:
    """Add the edges of a node to the parts that they lead to; neighbours without a part count nowhere."""
    is_weighted = len(weights) > 0
    for edge in range(starts[node], starts[node + 1]):
        part = assignment[adjacent[edge]]
        if part >= 0:
            counts[part] += weights[edge] if is_weighted else 1


@kernel
def _best_part(counts: np.ndarray, loads: np.ndarray, num_nodes: int, capacity: int) -> int:
    """Return the part with room for so many nodes that most edges lead to, less so the fuller it is; -1: none."""
    best, best_value = -1, -1.0
    for part in range(len(loads)):
        if loads[part] + num_nodes <= capacity:
            value = counts[part] * (1.0 - loads[part] / capacity)
            if value > best_value or (value == best_value and loads[part] < loads[best]):
                best, best_value = part, value
    return best


@kernel
def _place_pieces(
    starts: np.ndarray,
    adjacent: np.ndarray,
    weights: np.ndarray,
    order: np.ndarray,
    piece_starts: np.ndarray,
    num_parts: int,
    capacity: int,
    assignment: np.ndarray,
) -> None:
    counts, loads = np.zeros(num_parts, dtype=np.int64), np.zeros(num_parts, dtype=np.int64)
    for piece in range(len(piece_starts) - 1):
        first, end = piece_starts[piece], piece_starts[piece + 1]
        counts[:] = 0
        for slot in range(first, end):
            _count_edges(starts, adjacent, weights, assignment, order[slot], counts)
        while first < end:
            best = _best_part(counts, loads, end - first, capacity)
            take = end - first
            if best < 0:  # it fits nowhere: as much as there is room for goes to the part with most room
                best = int(np.argmin(loads))
                take = capacity - loads[best]
            for slot in range(first, first + take):
                assignment[order[slot]] = best
            loads[best] += take
            first += take
