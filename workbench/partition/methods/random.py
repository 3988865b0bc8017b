"""Uniformly random parts: the baseline that every other method is measured against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.params import param
from workbench.partition.base import PARTITIONERS, Partitioner

if TYPE_CHECKING:
    from workbench.graph import Graph


@PARTITIONERS.register("random")
@dataclass(frozen=True, slots=True, kw_only=True)
class Random(Partitioner):
    """Every node draws its part at random, uniformly and independently: E[cut / m] = 1 - 1/p."""

    rng_seed: int = param(0, help="another seed gives another draw", minimum=0)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        rng = np.random.default_rng(self.rng_seed)
        return np.asarray(rng.integers(0, num_parts, graph.num_nodes), dtype=np.int32)
