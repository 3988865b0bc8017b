"""High-degree replicated first (Petroni et al., CIKM 2015): a stream of edges that replicates hubs before others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from workbench.core.params import param
from workbench.partition.base import MAX_IMBALANCE, PARTITIONERS, Partitioner
from workbench.partition.edge_stream import HDRF, stream_edges

if TYPE_CHECKING:
    from workbench.graph import Graph


@PARTITIONERS.register("hdrf")
@dataclass(frozen=True, slots=True, kw_only=True)
class HighDegreeReplicatedFirst(Partitioner):
    """Vertex-cut by one pass over the edges: each goes where its ends are; of the two the hub is replicated (HDRF)."""

    divides: ClassVar[Literal["nodes", "edges"]] = "edges"

    balance_weight: float = param(1.1, help="weight of balance in the score (the paper's lambda)", minimum=0.0)
    imbalance: float = param(
        0.05, help="how many more edges than the mean a part may have", minimum=0.0, maximum=MAX_IMBALANCE
    )
    rng_seed: int = param(0, help="seed of the stream's order", minimum=0)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        return stream_edges(
            graph,
            num_parts,
            score=HDRF,
            balance_weight=self.balance_weight,
            imbalance=self.imbalance,
            rng_seed=self.rng_seed,
        )
