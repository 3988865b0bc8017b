"""Hop-by-hop expansion: drives the kernels over the fanouts and lays the result out, each array written once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.core.rng import key64
from workbench.sampling import kernels
from workbench.sampling.base import SampledSubgraph
from workbench.sampling.scratch import POOL, Scratch
from workbench.sampling.topology import Topology

Ids = NDArray[np.int64]
Edges = tuple[Ids, Ids]  # edge_index, edge_ids


def expand(
    graph: Topology,
    seed_nodes: Ids,
    fanouts: Sequence[int],
    *,
    replace: bool,
    key: tuple[int, int, int],
    scratch: Scratch | None = None,
) -> SampledSubgraph:
    """Draw `fanouts[h - 1]` in-edges of every node that is new at hop h - 1, for each hop h.

    Parameters
    ----------
    fanouts : sequence of int
        Hop 1, next to the seeds, first; -1 takes every edge.
    replace : bool
        Whether an edge may be drawn more than once for a node.
    key : tuple of int
        ``(rng_seed, epoch, batch)``; hop h draws from ``key64(*key, h)``.
    """
    if scratch is None:
        with POOL.borrow(graph.num_nodes) as lent:
            return expand(graph, seed_nodes, fanouts, replace=replace, key=key, scratch=lent)
    indptr, indices = np.asarray(graph.indptr), np.asarray(graph.indices)
    slots, tag = scratch.slots, scratch.next_tag()
    nodes, first, count = _enter(seed_nodes, slots, tag), 0, len(seed_nodes)
    node_counts, edge_counts, hops = [count], list[int](), list[Edges]()
    for hop, fanout in enumerate(fanouts, 1):
        num_edges = kernels.count_edges(indptr, nodes[first:count], fanout, replace)
        nodes = _grown(nodes, count, min(graph.num_nodes, count + num_edges) + 1)
        # The last hop is most of a batch: it is drawn where it will stay, behind room for the hops before.
        offset = sum(edge_counts) if hop == len(fanouts) else 0
        edge_index, edge_ids = np.empty((2, offset + num_edges), np.int64), np.empty(offset + num_edges, np.int64)
        sources, destinations, drawn = edge_index[0, offset:], edge_index[1, offset:], edge_ids[offset:]
        hop_key = np.uint64(key64(*key, hop))
        kernels.draw_edges(indptr, nodes[first:count], first, fanout, replace, hop_key, destinations, drawn)
        first, count = count, kernels.number_sources(indices, drawn, slots, tag, nodes, count, sources)
        node_counts.append(count - first)
        edge_counts.append(num_edges)
        hops.append((edge_index, edge_ids))
    edge_index, edge_ids = _joined(hops)
    return SampledSubgraph(
        node_ids=nodes[:count].copy(),
        edge_index=edge_index,
        edge_ids=edge_ids,
        num_nodes_per_hop=np.array(node_counts, np.int64),
        num_edges_per_hop=np.array(edge_counts, np.int64),
    )


def _enter(seed_nodes: Ids, slots: Ids, tag: int) -> Ids:
    """Number the seeds, and return them in an array of their own with one place to spare."""
    nodes = np.empty(len(seed_nodes) + 1, np.int64)
    twice = kernels.enter_seeds(seed_nodes, slots, tag, nodes)
    if twice >= 0:
        findings = Findings("sample")
        where, got = "seed_nodes", f"node {seed_nodes[twice]} again at position {twice}"
        findings.add(where, "each node once", got, "pass numpy.unique(seed_nodes)")
        findings.raise_if_any()
    return nodes


def _grown(nodes: Ids, count: int, size: int) -> Ids:
    larger = np.empty(size, np.int64)
    larger[:count] = nodes[:count]
    return larger


def _joined(hops: list[Edges]) -> Edges:
    """Copy the earlier hops to the front of the last, where room was left for them."""
    *earlier, (edge_index, edge_ids) = hops
    position = 0
    for hop_index, hop_ids in earlier:
        end = position + len(hop_ids)
        edge_index[:, position:end] = hop_index
        edge_ids[position:end] = hop_ids
        position = end
    return edge_index, edge_ids
