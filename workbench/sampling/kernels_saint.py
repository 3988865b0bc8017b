"""Kernels of GraphSAINT's samplers: edges by the degrees of their ends, random walks, and what they touch."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba.core import types

from workbench.sampling.compiled import frozen, kernel, vector
from workbench.sampling.kernels import GOLDEN, below, mix64
from workbench.sampling.kernels_chosen import unit

_inline: Any = numba.njit(nogil=True)
_I64, _I32, _U64, _F64 = types.int64, types.int32, types.uint64, types.float64
_TOPOLOGY = ((frozen(_I64), frozen(_I32)), (frozen(_I64), frozen(_I64)))
_IDS, _OUT, _FLOATS = frozen(_I64), vector(_I64), frozen(_F64)


@_inline
def first_at_least(sums, mark):  # type: ignore[no-untyped-def]
    """Return the first position whose sum reaches a mark."""
    first, last = 0, sums.shape[0] - 1
    while first < last:
        middle = (first + last) // 2
        if sums[middle] < mark:
            first = middle + 1
        else:
            last = middle
    return first


@_inline
def run_of(indptr, indices, source, destination):  # type: ignore[no-untyped-def]
    """Return where the in-edges of a node from one source begin and end; its sources ascend."""
    first, last = indptr[destination], indptr[destination + 1]
    high = last
    while first < last:
        middle = (first + last) // 2
        if indices[middle] < source:
            first = middle + 1
        else:
            last = middle
    end = first
    while end < high and indices[end] == source:
        end += 1
    return first, end


@kernel(*((*topology, _FLOATS, _FLOATS, _U64, _OUT) for topology in _TOPOLOGY))
def draw_edges(indptr, indices, inverse, sums, key, ends):  # type: ignore[no-untyped-def]
    """Draw edges by the inverse degrees of both ends: a node by the weight of its in-edges, then one of those."""
    for i in range(ends.shape[0] // 2):
        state = mix64(key + GOLDEN + np.uint64(i))
        v = first_at_least(sums, unit(mix64(state + GOLDEN)) * sums[-1])
        low, high = indptr[v], indptr[v + 1]
        total = 0.0
        for j in range(low, high):
            total += inverse[v] + inverse[indices[j]]
        left = unit(mix64(state + GOLDEN * np.uint64(2))) * total
        j = low
        while j < high - 1:
            left -= inverse[v] + inverse[indices[j]]
            if left <= 0:
                break
            j += 1
        ends[2 * i], ends[2 * i + 1] = v, indices[j]


@kernel(*_TOPOLOGY)
def count_loops(indptr, indices):  # type: ignore[no-untyped-def]
    """Return the self-loops of each node."""
    counts = np.zeros(indptr.shape[0] - 1, np.int64)
    for v in range(counts.shape[0]):
        for j in range(indptr[v], indptr[v + 1]):
            counts[v] += indices[j] == v
    return counts


@kernel(*((*topology, _IDS, _IDS) for topology in _TOPOLOGY))
def count_joins(indptr, indices, sources, destinations):  # type: ignore[no-untyped-def]
    """Return how many edges join each pair of nodes, in both directions together."""
    counts = np.zeros(sources.shape[0], np.int64)
    for i in range(counts.shape[0]):
        first, end = run_of(indptr, indices, sources[i], destinations[i])
        counts[i] = end - first
        if sources[i] != destinations[i]:
            first, end = run_of(indptr, indices, destinations[i], sources[i])
            counts[i] += end - first
    return counts


@_inline
def walk(indptr, indices, num_nodes, key, number, visited):  # type: ignore[no-untyped-def]
    """Walk against the edges from a random root; write the nodes visited, each once, and return how many."""
    state = mix64(key + GOLDEN + np.uint64(number))
    here = below(mix64(state + GOLDEN), num_nodes)
    visited[0], count = here, 1
    for step in range(1, visited.shape[0]):
        low, high = indptr[here], indptr[here + 1]
        if low == high:
            break
        here = np.int64(indices[low + below(mix64(state + GOLDEN * np.uint64(step + 1)), high - low)])
        is_new = True
        for q in range(count):
            is_new = is_new and visited[q] != here
        if is_new:
            visited[count] = here
            count += 1
    return count


@kernel(*((*topology, _U64, _I64, _I64, _OUT) for topology in _TOPOLOGY))
def walk_from_roots(indptr, indices, key, num_walks, num_steps, nodes):  # type: ignore[no-untyped-def]
    """Write what each walk visits, one walk after another; return how much that is."""
    visited = np.empty(num_steps + 1, np.int64)
    total = 0
    for number in range(num_walks):
        count = walk(indptr, indices, indptr.shape[0] - 1, key, number, visited)
        nodes[total : total + count] = visited[:count]
        total += count
    return total


@kernel(*((*topology, _U64, _I64, _I64, _OUT, vector(_I32)) for topology in _TOPOLOGY))
def count_visits(indptr, indices, key, num_walks, num_steps, of_nodes, of_edges):  # type: ignore[no-untyped-def]
    """Count the walks that visit each node, and those that visit both ends of each edge."""
    visited = np.empty(num_steps + 1, np.int64)
    for number in range(num_walks):
        count = walk(indptr, indices, indptr.shape[0] - 1, key, number, visited)
        for a in range(count):
            of_nodes[visited[a]] += 1
            for b in range(count):
                if a != b:
                    first, end = run_of(indptr, indices, visited[a], visited[b])
                    of_edges[first:end] += 1
