"""Sizes over single seeds, saturation over batch sizes, hubs left unexpanded; and how seeds are chosen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.core.rng import generator
from workbench.graph import Graph, datasets
from workbench.sampling.explode import explosion
from workbench.sampling.explosion_profile import _ORDER_KEY, hub_ablation, saturation
from workbench.sampling.explosion_seeds import find_node, random_seeds, seeds_by_degree, suggest_node
from workbench.sampling.explosion_sizes import FIRST_SEEDS, neighborhood_sizes, seed_sizes
from workbench.testing.neighborhoods import count_neighborhood


def path_graph(num_nodes: int) -> Graph:
    """0 -> 1 -> 2 ...: node v reads v - 1."""
    ids = np.arange(num_nodes)
    return Graph.from_edge_index(np.stack([ids[:-1], ids[1:]]), num_nodes=num_nodes)


graphs = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40).map(
        lambda edges: Graph.from_edge_index(np.array(edges, np.int64).reshape(-1, 2).T, num_nodes=n)
    )
)


@given(graphs, st.integers(1, 4))
def test_sizes_of_single_seeds_equal_the_reference(graph: Graph, depth: int) -> None:
    sizes = neighborhood_sizes(graph, np.arange(graph.num_nodes), depth=depth)
    assert sizes.tolist() == [count_neighborhood(graph, [v], depth)[0] for v in range(graph.num_nodes)]


def test_more_seeds_than_a_word_has_bits() -> None:
    graph = datasets.load("karate")
    seeds = np.tile(np.arange(34), 5)
    sizes = neighborhood_sizes(graph, seeds, depth=3)
    assert sizes.shape == (170, 4)
    for copy in range(1, 5):
        np.testing.assert_array_equal(sizes[:34], sizes[34 * copy : 34 * (copy + 1)])


def test_blocked_nodes_are_reached_but_not_expanded() -> None:
    graph = path_graph(6)
    assert neighborhood_sizes(graph, [5], depth=4, blocked_nodes=[3])[0].tolist() == [1, 2, 3, 3, 3]
    assert neighborhood_sizes(graph, [5], depth=4, blocked_nodes=[5])[0].tolist() == [1, 1, 1, 1, 1]


def test_cancel_returns_the_seeds_done() -> None:
    graph, told = path_graph(200), []
    stop = iter([False, True])
    sizes = neighborhood_sizes(
        graph,
        np.arange(200),
        depth=1,
        num_threads=1,
        progress=lambda done, total: told.append((done, total)),
        cancelled=lambda: next(stop),
    )
    assert len(sizes) == FIRST_SEEDS
    assert told == [(FIRST_SEEDS, 200)]


def test_seed_sizes_know_the_hub_and_who_reads_it() -> None:
    """Node 0 is read by 1, 2, 3 and reads 1, 2, 3, 4; 4 reads nothing; 5 is alone."""
    edges = np.array([[0, 0, 0, 1, 2, 3, 4], [1, 2, 3, 0, 0, 0, 0]])
    found = seed_sizes(Graph.from_edge_index(edges, num_nodes=6), num_seeds=6, depth=2)
    assert found.hub_node == 0
    assert found.hub_sizes.tolist() == [1, 5, 5]
    by_seed = dict(zip(found.seed_nodes.tolist(), found.next_to_hub.tolist(), strict=True))
    assert by_seed == {0: True, 1: True, 2: True, 3: True, 4: False, 5: False}
    assert found.percentile(0, 2) == 1


@given(graphs, st.integers(1, 3))
def test_a_whole_order_read_at_once_equals_its_batches_one_by_one(graph: Graph, depth: int) -> None:
    fanouts = (-1,) * depth
    found = saturation(graph, fanouts=fanouts, num_orders=1, num_batches=1, rng_seed=7)
    order = generator(7, _ORDER_KEY, 0).permutation(graph.num_nodes)
    for column, size in enumerate(found.batch_sizes):
        expected = count_neighborhood(graph, order[:size].tolist(), depth)[0]
        assert found.all_neighbors[:, column].tolist() == expected
        assert found.sampled[:, column].tolist() == expected  # fanout -1 takes all


def test_saturation_reports_and_stops() -> None:
    told: list[tuple[int, int]] = []
    found = saturation(
        path_graph(100),
        fanouts=(1, 1),
        num_orders=5,
        num_batches=2,
        progress=lambda done, total: told.append((done, total)),
        cancelled=lambda: len(told) == 3,
    )
    assert found.num_orders == 3
    assert found.num_batches == 2
    assert told == [(1, 5), (2, 5), (3, 5)]
    assert found.batch_sizes.tolist() == [1, 2, 4, 8, 16, 32, 64, 100]
    assert np.all(np.diff(found.all_neighbors, axis=1) >= 0)


def test_hubs_left_unexpanded_by_hand() -> None:
    """A star: every leaf reads the centre, which reads all leaves. Without expanding it nothing explodes."""
    leaves = np.arange(1, 10)
    edges = np.concatenate([np.stack([leaves, 0 * leaves]), np.stack([0 * leaves, leaves])], axis=1)
    found = hub_ablation(Graph.from_edge_index(edges), num_hubs=(0, 1), num_seeds=10, depth=2)
    assert found.num_hubs == (0, 1)
    assert found.mean_sizes.tolist() == [[1, (9 * 2 + 10) / 10, 10], [1, (9 * 2 + 1) / 10, (9 * 2 + 1) / 10]]


def test_debian_profile() -> None:
    graph = datasets.load("debian")
    found = seed_sizes(graph, rng_seed=1)
    assert graph.node_names is not None
    assert graph.node_names[found.hub_node] == "libc6"
    assert found.hub_sizes.tolist() == [1, 21_816, 43_543]
    assert np.all(found.sizes[found.next_to_hub, 2] >= 21_816)
    assert found.next_to_hub.mean() == pytest.approx(0.321, abs=0.05)
    hubs = hub_ablation(graph, rng_seed=1)
    assert hubs.num_hubs == (0, 1, 5, 20, 634)
    np.testing.assert_allclose(hubs.mean_sizes[:, 3], [25_271, 11_365, 5_548, 3_210, 468], rtol=0.15)
    curve = saturation(graph, num_orders=20, num_batches=5)
    at = {size: column for column, size in enumerate(curve.batch_sizes.tolist())}
    np.testing.assert_allclose(curve.all_neighbors[3, at[64] :: 2], [55_466, 59_127, 60_596, 61_310], rtol=0.02)
    np.testing.assert_allclose(curve.sampled[3, at[256] :: 2], [16_009, 29_433, 42_899], rtol=0.05)


def test_an_order_agrees_with_separate_batches_on_average() -> None:
    graph = datasets.load("debian")
    curve = saturation(graph, num_orders=20, num_batches=1)
    batches = explosion(graph, num_seeds=1024, num_batches=20)
    column = curve.batch_sizes.tolist().index(1024)
    np.testing.assert_allclose(curve.all_neighbors[2:, column], batches.all_neighbors.unique_nodes.mean[2:], rtol=0.02)


def test_seeds_by_degree() -> None:
    """In-degrees 0, 1, 2, 3 of nodes 0 to 3."""
    graph = Graph.from_edge_index(np.array([[0, 0, 1, 0, 1, 2], [1, 2, 2, 3, 3, 3]]))
    assert seeds_by_degree(graph, 100, 2).tolist() == [3, 2]
    assert seeds_by_degree(graph, 0).tolist() == [0]
    assert seeds_by_degree(graph, 50, 99).tolist() == [0, 1, 2, 3]
    assert seeds_by_degree(graph, 67).tolist() == [2]
    with pytest.raises(InputError, match="percentile"):
        seeds_by_degree(graph, 101)


def test_random_seeds_are_distinct_and_a_function_of_their_key() -> None:
    graph = path_graph(50)
    one, same, other = (random_seeds(graph, 20, batch=batch) for batch in (0, 0, 1))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert len(set(one.tolist())) == 20
    assert random_seeds(graph, 1000, batch=0).size == 50


def test_nodes_are_found_by_name_and_by_id() -> None:
    names = ["alpha", "beta", "3"]
    graph = Graph.from_edge_index(np.array([[0], [1]]), num_nodes=3, node_names=names)
    assert [find_node(graph, text) for text in ("beta", " 1 ", "3")] == [1, 1, 2]
    assert suggest_node(graph, "alpah") == "alpha"
    assert suggest_node(graph, "xyz") is None
    twins = Graph.from_edge_index(np.array([[0], [2]]), num_nodes=3, node_names=["cat", "car", "cab"])
    assert suggest_node(twins, "caz") == "cab", "of equally near names that of the node with most edges"
    with pytest.raises(InputError, match=r"did you mean 'beta'\?"):
        find_node(graph, "bata")
    with pytest.raises(InputError, match="a node id from 0 to 4"):
        find_node(path_graph(5), "beta")
