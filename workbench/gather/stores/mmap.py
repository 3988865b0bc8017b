"""Features on disk, mapped: the operating system keeps in memory what is read often."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.gather.base import STORES, FeatureStore, Store
from workbench.gather.rows import RowStore, features_of, is_mapped, parts_of
from workbench.graph import Graph


@STORES.register("mmap")
@dataclass(frozen=True, slots=True, kw_only=True)
class MmapStore(Store):
    """Reads rows from the graph's memory-mapped folder, so that features may be larger than memory."""

    def open(self, graph: Graph) -> FeatureStore:
        rows = features_of(graph)
        if graph.x is not None and not any(is_mapped(part) for part in parts_of(rows)):
            rows = features_of(Graph.open(graph.store()))
        return RowStore(rows)
