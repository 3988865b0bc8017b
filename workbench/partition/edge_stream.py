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
def _best_part(
    members: np.ndarray,
    source: int,
    node: int,
    bonus: np.ndarray,
    loads: np.ndarray,
    capacity: int,
    smallest: int,
    most: int,
    step: float,
) -> int:
    """Return the part with room of highest value; a tie goes to the smallest part, then to the lower one.

    The value is ``step`` for each edge below the fullest part, and ``bonus[i]``: i is 1 where the source is there, 2
    where the node is, 3 where both are. The smallest part always has room.
    """
    best, best_value = smallest, (most - loads[smallest]) * step
    for word in range(members.shape[1]):
        source_bits, node_bits = members[source, word], members[node, word]
        if source_bits | node_bits == 0:
            continue
        for bit in range(min(64, len(loads) - 64 * word)):
            part = 64 * word + bit
            which = ((source_bits >> bit) & 1) + 2 * ((node_bits >> bit) & 1)
            value = (most - loads[part]) * step + bonus[which]
            if value > best_value and loads[part] < capacity:
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
    """HDRF values an end by ``1 + d(other) / (d(u) + d(v))``, so the end of lower degree more, and balance up to its
    weight; greedy an end by 2 if it has more edges to come than the other, else by 1, and balance by less than 1.
    """
    members = np.zeros((len(degrees), (num_parts + 63) >> 6), dtype=np.int64)
    loads, left = np.zeros(num_parts, dtype=np.int64), degrees.copy()
    level, smallest, most = 0, 0, 0  # the first part of `level` edges, the least there is; the most there are
    bonus = np.array([0.0, 0.0, 0.0, 3.0])
    in_pairs = len(reverse) > 0
    for node in order:
        for edge in range(indptr[node], indptr[node + 1]):
            if owners[edge] >= 0:
                continue
            source = indices[edge]
            while loads[smallest] > level:
                smallest += 1
                if smallest == num_parts:
                    smallest = 0
                    level += 1
            if score == GREEDY:
                bonus[1] = 2.0 if left[source] >= left[node] else 1.0
            else:
                bonus[1] = 1.0 + degrees[node] / (degrees[source] + degrees[node])
            bonus[2] = 3.0 - bonus[1]
            step = balance_weight / (1.0 + most - level)
            part = _best_part(members, source, node, bonus, loads, capacity, smallest, most, step)
            members[source, part >> 6] |= np.int64(1) << (part & 63)
            members[node, part >> 6] |= np.int64(1) << (part & 63)
            owners[edge] = part
            loads[part] += 1
            left[source] -= 1
            left[node] -= 1
            if in_pairs and owners[reverse[edge]] < 0:
                owners[reverse[edge]] = part
                loads[part] += 1
                left[source] -= 1
                left[node] -= 1
            most = max(most, loads[part])
