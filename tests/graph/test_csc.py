"""Compressed columns: nothing is lost, the order is canonical, both passes are stable."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.rng import generator
from workbench.graph import csc


@st.composite
def edge_lists(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    num_nodes = draw(st.integers(1, 12))
    ids = st.integers(0, num_nodes - 1)
    pairs = draw(st.lists(st.tuples(ids, ids), max_size=60))
    return np.array(pairs, np.int64).reshape(-1, 2).T, num_nodes


@given(edge_lists())
def test_every_edge_is_kept_with_its_original_position(case: tuple[np.ndarray, int]) -> None:
    edges, num_nodes = case
    built = csc.build_csc(edges[0], edges[1], num_nodes)
    order = np.arange(edges.shape[1]) if built.order is None else built.order
    assert sorted(order.tolist()) == list(range(edges.shape[1]))
    np.testing.assert_array_equal(built.indices, edges[0][order])
    np.testing.assert_array_equal(csc.destinations(built.indptr), edges[1][order])


@given(edge_lists())
def test_the_order_is_by_destination_then_source_then_position(case: tuple[np.ndarray, int]) -> None:
    edges, num_nodes = case
    built = csc.build_csc(edges[0], edges[1], num_nodes)
    expected = np.lexsort((np.arange(edges.shape[1]), edges[0], edges[1]))
    order = np.arange(edges.shape[1]) if built.order is None else built.order
    np.testing.assert_array_equal(order, expected)


@given(edge_lists(), st.randoms())
def test_the_same_edges_in_any_order_give_the_same_arrays(case: tuple[np.ndarray, int], random: object) -> None:
    edges, num_nodes = case
    columns = list(range(edges.shape[1]))
    random.shuffle(columns)  # type: ignore[attr-defined]
    first = csc.build_csc(edges[0], edges[1], num_nodes)
    second = csc.build_csc(edges[0][columns], edges[1][columns], num_nodes)
    np.testing.assert_array_equal(first.indptr, second.indptr)
    np.testing.assert_array_equal(first.indices, second.indices)


@given(edge_lists())
def test_transposing_twice_changes_nothing(case: tuple[np.ndarray, int]) -> None:
    edges, num_nodes = case
    built = csc.build_csc(edges[0], edges[1], num_nodes)
    back = csc.transpose(*csc.transpose(built.indptr, built.indices))
    np.testing.assert_array_equal(back[0], built.indptr)
    np.testing.assert_array_equal(back[1], built.indices)


@given(edge_lists())
def test_symmetry_is_that_of_the_adjacency_matrix(case: tuple[np.ndarray, int]) -> None:
    edges, num_nodes = case
    matrix = np.zeros((num_nodes, num_nodes), int)
    np.add.at(matrix, (edges[0], edges[1]), 1)
    built = csc.build_csc(edges[0], edges[1], num_nodes)
    assert csc.is_symmetric(built.indptr, built.indices) == bool((matrix == matrix.T).all())


@given(edge_lists())
def test_both_directions_join_the_same_pairs_once(case: tuple[np.ndarray, int]) -> None:
    edges, num_nodes = case
    source, destination, edge = csc.both_directions(edges[0], edges[1], num_nodes)
    made = list(zip(source.tolist(), destination.tolist(), strict=True))
    joined = {tuple(pair) for pair in edges.T.tolist()}
    assert len(made) == len(set(made))
    assert set(made) == joined | {(v, u) for u, v in joined}
    pairs = [frozenset(pair) for pair in edges.T.tolist()]
    assert all(pairs.index(frozenset(pair)) == e for pair, e in zip(made, edge.tolist(), strict=True))
    assert csc.is_canonical(source, destination)


def test_edges_that_come_in_order_need_no_order_array() -> None:
    built = csc.build_csc(np.array([1, 2, 0]), np.array([0, 0, 1]), 3)
    assert built.order is None


def test_scratch_memory_is_bounded() -> None:
    num_edges = 1_000_000
    edges = generator(0).integers(0, 50_000, size=(2, num_edges))
    tracemalloc.start()
    try:
        csc.build_csc(edges[0], edges[1], 50_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40 * num_edges  # bytes: 8 for the result, 8 for ids of 4 bytes, the rest for the sort


@pytest.mark.parametrize(("largest", "expected"), [(2**31 - 1, np.int32), (2**31, np.int64)])
def test_ids_take_four_bytes_where_they_fit(largest: int, expected: type) -> None:
    assert csc.index_dtype(largest) is expected


def test_counting_order_is_stable() -> None:
    order, starts = csc.counting_order(np.array([2, 0, 2, 1, 0]), 4)
    assert order.tolist() == [1, 4, 3, 0, 2]
    assert starts.tolist() == [0, 2, 3, 5, 5]
