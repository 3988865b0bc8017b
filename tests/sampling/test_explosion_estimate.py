"""The estimate: exact within its budget, bounded beyond, near the truth where edges are joined at random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.graph import Graph, datasets
from workbench.sampling.explode import explosion
from workbench.sampling.explosion_estimate import DegreeProfile, estimate_explosion
from workbench.sampling.explosion_expected import expected_nodes, reach_probability
from workbench.sampling.explosion_seeds import random_seeds
from workbench.testing.neighborhoods import count_neighborhood

graphs = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40).map(
        lambda edges: Graph.from_edge_index(np.array(edges, np.int64).reshape(-1, 2).T, num_nodes=n)
    )
)


@given(graphs, st.data())
def test_a_large_budget_is_exact(graph: Graph, data: st.DataObject) -> None:
    seeds = data.draw(st.lists(st.integers(0, graph.num_nodes - 1), min_size=1, max_size=5, unique=True))
    full = estimate_explosion(graph, np.array(seeds), (2, 2, 2)).all_neighbors
    nodes, edges, slots = count_neighborhood(graph, seeds, 3)
    assert full.unique_nodes.mean.tolist() == nodes
    assert full.num_edges.mean.tolist() == edges
    assert full.tree_slots.mean.tolist() == slots
    assert not np.any([full.unique_nodes.error, full.num_edges.error, full.tree_slots.error])


@given(graphs, st.data())
def test_the_bounds_hold_whatever_the_budget(graph: Graph, data: st.DataObject) -> None:
    seeds = data.draw(st.lists(st.integers(0, graph.num_nodes - 1), min_size=1, max_size=5, unique=True))
    fanouts = tuple(data.draw(st.lists(st.integers(-1, 4), min_size=1, max_size=3)))
    budget = data.draw(st.integers(0, 30))
    found = estimate_explosion(graph, np.array(seeds), fanouts, budget_edges=budget)
    nodes, edges, _ = count_neighborhood(graph, seeds, len(fanouts))
    for spread, truth in ((found.all_neighbors.unique_nodes, nodes), (found.all_neighbors.num_edges, edges)):
        assert np.all(spread.low <= truth)
        assert np.all(truth <= spread.high)
        assert np.all(np.abs(spread.mean - truth) <= spread.error + 1e-9)
        assert np.all(np.diff(spread.mean) >= 0)
    drawn = explosion(graph, seeds, fanouts=fanouts, num_batches=3).sampled
    known = found.sampled
    if np.isfinite(known.unique_nodes.error).all():  # estimated, not drawn
        for truth, spread in ((drawn.unique_nodes, known.unique_nodes), (drawn.num_edges, known.num_edges)):
            assert np.all(spread.low <= truth.low + 1e-9)
            assert np.all(truth.high <= spread.high + 1e-9)
    np.testing.assert_allclose(known.tree_slots.mean[:2], drawn.tree_slots.mean[:2])


@pytest.mark.parametrize("num_seeds", [64, 1024])
def test_it_is_near_the_truth_where_edges_are_joined_at_random(num_seeds: int) -> None:
    """Nothing but the seeds is read: R-MAT has hubs, but little that its degrees do not tell."""
    graph = datasets.load("rmat", num_nodes=1 << 14, num_edges=16 << 14)
    seeds = random_seeds(graph, num_seeds, batch=0)
    found = estimate_explosion(graph, seeds, (15, 10, 5), budget_edges=0)
    truth = explosion(graph, seeds, fanouts=(15, 10, 5), num_batches=5)
    assert found.is_estimate
    for name, way in (("all", "all_neighbors"), ("drawn", "sampled")):
        guess, exact = getattr(found, way), getattr(truth, way)
        np.testing.assert_allclose(guess.unique_nodes.mean, exact.unique_nodes.mean, rtol=0.3, err_msg=name)
        np.testing.assert_allclose(guess.num_edges.mean, exact.num_edges.mean, rtol=0.3, err_msg=name)


def test_it_reads_no_more_than_its_budget() -> None:
    """A seed next to a hub: hop 1 is exact, hop 2 would read the hub's list."""
    leaves = np.arange(2, 1002)
    edges = np.concatenate([[[0], [1]], np.stack([leaves, 0 * leaves])], axis=1)
    full = estimate_explosion(Graph.from_edge_index(edges), np.array([1]), (-1, -1), budget_edges=100).all_neighbors
    assert full.unique_nodes.error.tolist()[:2] == [0, 0]
    assert full.unique_nodes.error[2] > 0
    assert full.num_edges.mean.tolist() == [0, 1, 1001], "the edges of the next hop are known before it is read"
    assert full.tree_slots.mean.tolist() == [1, 2, 1002]


def test_the_profile_counts_degrees() -> None:
    profile = DegreeProfile.of(Graph.from_edge_index(np.array([[0, 0, 1], [1, 2, 2]]), num_nodes=4))
    rows = zip(profile.in_degrees, profile.out_degrees, profile.counts, strict=True)
    assert sorted(rows) == [(0, 0, 1), (0, 2, 1), (1, 1, 1), (2, 0, 1)]
    assert profile.branching(-1) == pytest.approx(1 / 3)
    assert profile.reached(0).tolist() == [0, 0, 0, 0]
    assert profile.reached(3).max() == 1


def test_expected_nodes_of_one_hop_equal_the_formula_and_the_measured_mean() -> None:
    """Identity 4: E[unique] = sum_v (1 - prod over readers u of v (1 - min(1, f / d_u))), the seeds counted once."""
    rng = np.random.default_rng(1)
    graph = Graph.from_edge_index(np.unique(rng.integers(0, 60, (2, 600)), axis=1), num_nodes=60)
    seeds = np.arange(10)
    expected = expected_nodes(graph, seeds, (4,))
    measured = explosion(graph, seeds, fanouts=(4,), num_batches=800).sampled.unique_nodes
    assert abs(measured.mean[1] - expected[1]) <= 2 * measured.error[1]
    assert measured.error[1] < 0.2


def test_expected_nodes_are_exact_on_a_tree_and_with_all_neighbours() -> None:
    """0 reads 1, 2, 3, 4; each of these reads two others."""
    source = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    destination = np.array([0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    graph = Graph.from_edge_index(np.stack([source, destination]))
    probability = reach_probability(graph, [0], (2, 1))
    np.testing.assert_allclose(probability[2], [1] + [0.5] * 4 + [0.25] * 8)
    assert expected_nodes(graph, [0], (2, 1)).tolist() == [1, 3, 5]
    karate = datasets.load("karate")
    everything = explosion(karate, [5, 9], depth=3, num_batches=1).all_neighbors.unique_nodes.mean
    np.testing.assert_allclose(expected_nodes(karate, [5, 9], (-1, -1, -1)), everything)
