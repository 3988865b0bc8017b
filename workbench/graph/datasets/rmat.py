"""R-MAT graphs: heavy-tailed degrees and communities within communities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.core.params import param
from workbench.core.rng import generator
from workbench.graph.datasets.base import DATASETS
from workbench.graph.datasets.generated import EDGES, Array, Generated

EDGES_AT_A_TIME = 1 << 21


@DATASETS.register("rmat")
@dataclass(frozen=True, slots=True, kw_only=True)
class Rmat(Generated):
    """R-MAT (Chakrabarti, Zhan & Faloutsos 2004): each edge falls into a quarter of the matrix, again and again.

    `num_edges` undirected edges are drawn; self-loops and repetitions are then dropped, so that fewer remain. Ids are
    shuffled, so that a node's id says nothing about its degree.
    """

    num_nodes: int = param(1024, help="nodes", minimum=1)
    num_edges: int = param(8192, help="undirected edges that are drawn", minimum=0)
    a: float = param(0.57, help="share of edges in the first quarter", minimum=0, maximum=1)
    b: float = param(0.19, help="share of edges in the second quarter", minimum=0, maximum=1)
    c: float = param(0.19, help="share of edges in the third quarter", minimum=0, maximum=1)

    def edges(self) -> tuple[Array, int]:
        shuffled = generator(self.rng_seed, EDGES).permutation(self.num_nodes).astype(np.int64)
        starts = range(0, self.num_edges, EDGES_AT_A_TIME)
        chunks = [self._draw(i, min(EDGES_AT_A_TIME, self.num_edges - start)) for i, start in enumerate(starts)]
        pairs = np.concatenate(chunks, axis=1) if chunks else np.zeros((2, 0), np.int64)
        return shuffled[pairs], self.num_nodes

    def _draw(self, chunk: int, count: int) -> Array:
        levels = max(1, int(self.num_nodes - 1).bit_length())
        draw = generator(self.rng_seed, EDGES, chunk)
        pairs = np.zeros((2, count), np.int64)
        for _ in range(levels):
            u = draw.random(count, dtype=np.float32)
            pairs <<= 1
            pairs[0] |= u >= self.a + self.b
            pairs[1] |= ((u >= self.a) & (u < self.a + self.b)) | (u >= self.a + self.b + self.c)
        return pairs * self.num_nodes >> levels  # squeezed where the number of nodes is no power of two
