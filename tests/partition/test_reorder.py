from __future__ import annotations

import numpy as np
import pytest

from tests.partition.conftest import from_pairs, random_out_graph
from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.partition import partition, reorder
from workbench.sampling.access import batch_access, num_row_lines

BYTES_A_ROW = 64


@pytest.fixture
def graph() -> Graph:
    bare = random_out_graph(50, 3)
    rng = np.random.default_rng(0)
    return bare.with_data(
        x=rng.random((50, 4), dtype=np.float32),
        y=rng.integers(0, 3, 50),
        train_nodes=np.arange(0, 50, 4),
        node_names=[f"n{i}" for i in range(50)],
        edge_data={"weight": rng.random(bare.num_edges)},
    )


@pytest.mark.parametrize("by", ["rcm", "bfs", "degree", "partition"])
def test_everything_moves_with_its_node(graph: Graph, by: str) -> None:
    moved = reorder(graph, partition(graph, 4, "ldg") if by == "partition" else by)
    old = moved.node_data["original_node"]
    assert np.array_equal(np.sort(old), np.arange(50))
    weights = {(int(u), int(v)): w for (u, v), w in zip(graph.edge_index().T, graph.edge_data["weight"], strict=True)}
    for (u, v), w in zip(moved.edge_index().T, moved.edge_data["weight"], strict=True):
        assert (int(old[u]), int(old[v])) in weights
        weights.setdefault((int(old[u]), int(old[v])), w)
    assert np.array_equal(np.sort(moved.edge_data["weight"]), np.sort(graph.edge_data["weight"]))
    assert np.array_equal(moved.x, graph.x[old])
    assert np.array_equal(moved.y, graph.y[old])
    assert set(old[moved.train_nodes]) == set(graph.train_nodes)
    assert np.all(np.diff(moved.train_nodes) > 0)
    assert list(moved.node_names) == [f"n{i}" for i in old]


def test_edges_keep_their_original_place(graph: Graph) -> None:
    moved = reorder(graph, "bfs")
    assert moved.edge_order is not None
    first = np.arange(graph.num_edges) if graph.edge_order is None else np.asarray(graph.edge_order)
    by_place = dict(zip(first.tolist(), graph.edge_index().T.tolist(), strict=True))
    old = moved.node_data["original_node"]
    for place, (u, v) in zip(moved.edge_order.tolist(), moved.edge_index().T.tolist(), strict=True):
        assert by_place[place] == [old[u], old[v]]


def test_twice_still_names_the_first_ids(graph: Graph) -> None:
    twice = reorder(reorder(graph, "rcm"), "degree")
    assert np.array_equal(twice.x, graph.x[twice.node_data["original_node"]])


def test_parts_become_runs_of_ids(cora: Graph) -> None:
    made = partition(cora, 5, "metis")
    moved = reorder(cora, made)
    assert np.all(np.diff(made.assignment[moved.node_data["original_node"]]) >= 0)


@pytest.mark.parametrize("by", ["rcm", "bfs", "partition"])
def test_neighbours_share_cache_lines_afterwards(pubmed: Graph, by: str) -> None:
    shuffled = np.random.default_rng(0).permutation(pubmed.num_nodes)
    source, destination = pubmed.edge_index()
    graph = Graph.from_edge_index(np.stack([shuffled[source], shuffled[destination]]), pubmed.num_nodes)
    moved = reorder(graph, partition(graph, 64, "metis") if by == "partition" else by)
    before = _lines_a_neighbourhood(graph)
    assert _lines_a_neighbourhood(moved) < 0.92 * before
    new = np.argsort(moved.node_data["original_node"])
    seeds = np.arange(200)
    assert batch_access(moved, new[seeds], (10, 5)).num_runs < batch_access(graph, seeds, (10, 5)).num_runs


def _lines_a_neighbourhood(graph: Graph) -> int:
    """Cache lines of 16-byte rows that the nodes' neighbourhoods touch, summed up."""
    lists = np.split(graph.indices, graph.indptr[1:-1])
    return sum(num_row_lines(np.unique(ids), BYTES_A_ROW // 4) for ids in lists)


def test_what_is_no_order_is_refused(graph: Graph) -> None:
    with pytest.raises(InputError, match="'rcm'"):
        reorder(graph, "rcn")
    with pytest.raises(InputError, match="a partition of this graph"):
        reorder(graph, partition(from_pairs([(0, 1)], 50), 2, "hash"))
    with pytest.raises(InputError, match="gives every edge an owner"):
        reorder(graph, partition(graph, 2, "hdrf"))
