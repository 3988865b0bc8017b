"""Label propagation with limits on the parts (as in PuLP, Slota et al. 2014, and Meyerhenke et al. 2014)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.jit import read_only
from workbench.core.params import param
from workbench.graph.symmetric import symmetric_topology
from workbench.partition.base import MAX_IMBALANCE, PARTITIONERS, Partitioner
from workbench.partition.methods.contiguous import contiguous_blocks
from workbench.partition.orders import STREAM_ORDERS, stream_order
from workbench.partition.propagation import propagate

if TYPE_CHECKING:
    from workbench.graph import Graph


@PARTITIONERS.register("label_propagation")
@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPropagation(Partitioner):
    """From equal blocks on, every node joins most of its neighbours, round after round, while their part has room."""

    start: str = param("bfs", help="order that is cut into the blocks to start from", choices=STREAM_ORDERS)
    num_rounds: int = param(20, help="rounds at most; it ends when no node moves", minimum=1)
    imbalance: float = param(
        0.1, help="how much larger than the mean a part may be", minimum=0.0, maximum=MAX_IMBALANCE
    )
    rng_seed: int = param(0, help="seed of the orders", minimum=0)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        starts, adjacent, weights = symmetric_topology(graph)
        blocks = stream_order(self.start, (starts, adjacent), self.rng_seed)
        assignment = np.empty(graph.num_nodes, dtype=np.int32)
        assignment[blocks] = contiguous_blocks(graph.num_nodes, num_parts)
        capacity = math.ceil(graph.num_nodes * (1 + self.imbalance) / num_parts)
        order = stream_order("random", (starts, adjacent), self.rng_seed)
        weights = np.empty(0, dtype=np.int32) if weights is None else weights
        arrays = (read_only(starts), read_only(adjacent), read_only(weights), read_only(order))
        propagate(*arrays, capacity, self.num_rounds, num_parts, assignment)
        return assignment
