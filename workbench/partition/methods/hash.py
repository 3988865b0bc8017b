"""Parts by a hash of the node id: what systems do that cannot keep a table of owners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.params import param
from workbench.partition.base import PARTITIONERS, Partitioner
from workbench.partition.node_hash import hash_ids

if TYPE_CHECKING:
    from workbench.graph import Graph


@PARTITIONERS.register("hash")
@dataclass(frozen=True, slots=True, kw_only=True)
class Hash(Partitioner):
    """SplitMix64 of the node id, modulo the number of parts: the owner of a node follows from its id alone."""

    rng_seed: int = param(0, help="salt of the hash", minimum=0)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        ids = np.arange(graph.num_nodes, dtype=np.uint64)
        return (hash_ids(ids, self.rng_seed) % np.uint64(num_parts)).astype(np.int32)
