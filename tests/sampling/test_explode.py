"""The explosion: by hand on small graphs, against a set-based reference, and with the Debian graph's known numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.graph import Graph, datasets
from workbench.sampling import sample
from workbench.sampling.explode import default_fanouts, explosion, iter_explosion
from workbench.sampling.explosion_seeds import find_node
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


@given(graphs, st.data())
def test_counts_equal_the_set_based_reference(graph: Graph, data: st.DataObject) -> None:
    seeds = data.draw(st.lists(st.integers(0, graph.num_nodes - 1), min_size=1, max_size=5, unique=True))
    depth = data.draw(st.integers(1, 4))
    result = explosion(graph, seeds, depth=depth, num_batches=1)
    nodes, edges, slots = count_neighborhood(graph, seeds, depth)
    assert result.all_neighbors.unique_nodes.mean.tolist() == nodes
    assert result.all_neighbors.num_edges.mean.tolist() == edges
    assert result.all_neighbors.tree_slots.mean.tolist() == slots


@given(graphs, st.data())
def test_sampled_counts_keep_their_bounds(graph: Graph, data: st.DataObject) -> None:
    seeds = data.draw(st.lists(st.integers(0, graph.num_nodes - 1), min_size=1, max_size=5, unique=True))
    fanouts = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    sampled = explosion(graph, seeds, fanouts=fanouts, num_batches=3).sampled
    # Identity 6: unique nodes <= min(n, b (1 + f1 + f1 f2 + ...)).
    bound = len(seeds) * np.cumsum(np.cumprod([1, *fanouts]))
    assert sampled.max_slots is not None
    assert sampled.max_slots.tolist() == bound.tolist()
    assert np.all(sampled.unique_nodes.high <= np.minimum(bound, graph.num_nodes) + 1e-9)
    assert np.all(sampled.tree_slots.mean <= bound + 1e-9)
    # Identity 4, first half: one hop draws exactly min(f, d) edges of each seed.
    expected = sum(min(fanouts[0], int(graph.in_degrees()[seed])) for seed in seeds)
    assert sampled.num_edges.low[1] == sampled.num_edges.high[1] == expected
    assert sampled.tree_slots.mean[1] == pytest.approx(len(seeds) + expected)


@given(graphs, st.data())
def test_taking_all_by_fanout_is_the_full_neighbourhood(graph: Graph, data: st.DataObject) -> None:
    seeds = data.draw(st.lists(st.integers(0, graph.num_nodes - 1), min_size=1, max_size=4, unique=True))
    result = explosion(graph, seeds, fanouts=(-1, -1, -1), num_batches=2)
    assert result.sampled.max_slots is None
    for name in ("unique_nodes", "num_edges", "tree_slots"):
        full, sampled = getattr(result.all_neighbors, name), getattr(result.sampled, name)
        np.testing.assert_array_equal(full.mean, sampled.mean)


def test_expected_unique_nodes_of_one_hop() -> None:
    """Identity 4: E[unique] = sum_v (1 - prod over readers u of v (1 - min(1, f / d_u))), the seeds counted once."""
    rng = np.random.default_rng(1)
    graph = Graph.from_edge_index(np.unique(rng.integers(0, 60, (2, 600)), axis=1), num_nodes=60)
    seeds, fanout, batches = np.arange(10), 4, 800
    sampled = explosion(graph, seeds, fanouts=(fanout,), num_batches=batches).sampled
    missed = np.ones(60)
    for seed in seeds:
        sources = graph.indices[graph.indptr[seed] : graph.indptr[seed + 1]]
        missed[sources] *= 1 - min(1.0, fanout / max(len(sources), 1))
    missed[seeds] = 0
    assert sampled.unique_nodes.mean[1] == pytest.approx(np.sum(1 - missed), rel=0.01)


def test_reach_probability_ranks_nodes_as_sampling_does() -> None:
    """Identity 5 beyond one hop: p_v = 1 - prod_u (1 - min(1, f / d_u) p_u) predicts the ranking, not the counts."""
    graph = datasets.load("karate")
    degrees, depth, fanout = graph.in_degrees(), 2, 2
    reach = np.zeros(graph.num_nodes)
    reach[0] = 1.0
    reached = [reach]
    for _ in range(depth):
        missed = np.ones(graph.num_nodes)
        for u in range(graph.num_nodes):
            sources = graph.indices[graph.indptr[u] : graph.indptr[u + 1]]
            missed[sources] *= 1 - min(1.0, fanout / max(degrees[u], 1)) * reached[-1][u]
        reached.append(1 - missed)
    predicted = 1 - np.prod([1 - p for p in reached], axis=0)
    hits = np.zeros(graph.num_nodes)
    for batch in range(1500):
        hits[sample(graph, [0], fanouts=(fanout,) * depth, batch=batch).node_ids] += 1
    order = np.argsort(np.argsort(hits)), np.argsort(np.argsort(predicted))
    assert np.corrcoef(*order)[0, 1] > 0.9


def test_a_path_by_hand() -> None:
    result = explosion(path_graph(6), [5], fanouts=(1, 1, 1), num_batches=2)
    assert result.all_neighbors.unique_nodes.mean.tolist() == [1, 2, 3, 4]
    assert result.all_neighbors.num_edges.mean.tolist() == [0, 1, 2, 3]
    assert result.sampled.redundancy.tolist() == [1, 1, 1, 1]
    np.testing.assert_allclose(result.walks, (5 / 6) ** np.arange(4))
    np.testing.assert_allclose(result.all_neighbors.share, np.arange(1, 5) / 6)


def test_a_star_is_redundant_by_hand() -> None:
    """A centre with three leaves, both ways: a leaf reads the centre, which reads all leaves, and so on."""
    leaves = np.array([1, 2, 3])
    edges = np.concatenate([np.stack([leaves, 0 * leaves]), np.stack([0 * leaves, leaves])], axis=1)
    result = explosion(Graph.from_edge_index(edges), [1], depth=3, num_batches=1)
    assert result.all_neighbors.unique_nodes.mean.tolist() == [1, 2, 4, 4]
    assert result.all_neighbors.tree_slots.mean.tolist() == [1, 2, 5, 8]
    assert result.all_neighbors.num_edges.mean.tolist() == [0, 1, 4, 6]


@pytest.mark.parametrize("num_nodes", [1, 5])
def test_a_graph_without_edges_and_isolated_seeds(num_nodes: int) -> None:
    graph = Graph.from_edge_index(np.zeros((2, 0), np.int64), num_nodes=num_nodes)
    result = explosion(graph, num_seeds=1024, num_batches=3)
    assert result.num_seeds == num_nodes
    assert result.all_neighbors.unique_nodes.mean.tolist() == [num_nodes] * 4
    assert result.all_neighbors.share[-1] == 1
    assert result.all_neighbors.row_bytes == 0
    assert "no features" in str(result)


def test_repeated_seeds_count_once() -> None:
    once, twice = (explosion(path_graph(6), seeds, depth=2, num_batches=1) for seeds in ([5, 3], [5, 3, 5]))
    assert twice.num_seeds == 2
    np.testing.assert_array_equal(once.all_neighbors.tree_slots.mean, twice.all_neighbors.tree_slots.mean)


def test_every_fault_is_named_at_once() -> None:
    with pytest.raises(InputError) as caught:
        explosion(path_graph(4), depth=0, fanouts=(-5,), num_seeds=0, num_batches=0)
    assert {finding.where for finding in caught.value.findings} == {"depth", "fanouts", "num_seeds", "num_batches"}
    with pytest.raises(InputError, match=r"one fanout a hop \(3\)"):
        explosion(path_graph(4), depth=3, fanouts=(15, 10))
    with pytest.raises(InputError, match="at least one node"):
        explosion(path_graph(4), [])
    with pytest.raises(InputError, match="seed_nodes"):
        explosion(path_graph(4), [9])


def test_fanouts_follow_the_depth() -> None:
    assert [default_fanouts(depth) for depth in (1, 3, 5)] == [(15,), (15, 10, 5), (15, 10, 5, 5, 5)]
    assert explosion(path_graph(4), fanouts=(2, 2), num_batches=1).depth == 2


def test_progress_and_cancel() -> None:
    graph, told = path_graph(50), []
    whole = explosion(graph, num_seeds=4, num_batches=8, progress=lambda done, total: told.append((done, total)))
    assert told[0] == (1, 8)
    assert told[-1] == (8, 8)
    assert not whole.is_estimate
    part = explosion(graph, num_seeds=4, num_batches=8, cancelled=lambda: True)
    assert part.is_estimate
    assert part.sampled.num_batches == 1
    first = next(iter_explosion(graph, num_seeds=4, num_batches=8))
    np.testing.assert_array_equal(first.all_neighbors.unique_nodes.mean, part.all_neighbors.unique_nodes.mean)


def test_equal_seeds_of_randomness_give_equal_results() -> None:
    graph = datasets.load("karate")
    one, same, other = (explosion(graph, num_seeds=4, num_batches=3, rng_seed=s).to_frame() for s in (0, 0, 1))
    assert one.equals(same)
    assert not one.equals(other)


def test_frame_text_and_html() -> None:
    graph = datasets.load("karate")
    result = explosion(graph, [0], depth=2, num_batches=2)
    frame = result.to_frame()
    assert frame.shape[0] == 6
    assert (
        frame.loc[frame.neighbors == "all", "unique_nodes"].tolist() == result.all_neighbors.unique_nodes.mean.tolist()
    )
    assert "One given seed, 2 hops, all neighbours: reads" in str(result)
    assert result._repr_html_().count("<table") == 2


def exact(graph: Graph, name: str) -> tuple[list[int], list[int], list[float], list[float]]:
    result = explosion(graph, [find_node(graph, name)], num_batches=1)
    full = result.all_neighbors
    nodes, edges = full.unique_nodes.mean.astype(int).tolist(), full.num_edges.mean.astype(int).tolist()
    return nodes, edges, full.tree_slots.mean.tolist(), result.sampled.tree_slots.mean.tolist()


def test_debian_single_seeds_have_their_exact_numbers() -> None:
    graph = datasets.load("debian")
    nodes, edges, slots, sampled = exact(graph, "python3-numpy")
    assert nodes == [1, 659, 27719, 51039]
    assert edges == [0, 658, 41400, 448055]
    assert slots == pytest.approx([1, 659, 41401, 13661100], rel=1e-5)
    assert sampled == pytest.approx([1, 16, 140.217, 748.837], rel=1e-5)
    nodes, edges, slots, sampled = exact(graph, "libc6")
    assert nodes == [1, 21816, 43543, 56883]
    assert slots == pytest.approx([1, 21816, 367950, 642322000], rel=1e-5)
    assert sampled == pytest.approx([1, 16, 124.705, 653.159], rel=1e-5)
    nodes, edges, _, _ = exact(graph, "libghc-getopt-generics-doc")
    assert (nodes, edges) == ([1, 8, 2578, 29949], [0, 7, 5606, 65163])


def test_debian_batches_read_what_they_are_known_to_read() -> None:
    result = explosion(datasets.load("debian"), rng_seed=3)
    full, sampled = result.all_neighbors, result.sampled
    assert full.unique_nodes.mean[3] == pytest.approx(60_596, rel=0.002)
    assert full.unique_nodes.mean[2] == pytest.approx(52_749, rel=0.02)
    assert full.num_edges.mean[3] == pytest.approx(647_909, rel=0.01)
    assert full.tree_slots.mean[3] == pytest.approx(369_751_000, rel=0.1)
    assert full.share[3] == pytest.approx(0.955, abs=0.002)
    assert sampled.unique_nodes.mean[3] == pytest.approx(29_433, rel=0.02)
    assert sampled.num_edges.mean[3] == pytest.approx(102_702, rel=0.02)
    assert sampled.tree_slots.mean[3] == pytest.approx(338_202, rel=0.02)
    assert full.feature_bytes[3] == full.unique_nodes.mean[3] * 2048
    np.testing.assert_allclose(result.walks, [1024, 10828.8, 114515, 1210990], rtol=1e-4)
    np.testing.assert_array_equal(sampled.max_slots, [1024, 16384, 169984, 937984])
