"""Sparse rows read like a dense matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from workbench.graph import SparseRows

MATRICES = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.sampled_from([0, 0, 0, 1, 2.5, -3]),
)


@given(MATRICES, st.data())
def test_rows_equal_those_of_the_dense_matrix(dense: np.ndarray, data: st.DataObject) -> None:
    rows = SparseRows.from_scipy(sparse.csr_array(dense))
    ids = np.array(data.draw(st.lists(st.integers(-len(dense), len(dense) - 1))), np.int64)
    np.testing.assert_array_equal(rows[ids], dense[ids])
    np.testing.assert_array_equal(np.asarray(rows), dense)
    mask = np.arange(len(dense)) % 2 == 0
    np.testing.assert_array_equal(rows[mask], dense[mask])
    np.testing.assert_array_equal(rows[1:], dense[1:])
    np.testing.assert_array_equal(rows[::-2], dense[::-2])
    np.testing.assert_array_equal(rows[-1], dense[-1])
    assert rows.shape == dense.shape
    assert len(rows) == len(dense)


@pytest.mark.parametrize("dtype", [np.uint8, np.float64, np.int16])
def test_values_of_any_type_are_read_as_float32(dtype: Any) -> None:
    rows = SparseRows(
        indptr=np.array([0, 1, 3], np.int32),
        indices=np.array([1, 0, 2], np.uint16),
        values=np.array([1, 2, 3], dtype),
        num_columns=3,
    )
    assert rows.dtype == np.float32
    assert rows[np.array([1, 0])].dtype == np.float32
    assert rows[np.array([1, 0])].tolist() == [[2, 0, 3], [0, 1, 0]]
    assert rows.nbytes == 12 + 6 + 3 * np.dtype(dtype).itemsize


def test_rows_are_written_into_a_given_array() -> None:
    rows = SparseRows.from_scipy(sparse.eye_array(4))
    out = np.full((2, 4), 9, np.float32)
    assert rows.take(np.array([3, 0]), out) is out
    assert out.tolist() == [[0, 0, 0, 1], [1, 0, 0, 0]]


@pytest.mark.parametrize("ids", [[4], [-5], [0, 99]])
def test_ids_out_of_range(ids: list[int]) -> None:
    with pytest.raises(IndexError, match="below 4"):
        SparseRows.from_scipy(sparse.eye_array(4))[np.array(ids)]


def test_duplicate_entries_are_added_up() -> None:
    matrix = sparse.coo_array((np.array([1.0, 2.0]), (np.array([0, 0]), np.array([1, 1]))), shape=(1, 2))
    assert SparseRows.from_scipy(matrix)[0].tolist() == [0, 3]


def test_text() -> None:
    assert repr(SparseRows.from_scipy(sparse.eye_array(4))) == "SparseRows(4 x 4, 4 entries, 25.00%)"
