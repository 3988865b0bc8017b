"""FENNEL (Tsourakakis et al., WSDM 2014): one pass that weighs neighbours against the size of the part."""

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
from workbench.partition.streaming import FENNEL, stream_nodes

if TYPE_CHECKING:
    from workbench.graph import Graph


@PARTITIONERS.register("fennel")
@dataclass(frozen=True, slots=True, kw_only=True)
class Fennel(Partitioner):
    """One pass over the nodes: each joins most of its placed neighbours, minus a price for the size of the part."""

    gamma: float = param(1.5, help="how fast the price grows with the size", minimum=1.01, maximum=4.0)
    order: str = param("random", help="in which the stream brings the nodes", choices=STREAM_ORDERS)
    num_passes: int = param(1, help="passes; a later one places every node anew (ReFENNEL)", minimum=1)
    imbalance: float = param(
        0.1, help="how much larger than the mean a part may be (the paper's nu - 1)", minimum=0.0, maximum=MAX_IMBALANCE
    )
    rng_seed: int = param(0, help="seed of the order", minimum=0)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        starts, adjacent, _ = symmetric_topology(graph)
        order = stream_order(self.order, (starts, adjacent), self.rng_seed)
        capacity = float(math.ceil(graph.num_nodes * (1 + self.imbalance) / num_parts))
        num_pairs = len(adjacent) / 2
        alpha = num_pairs * num_parts ** (self.gamma - 1) / graph.num_nodes**self.gamma
        assignment = np.full(graph.num_nodes, -1, dtype=np.int32)
        arrays = (read_only(starts), read_only(adjacent), read_only(order))
        stream_nodes(*arrays, num_parts, capacity, FENNEL, alpha, self.gamma, self.num_passes, assignment)
        return assignment
