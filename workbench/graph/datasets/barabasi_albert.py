"""Preferential attachment: the rich get richer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.core.params import param
from workbench.core.rng import generator
from workbench.graph.datasets.base import DATASETS
from workbench.graph.datasets.generated import EDGES, Array, Generated


@DATASETS.register("barabasi_albert")
@dataclass(frozen=True, slots=True, kw_only=True)
class BarabasiAlbert(Generated):
    """Preferential attachment (Barabási & Albert 1999): each new node joins `edges_per_node` earlier ends of edges.

    Drawn as Batagelj & Brandes (2005) do: edge i copies a uniform earlier end of an edge, here for all edges at once by
    following references until each ends at a new node. Self-loops and repetitions are dropped.
    """

    num_nodes: int = param(1000, help="nodes", minimum=1)
    edges_per_node: int = param(5, help="edges that a new node brings", minimum=1)

    def edges(self) -> tuple[Array, int]:
        count = self.num_nodes * self.edges_per_node
        # Edge i has end 2i, which is its new node, and end 2i + 1, which is a copy of an end before it.
        edge = np.arange(count, dtype=np.int64)
        end = generator(self.rng_seed, EDGES).integers(0, 2 * edge + 1)
        while True:
            copied = end % 2 == 1
            if not copied.any():
                break
            end[copied] = end[end[copied] // 2]
        return np.stack([edge // self.edges_per_node, end // 2 // self.edges_per_node]), self.num_nodes
