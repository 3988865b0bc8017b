"""Degrees and column norms of a graph, computed once a process: what importances are made of."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from workbench.sampling.derived import DERIVED
from workbench.sampling.topology import Topology

Floats = NDArray[np.float64]
_CHUNK = 1 << 22  # edges at a time, so that nothing as long as all edges is made


def in_degrees(graph: Topology) -> NDArray[np.int64]:
    """Return the in-edges of each node, int64 (n)."""
    return np.diff(np.asarray(graph.indptr))


def column_norms(graph: Topology, *, self_loops: bool) -> Floats:
    """Return for each node u the sum over its out-edges to v of 1 / degree(v)², float64 (n).

    It is the squared norm of u's column in the adjacency matrix with rows that sum to one: how much u matters to the
    means over neighbours. With `self_loops` every node has one more in-edge, from itself.
    """
    return DERIVED.get(graph.indptr, ("column norms", self_loops), lambda: _column_norms(graph, self_loops))


def _column_norms(graph: Topology, self_loops: bool) -> Floats:
    degrees = in_degrees(graph) + int(self_loops)
    shares = np.divide(1.0, degrees.astype(np.float64) ** 2, where=degrees > 0, out=np.zeros(graph.num_nodes))
    return sum_over_out_edges(graph, shares) + (shares if self_loops else 0.0)


def sum_over_out_edges(graph: Topology, values: Floats) -> Floats:
    """Return for each node the sum of `values` at the destinations of its out-edges, float64 (n)."""
    sums = np.zeros(graph.num_nodes)
    for begin, end in chunks(graph):
        destinations = np.repeat(np.arange(begin, end), np.diff(graph.indptr[begin : end + 1]))
        sources = graph.indices[graph.indptr[begin] : graph.indptr[end]]
        sums += np.bincount(sources, values[destinations], minlength=graph.num_nodes)
    return sums


def sum_over_in_edges(graph: Topology, values: Floats) -> Floats:
    """Return for each node the sum of `values` at the sources of its in-edges, float64 (n)."""
    sums = np.zeros(graph.num_nodes)
    for begin, end in chunks(graph):
        of_edges = np.concatenate([[0.0], np.cumsum(values[graph.indices[graph.indptr[begin] : graph.indptr[end]]])])
        ends = graph.indptr[begin : end + 1] - graph.indptr[begin]
        sums[begin:end] = np.diff(of_edges[ends])
    return sums


def chunks(graph: Topology) -> list[tuple[int, int]]:
    """Return ranges of nodes with about as many in-edges as are worked on at a time."""
    num_chunks = max(1, graph.num_edges // _CHUNK)
    marks = np.linspace(0, graph.num_edges, num_chunks + 1)[1:-1]
    cuts = [0, *np.searchsorted(graph.indptr[1:], marks).tolist(), graph.num_nodes]
    return [(a, b) for a, b in itertools.pairwise(cuts) if a < b]
