"""Linear deterministic greedy (Stanton & Kliot 2012): in one pass every node to its neighbours if they have room."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.jit import read_only
from workbench.core.params import param
from workbench.graph.symmetric import symmetric_topology
from workbench.partition.base import MAX_IMBALANCE, PARTITIONERS, Partitioner
from workbench.partition.orders import STREAM_ORDERS, stream_order
from workbench.partition.streaming import LDG, stream_nodes

if TYPE_CHECKING:
    from workbench.graph import Graph


@PARTITIONERS.register("ldg")
@dataclass(frozen=True, slots=True, kw_only=True)
class LinearDeterministicGreedy(Partitioner):
    """One pass over the nodes: each joins most of its placed neighbours, less so the fuller the part (LDG)."""

    order: str = param("random", help="in which the stream brings the nodes", choices=STREAM_ORDERS)
    num_passes: int = param(1, help="passes; a later one places every node anew (ReLDG)", minimum=1)
    imbalance: float = param(
        0.0, help="how much larger than the mean a part may be", minimum=0.0, maximum=MAX_IMBALANCE
    )
    rng_seed: int = param(0, help="seed of the order", minimum=0)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        starts, adjacent, _ = symmetric_topology(graph)
        order = stream_order(self.order, (starts, adjacent), self.rng_seed)
        capacity = float(math.ceil(graph.num_nodes * (1 + self.imbalance) / num_parts))
        assignment = np.full(graph.num_nodes, -1, dtype=np.int32)
        arrays = (read_only(starts), read_only(adjacent), read_only(order))
        stream_nodes(*arrays, num_parts, capacity, LDG, 0.0, 1.0, self.num_passes, assignment)
        return assignment
