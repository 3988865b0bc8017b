"""A feature store over rows that this process can read: an array, a memory map, or sparse rows of either."""

from __future__ import annotations

from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.gather.base import FeatureStore, Ids, Rows
from workbench.graph import Graph
from workbench.graph.sparse_rows import SparseRows


@final
class RowStore(FeatureStore):
    """Reads rows of a dense array (n, f) or of :class:`SparseRows`.

    Parameters
    ----------
    rows : array or SparseRows
    """

    __slots__ = ("rows",)

    def __init__(self, rows: NDArray[Any] | SparseRows) -> None:
        self.rows = rows

    @property
    def num_rows(self) -> int:
        return int(self.rows.shape[0])

    @property
    def width(self) -> int:
        return int(self.rows.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.rows.dtype

    def gather(self, ids: Ids, out: Rows | None = None) -> Rows:
        self._check(ids, out)
        target = np.empty((len(ids), self.width), np.float32) if out is None else out
        if isinstance(self.rows, SparseRows):
            return self.rows.take(ids, out=target)
        if self.rows.dtype == np.float32:
            # The ids are checked: "clip" spares the copy by which "raise" would protect `target`.
            return np.take(self.rows, ids, axis=0, out=target, mode="clip")
        target[...] = self.rows[ids]
        return target

    def _check(self, ids: Ids, out: Rows | None) -> None:
        findings = Findings("gather")
        if len(ids) and (ids.min() < 0 or ids.max() >= self.num_rows):
            got, fix = f"{ids.min()} to {ids.max()}", "use the store of the graph that the ids belong to"
            findings.add("ids", f"ids from 0 to {self.num_rows - 1}", got, fix)
        shape = (len(ids), self.width)
        if out is not None and (out.shape != shape or out.dtype != np.float32):
            findings.add("out", f"float32 {shape}", f"{out.dtype} {out.shape}", f"pass numpy.empty({shape}, 'float32')")
        findings.raise_if_any()


def features_of(graph: Graph) -> NDArray[Any] | SparseRows:
    """Return the graph's ``x``, or rows of no feature where it has none."""
    return np.empty((graph.num_nodes, 0), np.float32) if graph.x is None else graph.x


def parts_of(rows: NDArray[Any] | SparseRows) -> tuple[NDArray[Any], ...]:
    """Return the arrays that hold the rows."""
    return (rows.indptr, rows.indices, rows.values) if isinstance(rows, SparseRows) else (rows,)


def is_mapped(array: NDArray[Any]) -> bool:
    """Say whether an array is a view of a memory-mapped file."""
    owner: Any = array
    while owner is not None:
        if isinstance(owner, np.memmap):
            return True
        owner = getattr(owner, "base", None)
    return False
