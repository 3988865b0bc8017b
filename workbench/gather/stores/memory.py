"""Features in the memory of this process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.gather.base import STORES, FeatureStore, Store
from workbench.gather.rows import RowStore, features_of, is_mapped, parts_of
from workbench.graph import Graph
from workbench.graph.sparse_rows import SparseRows


@STORES.register("memory")
@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryStore(Store):
    """Keeps all rows in memory: read from the graph's folder once; shared where the graph is in memory already."""

    def open(self, graph: Graph) -> FeatureStore:
        rows = features_of(graph)
        if not any(is_mapped(part) for part in parts_of(rows)):
            return RowStore(rows)
        if isinstance(rows, SparseRows):
            indptr, indices, values = (np.array(part) for part in parts_of(rows))
            return RowStore(SparseRows(indptr=indptr, indices=indices, values=values, num_columns=rows.num_columns))
        return RowStore(np.array(rows))
