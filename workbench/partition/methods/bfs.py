"""Breadth-first blocks: nodes in the order of a breadth-first search, cut into equal runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.params import param
from workbench.graph.symmetric import symmetric_topology
from workbench.partition.base import PARTITIONERS, Partitioner
from workbench.partition.methods.contiguous import contiguous_blocks
from workbench.partition.orders import stream_order

if TYPE_CHECKING:
    from workbench.graph import Graph


@PARTITIONERS.register("bfs")
@dataclass(frozen=True, slots=True, kw_only=True)
class BreadthFirst(Partitioner):
    """Nodes breadth first from the rim of each component, cut into runs whose sizes differ by at most one."""

    rng_seed: int = param(0, help="another seed begins at another place", minimum=0)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        starts, adjacent, _ = symmetric_topology(graph)
        order = stream_order("bfs", (starts, adjacent), self.rng_seed)
        assignment = np.empty(graph.num_nodes, dtype=np.int32)
        assignment[order] = contiguous_blocks(graph.num_nodes, num_parts)
        return assignment
