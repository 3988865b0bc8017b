"""Links as examples: the split, what may carry messages, and negatives that are no edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.core.rng import key64
from workbench.gather.link_pairs import NO_NODE, hashed, negatives, oriented, training_pairs
from workbench.gather.link_split import LinkSplit, split_links
from workbench.graph import Graph
from workbench.testing import graphs

SHARES = {"val_share": 0.2, "test_share": 0.1, "rng_seed": 0}


def edges(graph: Graph) -> set[tuple[int, int]]:
    return set(zip(*graph.edge_index().tolist(), strict=True))


def pairs(found: Any) -> list[tuple[int, int]]:
    return list(zip(*found.tolist(), strict=True))


@pytest.mark.parametrize("name", sorted(graphs.NAMED))
def test_held_out_edges_carry_no_message_in_any_direction(name: str) -> None:
    graph = graphs.NAMED[name]()
    split = split_links(graph, **SHARES)
    held_out = pairs(split.val_pairs) + pairs(split.test_pairs)
    left = edges(split.messages)
    turned = {(b, a) for a, b in held_out} if split.symmetric else set()
    assert not left & (set(held_out) | turned)
    assert left | set(held_out) | turned == edges(graph)
    every = held_out + pairs(split.train_pairs)
    assert len(set(every)) == len(every)
    assert all(a != b for a, b in every)
    assert not split.symmetric or all(a < b for a, b in every)
    for edge, (a, b) in zip(split.pair_of_edge.tolist(), edges_in_order(split.messages), strict=True):
        low, high = (min(a, b), max(a, b)) if split.symmetric else (a, b)
        assert (a == b) if edge < 0 else split.train_pairs[:, edge].tolist() == [low, high]


def edges_in_order(graph: Graph) -> list[tuple[int, int]]:
    return list(zip(*graph.edge_index().tolist(), strict=True))


def test_a_split_depends_on_its_own_seed_and_takes_its_shares() -> None:
    graph = graphs.random(100, 400)
    split = split_links(graph, **SHARES)
    num_pairs = sum(part.shape[1] for part in (split.train_pairs, split.val_pairs, split.test_pairs))
    assert split.val_pairs.shape[1] == round(0.2 * num_pairs)
    assert split.test_pairs.shape[1] == round(0.1 * num_pairs)
    assert split_links(graph, **SHARES) is split
    again = split_links(graph.with_data(name="again"), **SHARES)
    assert np.array_equal(again.test_pairs, split.test_pairs)
    other = split_links(graph, **{**SHARES, "rng_seed": 1})
    assert not np.array_equal(other.test_pairs, split.test_pairs)


def test_edge_data_stays_with_its_edges_and_nodes_are_shared() -> None:
    graph = graphs.random(40, 120)
    source, destination = graph.edge_index()
    graph = graph.with_data(edge_data={"weight": (source * 100 + destination).astype(np.float32)})
    messages = split_links(graph, **SHARES).messages
    source, destination = messages.edge_index()
    assert messages.edge_data["weight"].tolist() == (source * 100 + destination).tolist()
    assert messages.x.base is graph.x.base or messages.x is graph.x


def test_masks_of_the_graph_decide() -> None:
    graph = graphs.path(6)  # pairs 0-1, 1-2, 2-3, 3-4, 4-5, each in both directions
    source, destination = graph.edge_index()

    def mask(a: int, b: int) -> Any:
        return (source == a) & (destination == b)  # one direction stands for both

    split = split_links(graph.with_data(edge_data={"val_edges": mask(1, 0), "test_edges": mask(3, 4)}), **SHARES)
    assert (pairs(split.val_pairs), pairs(split.test_pairs)) == ([(0, 1)], [(3, 4)])
    assert pairs(split.train_pairs) == [(1, 2), (2, 3), (4, 5)]
    assert edges(split.messages) == {(1, 2), (2, 1), (2, 3), (3, 2), (4, 5), (5, 4)}
    some = split_links(graph.with_data(edge_data={"train_edges": mask(1, 2)}), **SHARES)
    assert pairs(some.train_pairs) == [(1, 2)]
    assert edges(some.messages) == edges(graph)
    assert sorted(some.pair_of_edge.tolist()) == [-1] * 8 + [0, 0]


def test_masks_that_are_wrong_are_refused() -> None:
    graph = graphs.path(4)
    ones = np.ones(graph.num_edges)
    with pytest.raises(InputError, match="a boolean mask over the edges"):
        split_links(graph.with_data(edge_data={"val_edges": ones}), **SHARES)
    both = {"val_edges": ones > 0, "test_edges": ones > 0}
    with pytest.raises(InputError, match="3 pairs of nodes in more than one"):
        split_links(graph.with_data(edge_data=both), **SHARES)


def drawn(split: LinkSplit, count: int, *key: int) -> Any:
    source = np.arange(split.messages.num_nodes)
    return source, negatives(split, source, source, count, key)


@given(st.integers(2, 14), st.floats(0, 1), st.integers(0, 3), st.booleans())
def test_negatives_are_never_edges_and_exist_where_any_do(
    num_nodes: int, density: float, rng_seed: int, both_ways: bool
) -> None:
    random = np.random.default_rng(rng_seed)
    matrix = random.random((num_nodes, num_nodes)) < density
    graph = graphs.build("any", np.argwhere(matrix), num_nodes, both_ways=both_ways)
    split, there = split_links(graph, **SHARES), edges(graph)
    source, found = drawn(split, 5, rng_seed)
    for node, row in zip(source.tolist(), found.tolist(), strict=True):
        free = {other for other in range(num_nodes) if other != node and (node, other) not in there}
        assert set(row) <= free if free else set(row) == {NO_NODE}


def test_negatives_are_uniform_over_what_is_no_edge() -> None:
    graph = graphs.star(9)  # the hub has none; a leaf may meet any of the 8 other leaves
    split = split_links(graph, **SHARES)
    _, found = drawn(split, 4000, 7)
    assert (found[0] == NO_NODE).all()
    counts = np.bincount(found[3], minlength=10)
    assert counts[[0, 3]].tolist() == [0, 0]
    others = counts[[1, 2, 4, 5, 6, 7, 8, 9]]
    chi_square = ((others - 500) ** 2 / 500).sum()
    assert chi_square < 26  # 7 degrees of freedom: p = 0.0005


def test_hashes_are_the_keys_of_the_scalar_function() -> None:
    ids = np.array([0, 1, 5, 2**40, -1])
    assert hashed(3, ids, 7).tolist() == [key64(3, int(i), 7) for i in ids]


def test_pairs_of_an_edge_are_the_same_in_every_batch() -> None:
    split = split_links(graphs.random(60, 200), **SHARES)
    words = {"num_negatives": 3, "epoch": 2, "rng_seed": 4}
    ids = np.arange(split.train_pairs.shape[1])
    whole = training_pairs(split, ids, **words)
    assert whole.targets.tolist() == [1.0] * len(ids) + [0.0] * (3 * len(ids))
    assert whole.weights.sum() == pytest.approx(len(ids), rel=1e-6)
    some = training_pairs(split, ids[[9, 4]], **words)
    assert some.ends[:, :2].tolist() == whole.ends[:, [9, 4]].tolist()
    table = whole.ends[:, len(ids) :].reshape(2, len(ids), 3)
    assert some.ends[:, 2:].reshape(2, 2, 3).tolist() == table[:, [9, 4]].tolist()
    later = training_pairs(split, ids, **{**words, "epoch": 3})
    assert later.ends[:, len(ids) :].tolist() != whole.ends[:, len(ids) :].tolist()


def test_either_end_is_the_source_in_a_symmetric_graph_alone() -> None:
    split = split_links(graphs.random(60, 200), **SHARES)
    ids = np.arange(split.train_pairs.shape[1])
    source, destination = oriented(split, split.train_pairs, ids, (0, 1))
    turned = source > destination
    assert 0.35 < turned.mean() < 0.65
    assert np.array_equal(np.sort(np.stack([source, destination]), axis=0), split.train_pairs)
    one_way = split_links(graphs.directed(), **SHARES)
    ids = np.arange(one_way.train_pairs.shape[1])
    assert np.array_equal(np.stack(oriented(one_way, one_way.train_pairs, ids, (0, 1))), one_way.train_pairs)


def test_an_edge_whose_source_knows_everybody_weighs_as_much_as_any_other() -> None:
    split = split_links(graphs.clique(5), val_share=0, test_share=0, rng_seed=0)
    found = training_pairs(split, np.arange(10), num_negatives=2, epoch=1, rng_seed=0)
    assert found.targets.tolist() == [1.0] * 10
    assert found.weights.tolist() == [1.0] * 10
