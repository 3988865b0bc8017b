"""Checks for samplers: what must hold for every sampled subgraph, and neighbour sampling written the slow way."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from workbench.core.rng import GOLDEN, key64, mix64
from workbench.sampling import SampledSubgraph, Sampler, Topology

Ids = NDArray[np.int64]


def check_subgraph(graph: Topology, subgraph: SampledSubgraph, seed_nodes: Ids, sampler: Sampler | None = None) -> None:
    """Assert what holds for every sampler: real edges under their ids, seeds first, nodes and edges by hop."""
    node_ids, (source, destination) = subgraph.node_ids, subgraph.edge_index
    for array in (node_ids, subgraph.edge_index, subgraph.edge_ids):
        assert array.dtype == np.int64
    _check_seeds(subgraph, np.asarray(seed_nodes), sampler)
    assert subgraph.num_nodes_per_hop.sum() == subgraph.num_nodes
    assert subgraph.num_edges_per_hop.sum() == subgraph.num_edges == subgraph.edge_index.shape[1]
    owners = np.searchsorted(graph.indptr, subgraph.edge_ids, side="right") - 1
    stands = (graph.indices[subgraph.edge_ids] == node_ids[source]) & (owners == node_ids[destination])
    if getattr(sampler, "subgraph_type", "") == "bidirectional":
        stands |= (graph.indices[subgraph.edge_ids] == node_ids[destination]) & (owners == node_ids[source])
    assert stands.all(), "an edge id names its source, among the in-edges of its destination"
    _check_weights(subgraph)
    _check_trees(subgraph)
    if sampler is None or sampler.is_by_hop:
        _check_hops(subgraph)


def _check_seeds(subgraph: SampledSubgraph, seed_nodes: Ids, sampler: Sampler | None) -> None:
    seeds = subgraph.node_ids[: subgraph.num_seeds].tolist()
    if sampler is not None and sampler.draws_seeds:
        assert seeds == seed_nodes[np.isin(seed_nodes, subgraph.node_ids)].tolist(), "those drawn come first, in order"
    else:
        assert seeds == seed_nodes.tolist(), "seeds come first, in order"


def _check_weights(subgraph: SampledSubgraph) -> None:
    for weights, count in ((subgraph.edge_weight, subgraph.num_edges), (subgraph.node_weight, subgraph.num_seeds)):
        if weights is not None:
            assert weights.dtype == np.float32
            assert weights.shape == (count,)
            assert np.isfinite(weights).all()
            assert (weights > 0).all(), "what was drawn stands for something"


def _check_trees(subgraph: SampledSubgraph) -> None:
    trees = np.zeros(subgraph.num_nodes, np.int64) if subgraph.batch is None else subgraph.batch
    assert trees.shape == (subgraph.num_nodes,)
    pairs = np.stack([trees, subgraph.node_ids])
    assert np.unique(pairs, axis=1).shape[1] == subgraph.num_nodes, "a node has one local id (in a tree)"
    source, destination = subgraph.edge_index
    assert np.array_equal(trees[source], trees[destination]), "edges stay within a tree"
    if subgraph.batch is not None:
        assert trees[: subgraph.num_seeds].tolist() == list(range(subgraph.num_seeds)), "tree i is that of seed i"


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

    def draw(hop: int, node: int, tree: int) -> list[int]:
        return draw_edges(graph, node, fanouts[hop - 1], replace=replace, hop_key=key64(*key, hop))

    return reference_sample(graph, seed_nodes, len(fanouts), draw)


def reference_sample(
    graph: Topology,
    seed_nodes: Ids,
    num_hops: int,
    draw: Callable[[int, int, int], list[int]],
    *,
    disjoint: bool = False,
) -> SampledSubgraph:
    """Expand hop by hop the slow way: ``draw(hop, node, position of the seed)`` returns edge ids."""
    local = {(tree if disjoint else 0, int(node)): tree for tree, node in enumerate(seed_nodes)}
    frontier, edges = list(local), list[tuple[int, int, int]]()
    node_counts, edge_counts = [len(local)], list[int]()
    for hop in range(1, num_hops + 1):
        found, before = list[tuple[int, int]](), len(edges)
        for tree, node in frontier:
            for edge in draw(hop, node, tree):
                source = (tree, int(graph.indices[edge]))
                if source not in local:
                    local[source] = len(local)
                    found.append(source)
                edges.append((local[source], local[tree, node], edge))
        frontier = found
        node_counts.append(len(found))
        edge_counts.append(len(edges) - before)
    table = np.array(edges, np.int64).reshape(-1, 3)
    return SampledSubgraph(
        node_ids=np.array([node for _, node in local], np.int64),
        edge_index=table[:, :2].T,
        edge_ids=table[:, 2],
        num_nodes_per_hop=np.array(node_counts, np.int64),
        num_edges_per_hop=np.array(edge_counts, np.int64),
        batch=np.array([tree for tree, _ in local], np.int64) if disjoint else None,
    )


def draw_edges(
    graph: Topology, node: int, fanout: int, *, replace: bool, hop_key: int, state: int | None = None
) -> list[int]:
    """Return the edge ids that a node draws: SplitMix64 from ``mix64(hop_key + GOLDEN + node)``, Floyd's sets."""
    low, degree = int(graph.indptr[node]), int(graph.indptr[node + 1] - graph.indptr[node])
    if degree == 0 or fanout < 0 or (degree <= fanout and not replace):
        return list(range(low, low + degree))
    start = mix64(hop_key + GOLDEN + node) if state is None else state

    def below(position: int, bound: int) -> int:
        return (mix64(start + GOLDEN * (position + 1)) * bound) >> 64

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


def draw_chosen(
    candidates: list[int],
    low: int,
    fanout: int,
    *,
    replace: bool,
    state: int,
    weights: NDArray[np.float32] | None = None,
    times: Ids | None = None,
) -> list[int]:
    """Return the edges that a node draws among its candidates: by weight, the latest, or uniformly.

    Parameters
    ----------
    low : int
        The node's first in-edge.
    state : int
        Where its stream of random numbers begins.
    weights, times : array (m), optional
        By which edges are drawn; `times` takes the latest.
    """
    if fanout < 0 or (len(candidates) <= fanout and not replace) or not candidates:
        return candidates

    def bits(position: int) -> int:
        return mix64(state + GOLDEN * (position + 1))

    def unit(position: int) -> float:
        return ((bits(position) >> 11) + 1) / 2.0**53

    if times is not None:
        latest = sorted(candidates, key=lambda edge: (int(times[edge]), edge))
        return sorted(latest[len(latest) - fanout :])
    if weights is None:
        degree = len(candidates)
        line = _Line(degree)
        picks = draw_edges(line, 0, fanout, replace=replace, hop_key=0, state=state)
        return [candidates[pick] for pick in picks]
    if replace:
        sums = np.cumsum([float(weights[edge]) for edge in candidates])
        return [candidates[int(np.searchsorted(sums, unit(j) * sums[-1]))] for j in range(fanout)]
    waits = {edge: -math.log(unit(edge - low)) / float(weights[edge]) for edge in candidates}
    return sorted(sorted(candidates, key=waits.__getitem__)[:fanout])


class _Line:
    """One node with some in-edges."""

    def __init__(self, degree: int) -> None:
        self.indptr, self.indices = np.array([0, degree]), np.zeros(degree, np.int64)
        self.num_nodes, self.num_edges = 1, degree
