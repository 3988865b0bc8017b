"""The sampled computation tree: its shape by hand, its agreement with the sampler, its nesting."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.graph import Graph, datasets
from workbench.sampling import sample
from workbench.sampling.tree import computation_tree


def path_graph(num_nodes: int) -> Graph:
    """0 -> 1 -> 2 ...: node v reads v - 1."""
    ids = np.arange(num_nodes)
    return Graph.from_edge_index(np.stack([ids[:-1], ids[1:]]), num_nodes=num_nodes)


graphs = st.integers(1, 12).flatmap(
    lambda n: st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40).map(
        lambda edges: Graph.from_edge_index(np.array(edges, np.int64).reshape(-1, 2).T, num_nodes=n)
    )
)


def test_a_path_is_a_path() -> None:
    tree = computation_tree(path_graph(5), 4, fanouts=(2, 2))
    assert tree.node_ids.tolist() == [4, 3, 2]
    assert tree.parents.tolist() == [-1, 0, 1]
    assert tree.hops.tolist() == [0, 1, 2]
    assert not tree.is_repeat.any()
    assert tree.nested() == [4, 1, 1, 1, [[3, 1, 1, 1, [[2, 1, 1, 0, []]]]]]


def test_a_node_read_already_stays_a_leaf() -> None:
    """Two nodes that read each other: the seed comes again at hop 2 and is not expanded."""
    tree = computation_tree(Graph.from_edge_index(np.array([[0, 1], [1, 0]])), 0, fanouts=(-1, -1, -1))
    assert tree.node_ids.tolist() == [0, 1, 0]
    assert tree.is_repeat.tolist() == [False, False, True]
    assert tree.num_slots_per_hop.tolist() == [1, 1, 1, 0]
    assert tree.most_repeated() == [(0, 2)]


def test_an_isolated_seed_is_a_tree_of_one() -> None:
    tree = computation_tree(Graph.from_edge_index(np.zeros((2, 0), np.int64), num_nodes=2), 1, fanouts=(3, 3))
    assert tree.nested() == [1, 0, 1, 0, []]
    assert tree.num_slots_per_hop.tolist() == [1, 0, 0]
    assert tree.num_nodes == 1


@given(graphs, st.data())
def test_the_tree_is_what_the_sampler_draws(graph: Graph, data: st.DataObject) -> None:
    seed_node = data.draw(st.integers(0, graph.num_nodes - 1))
    fanouts = tuple(data.draw(st.lists(st.integers(-1, 3), min_size=1, max_size=3)))
    tree = computation_tree(graph, seed_node, fanouts=fanouts, draw=2)
    drawn = sample(graph, [seed_node], fanouts=fanouts, epoch=2)
    assert tree.num_nodes == drawn.num_nodes
    assert tree.node_ids.size == drawn.num_edges + 1
    assert sorted(tree.node_ids[~tree.is_repeat].tolist()) == sorted(drawn.node_ids.tolist())
    for slot in range(1, tree.node_ids.size):
        parent = tree.parents[slot]
        assert not tree.is_repeat[parent], "a repeated node has no children"
        assert tree.hops[slot] == tree.hops[parent] + 1
        lists = graph.indices[graph.indptr[tree.node_ids[parent]] : graph.indptr[tree.node_ids[parent] + 1]]
        assert tree.node_ids[slot] in lists
    for slot in np.flatnonzero(~tree.is_repeat & (tree.hops < len(fanouts))):
        fanout, degree = fanouts[tree.hops[slot]], int(tree.degrees[slot])
        assert tree.children(int(slot)).size == (degree if fanout < 0 else min(fanout, degree))


def test_nesting_keeps_counts_where_it_is_cut() -> None:
    graph = datasets.load("karate")
    tree = computation_tree(graph, 0, fanouts=(-1, 2))
    cut = tree.nested(limits=(3, 1))
    assert cut[:4] == [0, 16, 1, 16]
    assert len(cut[4]) == 3
    assert len(tree.nested()[4]) == 16


def test_draws_differ_and_repeat() -> None:
    graph = datasets.load("karate")
    one, same, other = (computation_tree(graph, 0, fanouts=(3, 3), draw=draw) for draw in (0, 0, 1))
    assert one.nested() == same.nested()
    assert one.nested() != other.nested()


def test_an_unknown_seed_is_refused() -> None:
    with pytest.raises(InputError, match="seed_node"):
        computation_tree(path_graph(3), 3)
