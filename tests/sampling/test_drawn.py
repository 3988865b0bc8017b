"""Cluster, GraphSAINT and shadow: what their batches hold, and that their weights make sums unbiased."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.partition import partition
from workbench.sampling import SampledSubgraph, sample
from workbench.sampling.base import steps_per_epoch
from workbench.sampling.drawn import at_least_once, both_at_least_once
from workbench.sampling.methods.cluster import ClusterSampler
from workbench.sampling.methods.saint_edge import SaintEdgeSampler
from workbench.sampling.methods.saint_walk import SaintWalkSampler
from workbench.testing import graphs

SAINT: dict[str, dict[str, Any]] = {
    "saint_node": {"num_draws": 18},
    "saint_edge": {"num_draws": 9},
    "saint_walk": {"num_roots": 6, "walk_length": 2, "coverage": 50_000},
}


def test_an_epoch_has_every_cluster_once_and_regroups_them() -> None:
    graph, seeds = graphs.random(400, 2000), np.arange(0, 400, 3)
    sampler = ClusterSampler(num_clusters=10, clusters_per_batch=3, partitioner="hash")
    clusters = sampler.clusters(graph)
    groups = []
    for epoch in range(2):
        batches = [sample(graph, seeds, sampler, epoch=epoch, batch=batch) for batch in range(5)]
        groups.append([frozenset(clusters[batch.node_ids].tolist()) for batch in batches])
        assert [len(group) for group in groups[-1]] == [3, 3, 3, 1, 0]
        assert sorted(np.concatenate([batch.node_ids for batch in batches])) == list(range(400))
        assert sorted(np.concatenate([batch.seed_nodes for batch in batches])) == seeds.tolist()
    assert groups[0] != groups[1]
    shape = {"batch_size": 1, "world_size": 3}
    assert steps_per_epoch(sampler, graph, len(seeds), **shape) == 2


def test_all_clusters_in_one_batch_are_the_whole_graph() -> None:
    graph = graphs.karate()
    subgraph = sample(graph, graph.train_nodes, "cluster", num_clusters=4, clusters_per_batch=4)
    assert sorted(subgraph.edge_ids.tolist()) == list(range(graph.num_edges))
    assert subgraph.num_nodes == graph.num_nodes


def test_embedding_utilisation_is_the_edges_inside_the_batch() -> None:
    """A = block diagonal + dropped: with one cluster a batch, exactly the cut edges are in no batch."""
    graph = graphs.random(400, 2000)
    parts = partition(graph, 8, "hash")
    sampler = ClusterSampler.of(parts)
    kept = sum(sample(graph, [], sampler, batch=batch).num_edges for batch in range(8))
    assert graph.num_edges - kept == parts.quality().edge_cut


def test_a_partition_given_is_the_clusters_also_in_another_process(tmp_path: Path) -> None:
    graph = graphs.random(100, 400)
    parts = partition(graph, 5, "random")
    sampler = ClusterSampler.of(parts, clusters_per_batch=2)
    elsewhere = Graph.open(graph.save(tmp_path / "graph"))
    again = ClusterSampler.from_kwargs(sampler.to_dict())
    assert np.array_equal(again.clusters(elsewhere), parts.assignment)
    with pytest.raises(InputError, match="5 parts"):
        ClusterSampler(num_clusters=4, partition_folder=sampler.partition_folder).clusters(graph)


def test_a_graph_of_fewer_nodes_has_as_many_clusters_as_nodes() -> None:
    graph = graphs.path(4)
    assert sorted(ClusterSampler(partitioner="hash").clusters(graph).tolist()) == [0, 1, 2, 3]


def simple() -> Graph:
    """Return a directed graph with a self-loop, parallel edges and a hub."""
    edges = np.concatenate([np.random.default_rng(3).integers(0, 24, (2, 70)), [[1, 1, 2], [1, 2, 1]]], axis=1)
    edges[1, :10] = 0
    return Graph.from_edge_index(np.concatenate([edges, edges[:, 60:]], axis=1), 24)


def sums_of(graph: Graph, values: NDArray[np.float64], subgraph: SampledSubgraph) -> NDArray[np.float64]:
    """Return the weighted sum of `values` over the in-edges of each node of the graph that the batch has."""
    source, destination = subgraph.node_ids[subgraph.edge_index]
    assert subgraph.edge_weight is not None
    return np.bincount(destination, values[source] * subgraph.edge_weight, minlength=graph.num_nodes)


@pytest.mark.parametrize("name", SAINT)
def test_the_weighted_sums_of_saint_are_unbiased(name: str) -> None:
    """Identity 13, by Monte Carlo: sums over neighbours given that the node was drawn, and the mean loss."""
    graph, num_batches = simple(), 6000
    values = np.random.default_rng(1).uniform(1.0, 2.0, graph.num_nodes)
    population = np.arange(0, graph.num_nodes, 2)[np.diff(graph.indptr)[::2] > 0]
    source, destination = graph.edge_index()
    exact = np.bincount(destination, values[source], minlength=graph.num_nodes)
    drawn, total, square = (np.zeros(graph.num_nodes) for _ in range(3))
    losses = []
    for batch in range(num_batches):
        subgraph = sample(graph, population, name, batch=batch, **SAINT[name])
        sums = sums_of(graph, values, subgraph)
        drawn[subgraph.node_ids] += 1
        total += sums
        square += sums**2
        assert subgraph.node_weight is not None
        weighted = subgraph.node_weight * values[subgraph.seed_nodes]
        losses.append(weighted.mean() if subgraph.num_seeds else 0.0)
    seen = drawn > 500
    assert seen.sum() > 15
    mean = total[seen] / drawn[seen]
    error = np.sqrt(np.maximum(square[seen] / drawn[seen] - mean**2, 1e-9) / drawn[seen])
    assert (np.abs(mean - exact[seen]) / error).max() < 4.5
    assert (np.abs(1.05 * mean - exact[seen]) / error).max() > 4.5, "5% would be noticed"
    loss_error = np.std(losses) / np.sqrt(num_batches)
    assert abs(np.mean(losses) - values[population].mean()) < 4.5 * loss_error


@pytest.mark.parametrize("name", SAINT)
def test_chances_of_nodes_are_those_of_the_batches(name: str) -> None:
    graph, num_batches = simple(), 4000
    count, wanted = np.zeros(graph.num_nodes), np.zeros(graph.num_nodes)
    for batch in range(num_batches):
        subgraph = sample(graph, np.arange(graph.num_nodes), name, batch=batch, **SAINT[name])
        count[subgraph.node_ids] += 1
        wanted[subgraph.seed_nodes] = subgraph.num_seeds / (graph.num_nodes * subgraph.node_weight)
    seen = (wanted > 0) & (wanted < 1)
    spread = np.sqrt(num_batches * wanted * (1 - wanted))[seen]
    assert np.abs((count - num_batches * wanted)[seen] / spread).max() < 4.5
    assert np.abs((count - num_batches * 1.05 * wanted)[seen] / spread).max() > 4.5, "5% would be noticed"


def test_chances_of_independent_draws() -> None:
    one, other = np.array([0.3, 1.0, 0.0]), np.array([0.2, 0.5, 0.4])
    assert at_least_once(one, 2) == pytest.approx([1 - 0.49, 1.0, 0.0])
    together = np.array([0.1, 0.5, 0.0])
    both = both_at_least_once(one, other, together, 2)
    assert both == pytest.approx([1 - 0.49 - 0.64 + 0.36, 0.75, 0.0])


def test_an_edge_is_drawn_by_the_degrees_of_its_ends() -> None:
    graph = graphs.star(6)
    subgraph = sample(graph, np.arange(7), SaintEdgeSampler(num_draws=1))
    assert sorted(subgraph.node_ids.tolist())[0] == 0
    assert (subgraph.num_nodes, subgraph.num_edges) == (2, 2)


def test_walks_go_against_the_edges_and_end_where_there_is_none() -> None:
    graph = Graph.from_edge_index([[1, 2], [0, 1]], 4)
    chances = SaintWalkSampler(walk_length=2, coverage=3000).chances(graph)
    share = chances.of_nodes / chances.num_walks
    assert share == pytest.approx([0.25, 0.5, 0.75, 0.25], abs=0.03)  # 2 is reached from 0, 1 and 2
    assert chances.of_edges / chances.num_walks == pytest.approx([0.25, 0.5], abs=0.03)


def test_the_subgraph_of_a_seed_in_shadow_is_its_own_with_the_root_first() -> None:
    graph, seeds = graphs.random(300, 3000), [5, 9, 250]
    together = sample(graph, seeds, "shadow", fanout=3, num_hops=3)
    assert together.batch is not None
    assert together.batch[:3].tolist() == [0, 1, 2]
    for tree, seed in enumerate(seeds):
        alone = sample(graph, [seed], "shadow", fanout=3, num_hops=3)
        assert together.node_ids[together.batch == tree].tolist() == alone.node_ids.tolist()
        inside = together.batch[together.edge_index[1]] == tree
        assert sorted(together.edge_ids[inside].tolist()) == sorted(alone.edge_ids.tolist())


def test_owners_are_dealt_again_for_another_graph_at_the_same_address() -> None:
    sampler, seeds = ClusterSampler(num_clusters=8, clusters_per_batch=1, num_owners=2), np.arange(6)
    for turn in range(30):
        num_nodes = 6 + turn * 7 % 30
        ring = np.stack([np.arange(num_nodes), (np.arange(num_nodes) + 1) % num_nodes])
        graph = Graph.from_edge_index(np.concatenate([ring, ring[::-1]], axis=1), num_nodes)
        owned = np.sort(np.concatenate(sampler.owned(graph, seeds)))
        assert owned.tolist() == list(range(min(8, num_nodes)))


def test_weights_are_finite_where_one_walk_was_never_seen_along_an_edge() -> None:
    graph = Graph.from_edge_index(np.random.default_rng(0).integers(0, 50, (2, 300)), 50)
    weights = [
        sample(graph, np.arange(50), "saint_walk", num_roots=1, walk_length=3, coverage=1, batch=batch).edge_weight
        for batch in range(20)
    ]
    assert all(weight is not None and np.isfinite(weight).all() for weight in weights)
