"""Neighbour sampling: bit for bit the slow reference, its bounds, and what its batches need."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.graph import Graph
from workbench.sampling import sample
from workbench.testing import graphs
from workbench.testing.samplers import check_subgraph, neighbor_sample

fanout_lists = st.lists(st.sampled_from([-1, 0, 1, 2, 3, 7, 34, 60]), min_size=1, max_size=3).map(tuple)


@st.composite
def topologies(draw: st.DrawFn) -> Graph:
    """Return any graph: self-loops, parallel edges, isolated nodes, hubs, ids of 32 or 64 bits."""
    num_nodes = draw(st.integers(1, 40))
    num_edges = draw(st.integers(0, 400))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    edges = rng.integers(0, num_nodes, (2, num_edges))
    if draw(st.booleans()):
        edges[1] = np.minimum(edges[1], draw(st.integers(0, 3)))  # a few nodes get nearly all in-edges
    graph = Graph.from_edge_index(edges, num_nodes)
    return Graph(indptr=graph.indptr, indices=graph.indices.astype(draw(st.sampled_from([np.int32, np.int64]))))


@given(topologies(), fanout_lists, st.booleans(), st.tuples(*[st.integers(0, 2**62)] * 3), st.data())
def test_equals_the_slow_reference(
    graph: Graph, fanouts: tuple[int, ...], replace: bool, key: tuple[int, int, int], data: st.DataObject
) -> None:
    seeds = np.array(data.draw(st.lists(st.integers(0, graph.num_nodes - 1), unique=True)), np.int64)
    rng_seed, epoch, batch = key
    found = sample(graph, seeds, fanouts=fanouts, replace=replace, rng_seed=rng_seed, epoch=epoch, batch=batch)
    check_subgraph(graph, found, seeds)
    expected = neighbor_sample(graph, seeds, fanouts, replace=replace, key=key)
    for name in ("node_ids", "edge_index", "edge_ids", "num_nodes_per_hop", "num_edges_per_hop"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name


@pytest.mark.parametrize("fanout", [1, 20, 33, 60, 99], ids=lambda fanout: f"{fanout} of 100")
def test_hubs_equal_the_slow_reference(fanout: int) -> None:
    """Large fanouts take edges one by one: each node of this graph has 100 in-edges to choose from."""
    indices = np.arange(6000, dtype=np.int32) % 60
    graph = Graph(indptr=np.arange(61) * 100, indices=indices)
    seeds = np.arange(60)
    expected = neighbor_sample(graph, seeds, (fanout,), replace=False, key=(1, 2, 3))
    found = sample(graph, seeds, fanouts=(fanout,), rng_seed=1, epoch=2, batch=3)
    assert np.array_equal(found.edge_ids, expected.edge_ids)
    assert np.array_equal(found.edge_index, expected.edge_index)


@given(topologies(), fanout_lists)
def test_an_edge_comes_at_most_once_without_replacement(graph: Graph, fanouts: tuple[int, ...]) -> None:
    subgraph = sample(graph, np.arange(graph.num_nodes)[::2], fanouts=fanouts)
    assert len(np.unique(subgraph.edge_ids)) == subgraph.num_edges


@given(topologies(), st.integers(0, 30), st.integers(1, 20))
def test_one_hop_has_as_many_edges_as_degrees_allow(graph: Graph, fanout: int, num_seeds: int) -> None:
    seeds = np.arange(graph.num_nodes)[:num_seeds]
    degrees = np.diff(graph.indptr)[seeds]
    assert sample(graph, seeds, fanouts=(fanout,)).num_edges == np.minimum(degrees, fanout).sum()
    with_replacement = sample(graph, seeds, fanouts=(fanout,), replace=True)
    assert with_replacement.num_edges == fanout * (degrees > 0).sum()


@pytest.mark.parametrize("fanouts", [(25, 10), (3, 2, 4), (1, 1, 1), (5, 0, 5)])
def test_nodes_stay_within_the_bound_of_the_fanouts(fanouts: tuple[int, ...]) -> None:
    graph = graphs.random(20_000, 400_000)
    for num_seeds in (1, 10, 1000):
        bound = min(graph.num_nodes, num_seeds * (1 + np.cumprod(fanouts).sum()))
        assert sample(graph, np.arange(num_seeds), fanouts=fanouts).num_nodes <= bound


def test_fanouts_of_25_and_10_make_at_most_276_slots_a_seed() -> None:
    graph = graphs.random(20_000, 400_000)  # 40 in-edges a node: hardly a node meets another of its tree
    most = max(sample(graph, [seed], fanouts=(25, 10)).num_nodes for seed in range(50))
    assert 265 < most <= 276


def test_the_fanout_is_next_to_the_seeds_first() -> None:
    graph = graphs.clique(30)
    assert sample(graph, [0], fanouts=(2, 7)).num_edges_per_hop.tolist() == [2, 14]


def test_a_self_loop_adds_an_edge_and_no_node() -> None:
    subgraph = sample(graphs.self_loops(), [5], fanouts=(-1, -1))
    assert subgraph.node_ids.tolist() == [5]
    assert subgraph.edge_index.tolist() == [[0], [0]]
    assert subgraph.num_edges_per_hop.tolist() == [1, 0]


def test_other_keys_give_other_samples() -> None:
    graph, seeds = graphs.random(500, 20_000), np.arange(50)
    keys = [{}, {"rng_seed": 1}, {"epoch": 1}, {"batch": 1}]
    drawn = {tuple(sample(graph, seeds, fanouts=(5,), **key).edge_ids) for key in keys}
    assert len(drawn) == len(keys)


def test_a_nodes_draws_do_not_depend_on_the_other_seeds() -> None:
    graph = graphs.random(500, 20_000)

    def drawn(seeds: list[int]) -> set[int]:
        subgraph = sample(graph, seeds, fanouts=(5,), batch=4)
        return set(subgraph.edge_ids[subgraph.node_ids[subgraph.edge_index[1]] == 17].tolist())

    assert drawn([17]) == drawn([3, 17, 400]) == drawn([400, 17])
