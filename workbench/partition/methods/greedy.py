"""PowerGraph's greedy vertex-cut (Gonzalez et al., OSDI 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from workbench.core.params import param
from workbench.partition.base import MAX_IMBALANCE, PARTITIONERS, Partitioner
from workbench.partition.edge_stream import GREEDY, stream_edges

if TYPE_CHECKING:
    from workbench.graph import Graph

TIES = 0.5  # below 1: balance decides among parts that are equal else


@PARTITIONERS.register("greedy")
@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy(Partitioner):
    """Vertex-cut by one pass over the edges: each goes to a part that both its ends are in, or one of them (greedy)."""

    divides: ClassVar[Literal["nodes", "edges"]] = "edges"

    imbalance: float = param(
        0.05, help="how many more edges than the mean a part may have", minimum=0.0, maximum=MAX_IMBALANCE
    )
    rng_seed: int = param(0, help="seed of the stream's order", minimum=0)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        return stream_edges(
            graph, num_parts, score=GREEDY, balance_weight=TIES, imbalance=self.imbalance, rng_seed=self.rng_seed
        )
