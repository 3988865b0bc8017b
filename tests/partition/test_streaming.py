from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from tests.partition.conftest import from_networkx, from_pairs
from workbench.graph import Graph
from workbench.graph.symmetric import symmetric_topology
from workbench.partition import partition
from workbench.partition.orders import breadth_first, stream_order
from workbench.partition.packing import pack_clusters
from workbench.partition.rebalance import part_loads, rebalance

NO_WEIGHTS = np.empty(0, dtype=np.int32)


def plain_ldg(graph: Graph, num_parts: int, order: np.ndarray) -> list[int]:
    """The definition, over every part."""
    starts, adjacent, _ = symmetric_topology(graph)
    capacity = -(-graph.num_nodes // num_parts)
    owner, sizes = [-1] * graph.num_nodes, [0] * num_parts
    for node in order.tolist():
        counts = [0] * num_parts
        for other in adjacent[starts[node] : starts[node + 1]].tolist():
            if owner[other] >= 0:
                counts[owner[other]] += 1
        scores = [(counts[p] * (1.0 - sizes[p] / capacity), -sizes[p], -p) for p in range(num_parts)]
        owner[node] = max(range(num_parts), key=lambda p: (sizes[p] < capacity, *scores[p]))
        sizes[owner[node]] += 1
    return owner


def plain_fennel(graph: Graph, num_parts: int, order: np.ndarray, gamma: float = 1.5) -> list[int]:
    """The definition, over every part."""
    starts, adjacent, _ = symmetric_topology(graph)
    capacity = np.ceil(graph.num_nodes * 1.1 / num_parts)
    alpha = len(adjacent) / 2 * num_parts ** (gamma - 1) / graph.num_nodes**gamma
    owner, sizes = [-1] * graph.num_nodes, [0] * num_parts
    for node in order.tolist():
        counts = [0] * num_parts
        for other in adjacent[starts[node] : starts[node + 1]].tolist():
            if owner[other] >= 0:
                counts[owner[other]] += 1
        scores = [
            (counts[p] - (alpha * gamma * sizes[p] ** (gamma - 1) if sizes[p] else 0.0), -sizes[p], -p)
            for p in range(num_parts)
        ]
        owner[node] = max(range(num_parts), key=lambda p: (sizes[p] < capacity, *scores[p]))
        sizes[owner[node]] += 1
    return owner


@pytest.mark.parametrize("order", ["random", "bfs", "natural"])
@pytest.mark.parametrize("num_parts", [2, 5, 11])
@pytest.mark.parametrize("method", ["ldg", "fennel"])
def test_the_kernel_does_what_the_definition_says(karate: Graph, method: str, num_parts: int, order: str) -> None:
    starts, adjacent, _ = symmetric_topology(karate)
    nodes = stream_order(order, (starts, adjacent), 3)
    plain = plain_ldg if method == "ldg" else plain_fennel
    made = partition(karate, num_parts, method, order=order, rng_seed=3)
    if not made.repaired_parts:
        assert made.assignment.tolist() == plain(karate, num_parts, nodes)


def test_more_passes_cut_less(cora: Graph) -> None:
    cuts = [partition(cora, 8, "fennel", num_passes=passes).quality().edge_cut for passes in (1, 5)]
    assert cuts[1] < 0.85 * cuts[0]


def test_breadth_first_visits_all_component_by_component() -> None:
    graph = from_pairs([(0, 1), (1, 2), (2, 3), (5, 6), (6, 7)], 9)
    starts, adjacent, _ = symmetric_topology(graph)
    order = breadth_first((starts, adjacent), np.arange(9))
    assert order.tolist() == [3, 2, 1, 0, 7, 6, 5, 4, 8]  # from an end of each path; isolated nodes last


def test_label_propagation_lowers_the_cut_of_its_blocks(cora: Graph) -> None:
    blocks, moved = (partition(cora, 8, method).quality().edge_cut for method in ("bfs", "label_propagation"))
    assert moved < 0.6 * blocks


def test_clusters_that_fit_stay_whole() -> None:
    caves = nx.connected_caveman_graph(12, 5)
    graph = from_networkx(caves)
    clusters = np.arange(60) // 5
    starts, adjacent, _ = symmetric_topology(graph)
    assignment = pack_clusters((starts, adjacent), NO_WEIGHTS, clusters, 3, 0.0)
    assert np.bincount(assignment).tolist() == [20, 20, 20]
    for cluster in range(12):
        assert len(np.unique(assignment[clusters == cluster])) == 1


@pytest.mark.parametrize("num_parts", [2, 7, 30])
def test_one_cluster_of_all_is_cut_into_balanced_parts(karate: Graph, num_parts: int) -> None:
    starts, adjacent, _ = symmetric_topology(karate)
    assignment = pack_clusters((starts, adjacent), NO_WEIGHTS, np.zeros(34, dtype=np.int64), num_parts, 0.0)
    assert np.bincount(assignment, minlength=num_parts).max() <= -(-34 // num_parts)


@pytest.mark.parametrize("algorithm", ["louvain", "leiden"])
def test_communities_cut_little(cora: Graph, algorithm: str) -> None:
    quality = partition(cora, 8, "community", algorithm=algorithm).quality()
    assert quality.edge_cut_ratio < 0.2
    assert quality.node_balance < 1.06


def test_moves_bring_every_constraint_to_its_limit(cora: Graph) -> None:
    starts, adjacent, _ = symmetric_topology(cora)
    weights = np.stack([np.ones(cora.num_nodes, np.int64), cora.in_degrees() + 1], axis=1)
    lopsided = (np.arange(cora.num_nodes, dtype=np.int32) % 5).clip(max=3)  # part 3 has two fifths
    moved = rebalance((starts, adjacent), lopsided, weights, 4, 0.05)
    loads = part_loads(moved, weights, 4)
    assert np.all(loads <= np.ceil(weights.sum(axis=0) / 4 * 1.05))
    assert rebalance((starts, adjacent), moved, weights, 4, 0.05) is moved
