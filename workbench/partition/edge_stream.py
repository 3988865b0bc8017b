"""Edges placed one after another, each where its ends have been before: the kernel of hdrf and greedy.

On a symmetric graph an edge and its reverse are one pair: both go to the same part. The sets of parts in which a node
has edges are bits, one 64-bit word for each 64 parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.core.jit import kernel, read_only
from workbench.core.rng import generator

if TYPE_CHECKING:
    from workbench.graph import Graph

HDRF, GREEDY = 0, 1
_STREAM = 0xED6E  # sets the draws of streams apart from others of the same rng_seed


def stream_edges(
    graph: Graph, num_parts: int, *, score: int, balance_weight: float, imbalance: float, rng_seed: int
) -> np.ndarray:
    """Return the part of every edge, int32 (m,); the stream brings nodes at random, each with all its in-edges."""
    indptr, indices = read_only(graph.indptr), read_only(graph.indices)
    reverse = reverse_edges(graph) if graph.is_symmetric() else np.empty(0, dtype=np.int64)
    order = generator(rng_seed, _STREAM).permutation(graph.num_nodes)
    degrees = graph.in_degrees() + graph.out_degrees()
    capacity = int(np.ceil(graph.num_edges * (1 + imbalance) / num_parts))
    owners = np.full(graph.num_edges, -1, dtype=np.int32)
    arrays = (indptr, indices, read_only(reverse), read_only(order), read_only(degrees))
    _stream(*arrays, num_parts, score, balance_weight, capacity, owners)
    return owners


def reverse_edges(graph: Graph) -> np.ndarray:
    """Return the id of each edge's reverse on a symmetric graph, int32 or int64 (m,); O(n + m)."""
    reverse = np.empty(graph.num_edges, dtype=np.int32 if graph.num_edges < 2**31 else np.int64)
    _reverse(read_only(graph.indptr), read_only(graph.indices), reverse)
    return reverse


@kernel
def _reverse(indptr: np.ndarray, indices: np.ndarray, reverse: np.ndarray) -> None:
    """Destinations ascend and so do the sources of each: the reverses of a node's out-edges come in their order."""
    cursor = indptr[:-1].copy()
    for node in range(len(indptr) - 1):
        for edge in range(indptr[node], indptr[node + 1]):
            source = indices[edge]
            reverse[edge] = cursor[source]
            cursor[source] += 1


@kernel
def _has(members: np.ndarray, node: int, part: int) -> bool:
    return bool((members[node, part >> 6] >> np.uint64(part & 63)) & np.uint64(1))


@kernel
def _choose_greedy(
    members: np.ndarray, source: int, node: int, left: np.ndarray, loads: np.ndarray, capacity: int
) -> int:
    """PowerGraph's rule: a part of both ends, else of the end with more edges to come, else of the other, else any."""
    best, best_rank = -1, -1
    source_first = left[source] >= left[node]
    for part in range(len(loads)):
        if loads[part] < capacity:
            at_source, at_node = _has(members, source, part), _has(members, node, part)
            rank = 2 * at_source + at_node if source_first else at_source + 2 * at_node
            if rank > best_rank or (rank == best_rank and loads[part] < loads[best]):
                best, best_rank = part, rank
    return best


@kernel
def _choose_hdrf(
    members: np.ndarray,
    source: int,
    node: int,
    degrees: np.ndarray,
    loads: np.ndarray,
    capacity: int,
    balance_weight: float,
) -> int:
    """Score of a part: ``1 + d(other) / (d(u) + d(v))`` for each end that is there, plus the balance in [0, weight]."""
    total = degrees[source] + degrees[node]
    value_source, value_node = 1.0 + degrees[node] / total, 1.0 + degrees[source] / total
    most, least = loads.max(), loads.min()
    step = balance_weight / (1.0 + most - least)
    best, best_value = -1, -1.0
    for part in range(len(loads)):
        if loads[part] < capacity:
            value = (most - loads[part]) * step
            value += value_source * _has(members, source, part) + value_node * _has(members, node, part)
            if value > best_value:
                best, best_value = part, value
    return best


@kernel
def _stream(
    indptr: np.ndarray,
    indices: np.ndarray,
    reverse: np.ndarray,
    order: np.ndarray,
    degrees: np.ndarray,
    num_parts: int,
    score: int,
    balance_weight: float,
    capacity: int,
    owners: np.ndarray,
) -> None:
    members = np.zeros((len(degrees), (num_parts + 63) >> 6), dtype=np.uint64)
    loads, left = np.zeros(num_parts, dtype=np.int64), degrees.copy()
    in_pairs = len(reverse) > 0
    for node in order:
        for edge in range(indptr[node], indptr[node + 1]):
            if owners[edge] >= 0:
                continue
            source = indices[edge]
            if score == GREEDY:
                part = _choose_greedy(members, source, node, left, loads, capacity)
            else:
                part = _choose_hdrf(members, source, node, degrees, loads, capacity, balance_weight)
            bit = np.uint64(1) << np.uint64(part & 63)
            members[source, part >> 6] |= bit
            members[node, part >> 6] |= bit
            owners[edge] = part
            loads[part] += 1
            left[source] -= 1
            left[node] -= 1
            if in_pairs and owners[reverse[edge]] < 0:
                owners[reverse[edge]] = part
                loads[part] += 1
                left[source] -= 1
                left[node] -= 1
