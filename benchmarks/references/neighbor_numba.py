"""Neighbour sampling with Numba in two usual forms: one loop per hop, and four passes per hop.

Both draw from one sequential generator and check nothing, so they do less than the workbench's sampler, whose draws
depend on (rng_seed, epoch, batch, hop, node) alone.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_jit: Any = numba.njit(nogil=True, cache=True)


@_jit
def _next(state):  # type: ignore[no-untyped-def]
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@_jit
def _pick(state, chosen, low, degree, fanout):  # type: ignore[no-untyped-def]
    """Fill `chosen` with edge ids by Floyd's algorithm."""
    for i in range(fanout):
        largest = degree - fanout + i
        drawn = np.int64(((_next(state) >> np.uint64(32)) * np.uint64(largest + 1)) >> np.uint64(32))
        for j in range(i):
            if chosen[j] == low + drawn:
                drawn = largest
                break
        chosen[i] = low + drawn


@_jit
def sample_in_one_loop(indptr, indices, seeds, fanouts, slot, tag, state, nodes, edges, counts):  # type: ignore[no-untyped-def]
    """Draw, read and number edge by edge; `edges` rows are source, destination, edge id."""
    n = 0
    for v in seeds:
        slot[v] = (tag << 32) | n
        nodes[n] = v
        n += 1
    begin = 0
    e = 0
    for hop in range(fanouts.shape[0]):
        end = n
        for i in range(begin, end):
            low = indptr[nodes[i]]
            degree = indptr[nodes[i] + 1] - low
            count = min(degree, fanouts[hop])
            if degree <= fanouts[hop]:
                for j in range(degree):
                    edges[2, e + j] = low + j
            else:
                _pick(state, edges[2, e : e + count], low, degree, count)
            for j in range(e, e + count):
                u = indices[edges[2, j]]
                if (slot[u] >> 32) != tag:
                    slot[u] = (tag << 32) | n
                    nodes[n] = u
                    n += 1
                edges[0, j] = slot[u] & 0xFFFFFFFF
                edges[1, j] = i
            e += count
        begin = end
    counts[0], counts[1] = n, e


@_jit
def sample_in_passes(indptr, indices, seeds, fanouts, slot, tag, state, nodes, edges, counts):  # type: ignore[no-untyped-def]
    """Degrees and picks, then all sources, then all numbers: each a loop of independent reads."""
    n = 0
    for v in seeds:
        slot[v] = (tag << 32) | n
        nodes[n] = v
        n += 1
    begin = 0
    e = 0
    for hop in range(fanouts.shape[0]):
        end = n
        first = e
        lows = indptr[nodes[begin:end]]
        degrees = indptr[nodes[begin:end] + 1] - lows
        for i in range(end - begin):
            count = min(degrees[i], fanouts[hop])
            if degrees[i] <= fanouts[hop]:
                for j in range(count):
                    edges[2, e + j] = lows[i] + j
            else:
                _pick(state, edges[2, e : e + count], lows[i], degrees[i], count)
            for j in range(e, e + count):
                edges[1, j] = begin + i
            e += count
        for j in range(first, e):
            edges[0, j] = indices[edges[2, j]]
        for j in range(first, e):
            u = edges[0, j]
            if (slot[u] >> 32) != tag:
                slot[u] = (tag << 32) | n
                nodes[n] = u
                n += 1
            edges[0, j] = slot[u] & 0xFFFFFFFF
        begin = end
    counts[0], counts[1] = n, e


class NumbaSampler:
    """One of the two forms with its buffers, which are as large as a batch can be."""

    def __init__(self, kernel: Any, indptr: Any, indices: Any, fanouts: tuple[int, ...], batch_size: int) -> None:
        num_nodes = len(indptr) - 1
        most_edges = int(batch_size * np.cumprod(fanouts).sum())
        self.kernel, self.graph = kernel, (indptr, indices)
        self.fanouts, self.tag = np.array(fanouts, np.int64), 0
        self.slot, self.state = np.zeros(num_nodes, np.int64), np.zeros(1, np.uint64)
        self.nodes = np.empty(min(num_nodes, batch_size + most_edges) + 1, np.int64)
        self.edges = np.empty((3, most_edges), np.int64)

    def __call__(self, seeds: Any) -> tuple[Any, Any, Any]:
        """Return node ids, local edge index and edge ids."""
        self.tag += 1
        counts = np.zeros(2, np.int64)
        self.kernel(*self.graph, seeds, self.fanouts, self.slot, self.tag, self.state, self.nodes, self.edges, counts)
        num_nodes, num_edges = counts
        edges = self.edges[:, :num_edges].copy()
        return self.nodes[:num_nodes].copy(), edges[:2], edges[2]
