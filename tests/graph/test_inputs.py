"""What a person may hand in, and what is told where it is wrong: where, expected, got, fix, all at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from workbench.core.errors import Finding, InputError
from workbench.graph import Graph, SparseRows

EDGES = np.array([[0, 1, 2], [1, 2, 3]])


def findings_of(edge_index: Any = EDGES, num_nodes: int | None = 4, **data: Any) -> dict[str, Finding]:
    with pytest.raises(InputError) as caught:
        Graph.from_edge_index(edge_index, num_nodes, **data)
    for finding in caught.value.findings:
        assert finding.expected
        assert finding.got
        assert finding.fix
    return {finding.where: finding for finding in caught.value.findings}


@pytest.mark.parametrize(
    ("edge_index", "got", "fix"),
    [
        ([[0, -3], [1, 2]], "first -3 at edge_index[0, 1]", "drop"),
        ([[0, 1], [1, 4]], "first 4 at edge_index[1, 1]", "num_nodes=5"),
        (EDGES.astype(float), "float64", "astype(np.int64)"),
        (EDGES + 0.5, "0.5", "whole numbers"),
        (np.array([[0, np.nan], [1, 1]]), "nan", "whole numbers"),
        (EDGES.T, "shape (3, 2)", "edge_index.T"),
        (np.arange(4), "shape (4,)", "one row of sources"),
        ([[0, 1, 2], [1]], "shape (2,)", "one row of sources"),
        (EDGES > 1, "bool", "whole numbers"),
        (np.zeros((3, 4), int), "shape (3, 4)", "one row of sources"),
    ],
)
def test_edges(edge_index: Any, got: str, fix: str) -> None:
    finding = findings_of(edge_index)["edge_index"]
    assert got in finding.got
    assert fix in finding.fix


@pytest.mark.parametrize("num_nodes", [-1, 2.5, True, "4"])
def test_number_of_nodes(num_nodes: Any) -> None:
    assert repr(num_nodes) in findings_of(num_nodes=num_nodes)["num_nodes"].got


@pytest.mark.parametrize(
    ("x", "got"),
    [
        (
            np.array([[1, 2], [3, np.nan], [np.nan, 1], [1, 1]]),
            "2 values that are NaN or infinite, first nan at row 1, column 1",
        ),
        (
            np.array([[1, 2], [3, 4], [5, -np.inf], [1, 1]]),
            "1 value that is NaN or infinite, first -inf at row 2, column 1",
        ),
        (np.full((4, 1), 1e300), "first inf at row 0, column 0"),
        (np.ones((5, 2)), "5 rows"),
        (np.ones(4), "shape (4,)"),
        (np.ones((4, 2, 2)), "shape (4, 2, 2)"),
        (np.array([["a"], ["b"], ["c"], ["d"]]), "<U1"),
        (sparse.csr_array(np.array([[0, 1], [0, 0], [np.nan, 0], [0, 0]])), "first nan at row 2, column 0"),
    ],
)
def test_features(x: Any, got: str) -> None:
    assert got in findings_of(x=x)["x"].got


@pytest.mark.parametrize(
    ("y", "num_classes", "got"),
    [
        ([0, 1, 2, 3], 3, "first 3 at y[3]"),
        ([0, -2, 0, 0], None, "first -2 at y[1]"),
        ([0, 1, 10**9, 1], None, "first 1000000000 at y[2]"),
        ([0.0, 1.0, 0.0, 1.0], None, "float64"),
        (["a", "b", "a", "b"], None, "<U1"),
        ([0, 1, 0], None, "3"),
        (np.zeros((4, 1, 1)), None, "shape (4, 1, 1)"),
        (np.array([[0.0], [1], [np.inf], [1]]), None, "first at row 2, column 0"),
        (np.array([0.5, 1, 1e300, 1]), None, "first at row 2, column 0"),
        ([0.0, 1.0, np.nan, 1.0], None, "float64"),
    ],
)
def test_labels(y: Any, num_classes: int | None, got: str) -> None:
    assert got in findings_of(y=y, num_classes=num_classes)["y"].got


def test_numbers_that_are_no_classes_are_a_column_of_targets_and_nan_is_unknown() -> None:
    y = Graph.from_edge_index([[0, 1], [1, 2]], 3, y=[0.5, np.nan, 2.0]).y
    assert (y.dtype, y.shape) == (np.float32, (3, 1))
    assert np.array_equal(y[:, 0], np.array([0.5, np.nan, 2.0], np.float32), equal_nan=True)
    assert Graph.from_edge_index([[0], [1]], 2, y=np.array([[True, False], [False, True]])).num_classes == 2


@pytest.mark.parametrize(
    ("split", "got"),
    [
        ([0, 4], "first 4 at train_nodes[1]"),
        ([-1], "first -1"),
        ([0, 0, 1], "1 repeated"),
        ([0.0, 1.0], "float64"),
        (np.array([True, False]), "2"),
        (np.ones((4, 3), bool), "shape (4, 3)"),
        ([], "none"),
        (np.zeros(4, bool), "none"),
    ],
)
def test_training_nodes(split: Any, got: str) -> None:
    assert got in findings_of(train_nodes=split)["train_nodes"].got


def test_splits_that_overlap_name_both_and_the_nodes() -> None:
    found = findings_of(train_nodes=[0, 1], val_nodes=[1, 2], test_nodes=[2, 3, 0])
    assert set(found) == {"train_nodes, val_nodes", "train_nodes, test_nodes", "val_nodes, test_nodes"}
    assert found["train_nodes, val_nodes"].got == "1 node in both: 1"


def test_training_nodes_need_a_label() -> None:
    assert "first node 2" in findings_of(y=[0, 1, -1, 0], train_nodes=[0, 2])["train_nodes"].got


def test_further_columns_and_keywords() -> None:
    found = findings_of(
        node_data={"age": np.ones(3), "x": np.ones((4, 1))},
        edge_data={"weight": [1.0, np.nan, 2.0], "type": [1, 2]},
        node_names=["a"],
        class_names=["a", "b"],
        num_classes=3,
        train_nodes=[0],
        train_mask=np.ones(4, bool),
        meta={"array": np.ones(2)},
        colour="red",
    )
    assert set(found) == {
        "node_data['age']",
        "node_data['x']",
        "edge_data['weight']",
        "edge_data['type']",
        "node_names",
        "class_names",
        "train_nodes, train_mask",
        "meta",
        "colour",
    }


def test_all_findings_come_in_one_error() -> None:
    found = findings_of(
        np.array([[0, -1], [1, 9]]).T + np.array([[0, 0], [0, 0]]),
        x=np.array([[0.0], [np.nan], [0], [0]]),
        y=[0, 1, 5, 0],
        num_classes=2,
        train_nodes=[],
        val_nodes=[1],
        test_nodes=[1],
    )
    assert set(found) == {"edge_index", "x", "y", "train_nodes", "val_nodes, test_nodes"}


def test_float_edges_without_a_number_of_nodes_cause_no_false_findings() -> None:
    assert set(findings_of(EDGES.astype(float), None, train_nodes=[2])) == {"edge_index"}


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32, np.uint64])
def test_ids_of_any_integer_type(dtype: type) -> None:
    assert Graph.from_edge_index(EDGES.astype(dtype)).edge_index().tolist() == EDGES.tolist()


def test_arrays_that_are_read_only_or_not_contiguous() -> None:
    wide = np.zeros((4, 6), np.int64)
    wide[::2, ::2] = EDGES
    edges = wide[::2, ::2]
    x = np.asfortranarray(np.arange(8, dtype=np.float32).reshape(4, 2))
    y = np.arange(8)[::2] // 2
    for array in (edges, x, y):
        array.flags.writeable = False
    graph = Graph.from_edge_index(edges, x=x, y=y, train_nodes=y[::2], edge_data={"weight": np.arange(6.0)[::2]})
    assert graph.edge_index().tolist() == EDGES.tolist()
    assert graph.x.tolist() == x.tolist()
    assert graph.y is not None
    assert graph.y.tolist() == [0, 1, 2, 3]
    assert graph.train_nodes.tolist() == [0, 2]


def test_tensors_are_taken_as_they_are() -> None:
    graph = Graph.from_edge_index(
        torch.from_numpy(EDGES),
        x=torch.ones(4, 3, requires_grad=True),
        y=torch.tensor([[0], [1], [0], [1]]),
        train_mask=torch.tensor([True, False, False, True]),
        edge_data={"weight": torch.ones(3)},
    )
    assert graph.x.dtype == np.float32
    assert graph.y is not None
    assert graph.y.tolist() == [0, 1, 0, 1]
    assert graph.train_nodes.tolist() == [0, 3]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
@pytest.mark.parametrize("layout", ["dense", "coo", "csr"])
def test_half_precision_and_sparse_tensors(layout: str) -> None:
    dense = torch.eye(4, dtype=torch.bfloat16 if layout == "dense" else torch.float64)
    x = {"dense": lambda: dense, "coo": dense.to_sparse, "csr": dense.to_sparse_csr}[layout]()
    graph = Graph.from_edge_index(EDGES, x=x)
    assert isinstance(graph.x, np.ndarray if layout == "dense" else SparseRows)
    np.testing.assert_array_equal(np.asarray(graph.x), np.eye(4))


def test_mapped_features_stay_mapped(tmp_path: Any) -> None:
    np.save(tmp_path / "x.npy", np.ones((4, 3), np.float32))
    graph = Graph.from_edge_index(EDGES, x=np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert isinstance(graph.x, np.memmap)


@given(st.integers(0, 6), st.integers(1, 5))
def test_the_first_bad_feature_is_named(row: int, column: int) -> None:
    x = np.zeros((7, 6))
    x[row, column] = np.inf
    x[6, 5] = np.nan
    finding = findings_of(num_nodes=7, x=x)["x"]
    assert f"at row {row}, column {column}" in finding.got
