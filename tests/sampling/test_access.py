"""Irregular access: counted by hand on small arrays, with known numbers on the Debian graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.graph import Graph, datasets
from workbench.sampling import access
from workbench.sampling.explosion_seeds import random_seeds


def test_degree_spread_by_hand() -> None:
    graph = Graph.from_edge_index(np.array([[0, 1, 2, 3], [9, 9, 9, 1]]), num_nodes=10)
    spread = access.degree_spread(graph)
    assert (spread.maximum, spread.hub_node, spread.num_isolated, spread.median) == (3, 9, 8, 0)
    assert spread.top_counts == (1, 1, 1)
    assert spread.top_edge_shares == (0.75, 0.75, 0.75)


def test_degree_spread_without_edges() -> None:
    spread = access.degree_spread(Graph.from_edge_index(np.zeros((2, 0), np.int64), num_nodes=3))
    assert spread.top_edge_shares == (0, 0, 0)
    assert spread.num_isolated == 3


def test_debian_degrees() -> None:
    spread = access.degree_spread(datasets.load("debian"))
    assert (spread.median, spread.p99, spread.maximum, spread.num_isolated) == (5, 79, 21_815, 1_799)
    assert spread.top_counts == (63, 634, 6_343)
    np.testing.assert_allclose(spread.top_edge_shares, [0.143731, 0.271552, 0.536212], atol=1e-6)


def test_runs_by_hand() -> None:
    assert access.num_runs([]) == 0
    assert access.num_runs([7, 3, 4, 5, 9]) == 3


@given(st.lists(st.integers(0, 60), unique=True), st.integers(1, 300))
def test_row_lines_equal_a_count_byte_by_byte(ids: list[int], bytes_a_row: int) -> None:
    touched = {byte // 64 for node in ids for byte in range(node * bytes_a_row, (node + 1) * bytes_a_row)}
    assert access.num_row_lines(ids, bytes_a_row) == len(touched)


def test_a_batch_of_everything_touches_every_line() -> None:
    graph = datasets.load("karate").with_data(x=np.zeros((34, 16), np.float32))
    found = access.batch_access(graph, np.arange(34), (-1,))
    assert found.num_edges == graph.num_edges == 156
    assert found.list_lines == -(-156 * graph.indices.dtype.itemsize // 64)
    assert found.row_lines == 34
    assert found.num_runs == found.num_runs_by_degree == 1


def test_imbalance_by_hand() -> None:
    assert access.imbalance(np.array([6, 2, 1, 3]), 2) == pytest.approx(8 / 6)
    assert access.imbalance(np.zeros(5), 4) == 1
    assert access.imbalance(np.zeros(0), 4) == 1


def test_debian_access() -> None:
    graph = datasets.load("debian")
    found = access.batch_access(graph, random_seeds(graph, 1024, batch=0), (15, 10, 5))
    assert found.list_lines == pytest.approx(25_706, rel=0.05)
    assert found.row_lines == 32 * found.num_nodes
    assert found.num_runs == pytest.approx(13_170, rel=0.05)
    assert found.num_runs_by_degree == pytest.approx(10_829, rel=0.05)
    load = access.load_imbalance(graph)
    assert (load.hop, load.fanout) == (2, 10)
    assert load.all_neighbors == pytest.approx(3.4, abs=1)
    assert load.sampled == pytest.approx(1.1, abs=0.1)


def test_imbalance_of_one_hop_and_of_a_graph_without_edges() -> None:
    graph = Graph.from_edge_index(np.zeros((2, 0), np.int64), num_nodes=3)
    load = access.load_imbalance(graph, fanouts=(5,), num_batches=1)
    assert (load.hop, load.all_neighbors, load.sampled) == (1, 1, 1)
