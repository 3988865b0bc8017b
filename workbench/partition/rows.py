"""Data of a graph for some of its nodes, in another order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.sparse_rows import SparseRows

if TYPE_CHECKING:
    from workbench.graph import Graph

SPLITS = ("train_nodes", "val_nodes", "test_nodes")


def take_rows(column: Any, ids: np.ndarray) -> Any:
    """Return the rows `ids` of a column: an array, or sparse rows that stay sparse."""
    if not isinstance(column, SparseRows):
        return np.ascontiguousarray(column[ids])
    sizes = np.diff(column.indptr)[ids].astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    entries = np.arange(indptr[-1]) + np.repeat(column.indptr[ids].astype(np.int64) - indptr[:-1], sizes)
    return SparseRows(
        indptr=indptr,
        indices=column.indices[entries],
        values=column.values[entries],
        num_columns=column.num_columns,
    )


def take_node_data(graph: Graph, ids: np.ndarray, local_of: np.ndarray) -> dict[str, Any]:
    """Return the node columns for `ids`; splits keep the nodes that ``local_of`` (n,) numbers from 0 up, not -1."""
    columns = {}
    for name, column in graph.node_data.items():
        if name in SPLITS:
            local = local_of[column]
            columns[name] = np.sort(local[local >= 0]).astype(np.int64)
        else:
            columns[name] = take_rows(column, ids)
    return columns
