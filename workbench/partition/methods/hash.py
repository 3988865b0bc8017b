"""Parts by a hash of the node id: what systems do that cannot keep a table of owners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.params import param
from workbench.core.rng import GOLDEN, key64
from workbench.partition.base import PARTITIONERS, Partitioner

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


def hash_ids(ids: np.ndarray, rng_seed: int) -> np.ndarray:
    """Return :func:`~workbench.core.rng.key64` of ``(rng_seed, id)`` for each id: uint64, as the input."""
    value = ids + np.uint64((key64(rng_seed) + GOLDEN) & 0xFFFFFFFFFFFFFFFF)  # wraps, as it should
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = value ^ (value >> np.uint64(31))
    return mixed
