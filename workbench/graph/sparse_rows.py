"""Features that are mostly zero: compressed rows that behave like a dense float32 matrix when rows are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Array = NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SparseRows:
    """A sparse (n, f) matrix of which dense float32 rows are read: ``rows[ids]``.

    Parameters
    ----------
    indptr : array (n + 1)
        Row starts.
    indices : array
        Columns of the entries; each at most once a row.
    values : array
        Values of the entries, of any numeric type.
    num_columns : int
    """

    indptr: Array
    indices: Array
    values: Array
    num_columns: int

    @classmethod
    def from_scipy(cls, matrix: Any) -> SparseRows:
        """Take over a SciPy sparse matrix; duplicate entries are added up."""
        rows = matrix.tocsr().copy()
        rows.sum_duplicates()
        values = rows.data.astype(np.float32, copy=False)
        return cls(indptr=rows.indptr, indices=rows.indices, values=values, num_columns=rows.shape[1])

    @classmethod
    def from_torch(cls, tensor: Any) -> SparseRows:
        """Take over a sparse torch tensor of any layout."""
        entries = tensor.detach().cpu().to_sparse_coo().coalesce()
        places = tuple(entries.indices().numpy())
        return cls.from_scipy(sparse.coo_array((entries.values().numpy(), places), shape=tuple(entries.shape)))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.num_columns

    @property
    def ndim(self) -> int:
        return 2

    @property
    def dtype(self) -> np.dtype[np.float32]:
        """The type of the rows that are read, whatever the values are stored as."""
        return np.dtype(np.float32)

    @property
    def nbytes(self) -> int:
        """Bytes that are held, not those of the dense matrix."""
        return int(self.indptr.nbytes + self.indices.nbytes + self.values.nbytes)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, ids: Any) -> NDArray[np.float32]:
        """Return dense rows for an array of ids, a mask, a slice, or one id."""
        if isinstance(ids, (int, np.integer)):
            row: NDArray[np.float32] = self.take(np.array([ids]))[0]
            return row
        if isinstance(ids, slice):
            return self.take(np.arange(*ids.indices(len(self))))
        chosen = np.asarray(ids)
        return self.take(np.flatnonzero(chosen) if chosen.dtype == bool else chosen)

    def take(self, ids: Array, out: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Write the dense rows of `ids` into `out` (k, f), or into a new array, and return it."""
        ids = np.asarray(ids).astype(np.int64, copy=False)
        if len(ids) and (ids.min() < -len(self) or ids.max() >= len(self)):
            raise IndexError(f"row ids must be below {len(self)}; got {ids.min()} to {ids.max()}")
        ids = np.where(ids < 0, ids + len(self), ids)
        starts = self.indptr[ids].astype(np.int64)
        sizes = self.indptr[ids + 1].astype(np.int64) - starts
        ends = np.cumsum(sizes)
        total = int(ends[-1]) if len(ends) else 0
        entries = np.arange(total) + np.repeat(starts - (ends - sizes), sizes)
        rows = np.repeat(np.arange(len(ids)), sizes)
        if out is None:
            out = np.zeros((len(ids), self.num_columns), np.float32)
        else:
            out[...] = 0
        out[rows, self.indices[entries]] = self.values[entries]
        return out

    def to_scipy(self) -> Any:
        """Return the matrix as SciPy's ``csr_array`` (float32)."""
        parts = (self.values.astype(np.float32), self.indices.astype(np.int32), self.indptr)
        return sparse.csr_array(parts, shape=self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        dense: Array = self.to_scipy().toarray()
        return dense if dtype is None else dense.astype(dtype)

    def __repr__(self) -> str:
        rows, columns = self.shape
        share = len(self.indices) / max(1, rows * columns)
        return f"SparseRows({rows:,} x {columns:,}, {len(self.indices):,} entries, {share:.2%})"
