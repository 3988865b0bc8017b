"""The graph itself: contents, immutability, size, fingerprint, changes."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.graph import Graph, SparseRows
from workbench.testing.graphs import NAMED, path


def test_in_edges_lie_by_destination() -> None:
    graph = Graph.from_edge_index([[3, 1, 2, 0], [0, 0, 1, 3]])
    assert graph.indptr.tolist() == [0, 2, 3, 3, 4]
    assert graph.indices.tolist() == [1, 3, 2, 0]
    assert graph.edge_index().tolist() == [[1, 3, 2, 0], [0, 0, 1, 3]]
    assert graph.in_degrees().tolist() == [2, 1, 0, 1]
    assert graph.out_degrees().tolist() == [1, 1, 1, 1]


def test_topology_takes_four_bytes_an_edge_and_eight_a_node() -> None:
    graph = NAMED["random"]()
    assert graph.indptr.nbytes + graph.indices.nbytes <= 4 * graph.num_edges + 8 * (graph.num_nodes + 1)


def test_edge_data_follow_their_edges() -> None:
    edges = np.array([[2, 0, 1, 0], [0, 2, 0, 1]])
    graph = Graph.from_edge_index(edges, edge_data={"weight": edges[0] * 10 + edges[1]})
    made = graph.edge_index()
    np.testing.assert_array_equal(graph.edge_data["weight"], made[0] * 10 + made[1])


@pytest.mark.parametrize("name", NAMED)
def test_arrays_are_read_only(name: str) -> None:
    graph = NAMED[name]()
    arrays = [graph.indptr, graph.indices, *graph.node_data.values(), *graph.edge_data.values()]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        graph.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        graph.node_data["x"] = None  # type: ignore[index]


def test_the_callers_edges_may_change_afterwards() -> None:
    edges = np.array([[0, 1], [1, 2]], np.int32)
    graph = Graph.from_edge_index(edges)
    edges[:] = 0
    assert graph.edge_index().tolist() == [[0, 1], [1, 2]]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=40), st.randoms())
def test_equal_topologies_have_equal_fingerprints(pairs: list[tuple[int, int]], random: object) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first = Graph.from_edge_index(np.array(pairs).T, 10)
    second = Graph.from_edge_index(np.array(shuffled, np.int32).T, 10, x=np.ones((10, 2)))
    assert first.fingerprint == second.fingerprint
    assert first.fingerprint != Graph.from_edge_index(np.array(pairs).T, 11).fingerprint
    assert first.fingerprint != Graph.from_edge_index(np.array([*pairs, pairs[0]]).T, 10).fingerprint


def test_splits_are_sorted_ids_and_empty_where_absent() -> None:
    graph = Graph.from_edge_index([[0], [1]], 4, train_nodes=[2, 0], val_mask=[False, True, False, False])
    assert graph.train_nodes.tolist() == [0, 2]
    assert graph.val_nodes.tolist() == [1]
    assert graph.test_nodes.tolist() == []
    assert {graph.train_nodes.dtype, graph.val_nodes.dtype, graph.test_nodes.dtype} == {np.dtype(np.int64)}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"y": [0, 2, -1]}, 3),
        ({"y": [0, 2, -1], "num_classes": 7}, 7),
        ({"y": [0, 1, 1], "class_names": ["a", "b", "c", "d"]}, 4),
        ({"y": np.zeros((3, 5))}, 5),
        ({"y": [-1, -1, -1]}, 0),
        ({}, 0),
    ],
)
def test_number_of_classes(data: dict[str, object], expected: int) -> None:
    assert Graph.from_edge_index([[0], [1]], 3, **data).num_classes == expected  # type: ignore[arg-type]


def test_the_number_of_nodes_comes_from_the_features_where_it_is_not_given() -> None:
    assert Graph.from_edge_index([[0], [1]], x=np.ones((9, 1))).num_nodes == 9
    assert Graph.from_edge_index([[0], [1]], y=np.zeros(5, int)).num_nodes == 5
    assert Graph.from_edge_index([[0], [3]]).num_nodes == 4
    assert Graph.from_edge_index(np.zeros((2, 0))).num_nodes == 0


def test_nodes_after_the_last_edge_are_isolated() -> None:
    graph = Graph.from_edge_index([[0], [1]], 100)
    assert graph.num_nodes == 100
    assert graph.in_degrees()[2:].sum() == 0


def test_with_data_replaces_adds_and_removes_on_the_same_topology() -> None:
    graph = path(5)
    changed = graph.with_data(x=np.zeros((5, 2)), test_nodes=None, node_data={"age": np.arange(5)}, name="aged")
    assert changed.num_features == 2
    assert changed.test_nodes.tolist() == []
    assert changed.node_data["age"].tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(changed.train_nodes, graph.train_nodes)
    assert changed.name == "aged"
    assert changed.fingerprint == graph.fingerprint
    assert changed.indices is graph.indices
    assert graph.num_features == 4
    assert "age" not in graph.node_data
    assert "age" not in changed.with_data(node_data={"age": None}).node_data


def test_with_data_checks_like_a_constructor() -> None:
    with pytest.raises(InputError) as caught:
        path(5).with_data(x=np.zeros((4, 2)), y=[0, 0, 0, 0, 9], train_nodes=[9])
    assert {finding.where for finding in caught.value.findings} == {"x", "y", "train_nodes"}


def test_with_data_takes_edge_columns_in_the_order_of_edge_ids() -> None:
    graph = Graph.from_edge_index([[2, 0], [0, 1]]).with_data(edge_data={"source": np.array([2, 0])})
    np.testing.assert_array_equal(graph.edge_data["source"], graph.indices)


def test_to_undirected_adds_every_missing_reverse_and_keeps_edge_data() -> None:
    graph = Graph.from_edge_index([[0, 1, 2, 2], [1, 0, 1, 2]], edge_data={"type": [5, 6, 7, 8]})
    both = graph.to_undirected()
    assert both.edge_index().tolist() == [[1, 0, 2, 1, 2], [0, 1, 1, 2, 2]]
    assert both.edge_data["type"].tolist() == [6, 6, 7, 7, 8]
    assert both.is_symmetric()
    assert both.to_undirected().fingerprint == both.fingerprint


def test_node_names_are_text() -> None:
    graph = Graph.from_edge_index([[0], [1]], 3, node_names=["libc6", "größe", ""])
    assert graph.node_names is not None
    assert graph.node_names.tolist() == ["libc6", "größe", ""]
    assert int(np.flatnonzero(graph.node_names == "größe")[0]) == 1
    assert graph.node_names[np.array([2, 0])].tolist() == ["", "libc6"]


@pytest.mark.parametrize("name", NAMED)
def test_a_graph_survives_pickling(name: str) -> None:
    graph = NAMED[name]()
    copy = pickle.loads(pickle.dumps(graph))
    assert copy.fingerprint == graph.fingerprint
    assert dict(copy.meta) == dict(graph.meta)
    assert set(copy.node_data) == set(graph.node_data)
    assert all(not column.flags.writeable for column in copy.node_data.values())


def test_features_may_be_sparse() -> None:
    rows = SparseRows(indptr=np.array([0, 1, 1]), indices=np.array([2]), values=np.array([3.0]), num_columns=4)
    graph = Graph.from_edge_index([[0], [1]], x=rows)
    assert graph.num_nodes == 2
    assert graph.num_features == 4
    assert graph.x[np.array([1, 0])].tolist() == [[0, 0, 0, 0], [0, 0, 3, 0]]


def test_building_a_graph_does_not_load_torch() -> None:
    code = (
        "import sys; from workbench.graph import Graph;"
        "Graph.from_edge_index([[0], [1]], x=[[1.], [2.]]).stats();"
        "sys.exit(any(name in sys.modules for name in ('torch', 'dask', 'pandas', 'networkx')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0
