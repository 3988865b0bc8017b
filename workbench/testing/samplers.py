"""Checks for samplers: what must hold for every sampled subgraph, and neighbour sampling written the slow way."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.core.rng import GOLDEN, key64, mix64
from workbench.sampling import SampledSubgraph, Topology

Ids = NDArray[np.int64]


def check_subgraph(graph: Topology, subgraph: SampledSubgraph, seed_nodes: Ids) -> None:
    """Assert what holds for every sampler: real edges under their ids, seeds first, nodes and edges by hop."""
    node_ids, (source, destination) = subgraph.node_ids, subgraph.edge_index
    for array in (node_ids, subgraph.edge_index, subgraph.edge_ids):
        assert array.dtype == np.int64
    assert node_ids[: subgraph.num_seeds].tolist() == np.asarray(seed_nodes).tolist(), "seeds come first, in order"
    assert len(np.unique(node_ids)) == subgraph.num_nodes, "a node has one local id"
    assert subgraph.num_nodes_per_hop.sum() == subgraph.num_nodes
    assert subgraph.num_edges_per_hop.sum() == subgraph.num_edges == subgraph.edge_index.shape[1]
    assert np.array_equal(graph.indices[subgraph.edge_ids], node_ids[source]), "an edge id names its source"
    owners = np.searchsorted(graph.indptr, subgraph.edge_ids, side="right") - 1
    assert np.array_equal(owners, node_ids[destination]), "an edge id lies among the in-edges of its destination"
    _check_hops(subgraph)


def _check_hops(subgraph: SampledSubgraph) -> None:
    hop_of_node = np.repeat(np.arange(len(subgraph.num_nodes_per_hop)), subgraph.num_nodes_per_hop)
    hop_of_edge = np.repeat(np.arange(1, len(subgraph.num_edges_per_hop) + 1), subgraph.num_edges_per_hop)
    source, destination = subgraph.edge_index
    assert np.array_equal(hop_of_node[destination], hop_of_edge - 1), "a hop's edges end at nodes that were new before"
    assert (hop_of_node[source] <= hop_of_edge).all(), "a source is within the hop of its edge"
    first_hop = np.full(subgraph.num_nodes, len(subgraph.num_edges_per_hop) + 1)
    np.minimum.at(first_hop, source, hop_of_edge)
    found = np.arange(subgraph.num_nodes) >= subgraph.num_seeds
    assert np.array_equal(first_hop[found], hop_of_node[found]), "a node belongs to the hop that first found it"


def neighbor_sample(
    graph: Topology, seed_nodes: Ids, fanouts: tuple[int, ...], *, replace: bool, key: tuple[int, int, int]
) -> SampledSubgraph:
    """Sample as ``NeighborSampler`` does, with dictionaries and Python's whole numbers."""
    local = {int(node): position for position, node in enumerate(seed_nodes)}
    frontier, edges = list(local), list[tuple[int, int, int]]()
    node_counts, edge_counts = [len(local)], list[int]()
    for hop, fanout in enumerate(fanouts, 1):
        found = list[int]()
        before = len(edges)
        for node in frontier:
            for edge in draw_edges(graph, node, fanout, replace=replace, hop_key=key64(*key, hop)):
                source = int(graph.indices[edge])
                if source not in local:
                    local[source] = len(local)
                    found.append(source)
                edges.append((local[source], local[node], edge))
        frontier = found
        node_counts.append(len(found))
        edge_counts.append(len(edges) - before)
    table = np.array(edges, np.int64).reshape(-1, 3)
    return SampledSubgraph(
        node_ids=np.array(list(local), np.int64),
        edge_index=table[:, :2].T,
        edge_ids=table[:, 2],
        num_nodes_per_hop=np.array(node_counts, np.int64),
        num_edges_per_hop=np.array(edge_counts, np.int64),
    )


def draw_edges(graph: Topology, node: int, fanout: int, *, replace: bool, hop_key: int) -> list[int]:
    """Return the edge ids that a node draws: SplitMix64 from ``mix64(hop_key + GOLDEN + node)``, Floyd's sets."""
    low, degree = int(graph.indptr[node]), int(graph.indptr[node + 1] - graph.indptr[node])
    if degree == 0 or fanout < 0 or (degree <= fanout and not replace):
        return list(range(low, low + degree))
    state = mix64(hop_key + GOLDEN + node)

    def below(position: int, bound: int) -> int:
        return (mix64(state + GOLDEN * (position + 1)) * bound) >> 64

    if replace:
        return [low + below(i, degree) for i in range(fanout)]
    picks = list[int]()
    if fanout > 32 and fanout * fanout > 8 * degree:
        for position in range(degree):
            if below(position, degree - position) < fanout - len(picks):
                picks.append(position)
    else:
        for i in range(fanout):
            largest = degree - fanout + i
            pick = below(i, largest + 1)
            picks.append(largest if pick in picks else pick)
    return [low + pick for pick in picks]
