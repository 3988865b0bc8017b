"""Runs of consecutive node ids: free, and good where ids carry locality."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.partition.base import PARTITIONERS, Partitioner

if TYPE_CHECKING:
    from workbench.graph import Graph


@PARTITIONERS.register("contiguous")
@dataclass(frozen=True, slots=True, kw_only=True)
class Contiguous(Partitioner):
    """Consecutive node ids in blocks whose sizes differ by at most one."""

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        return contiguous_blocks(graph.num_nodes, num_parts)


def contiguous_blocks(num_nodes: int, num_parts: int) -> np.ndarray:
    """Return ``floor(v p / n)`` for each node v: int32 (n,)."""
    return (np.arange(num_nodes, dtype=np.int64) * num_parts // max(num_nodes, 1)).astype(np.int32)
