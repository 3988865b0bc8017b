"""Two-dimensional blocks of the adjacency matrix (Yoo et al. 2005; Boman et al. 2013)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from workbench.core.jit import kernel, read_only
from workbench.core.params import param
from workbench.partition.base import PARTITIONERS, Partitioner
from workbench.partition.node_hash import hash_ids

if TYPE_CHECKING:
    from workbench.graph import Graph


@PARTITIONERS.register("grid_2d")
@dataclass(frozen=True, slots=True, kw_only=True)
class Grid2D(Partitioner):
    """Vertex-cut by a grid of r x c blocks of the adjacency matrix: a node is in at most r + c - 1 parts.

    r is the largest divisor of the number of parts up to its root: a prime number of parts gives one row, which is no
    grid. An edge and its reverse lie in different blocks.
    """

    divides: ClassVar[Literal["nodes", "edges"]] = "edges"

    rng_seed: int = param(0, help="salt of the hash that deals nodes to rows and columns", minimum=0)

    def assign(self, graph: Graph, num_parts: int) -> np.ndarray:
        num_rows = grid_rows(num_parts)
        cells = hash_ids(np.arange(graph.num_nodes, dtype=np.uint64), self.rng_seed) % np.uint64(num_parts)
        owners = np.empty(graph.num_edges, dtype=np.int32)
        arrays = (read_only(graph.indptr), read_only(graph.indices), read_only(cells.astype(np.int32)))
        _to_block(*arrays, num_parts // num_rows, owners)
        return owners


def grid_rows(num_parts: int) -> int:
    """Return the largest divisor of `num_parts` that is no larger than its root."""
    return next(rows for rows in range(math.isqrt(num_parts), 0, -1) if num_parts % rows == 0)


@kernel
def _to_block(indptr: np.ndarray, indices: np.ndarray, cells: np.ndarray, num_columns: int, owners: np.ndarray) -> None:
    """A node's cell names its row as a source and its column as a destination."""
    for node in range(len(indptr) - 1):
        column = cells[node] % num_columns
        for edge in range(indptr[node], indptr[node + 1]):
            owners[edge] = cells[indices[edge]] // num_columns * num_columns + column
