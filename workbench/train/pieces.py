"""Cut a graph into pieces that fit into memory: own nodes, and the in-neighbours that they read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from workbench.graph import Graph

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Piece:
    """A range of nodes with all their in-edges.

    Parameters
    ----------
    node_ids : array, int64 (k)
        Global ids: the piece's own nodes (first, ascending), then the other sources of their in-edges.
    num_own : int
    edge_index : array, int64 (2, e)
        ``[source, destination]`` as positions in `node_ids`; destinations are below `num_own`.
    edge_ids : slice
        Of the graph's edges: those of a range of nodes lie side by side.
    """

    node_ids: Ids
    num_own: int
    edge_index: Ids
    edge_ids: slice


def piece_bounds(indptr: NDArray[Any], *, max_edges: int, world_size: int) -> Ids:
    """Return where pieces begin and end: as many for each rank, of nearly equal work, about `max_edges` edges each.

    A node counts as one edge more. A node with more in-edges than that is a piece that is larger.
    """
    cost = np.asarray(indptr) + np.arange(len(indptr))
    rounds = max(1, -(-int(cost[-1]) // (max_edges * world_size)))
    targets = np.linspace(0, cost[-1], rounds * world_size + 1)
    bounds = np.searchsorted(cost, targets, side="left")
    bounds[0], bounds[-1] = 0, len(indptr) - 1
    return bounds.astype(np.int64)


class PieceMaker:
    """Makes pieces of a graph; keeps one number a node to work with."""

    def __init__(self, graph: Graph) -> None:
        self._indptr, self._indices = graph.indptr, graph.indices
        self._local = np.full(graph.num_nodes, -1, np.int64)

    def make(self, begin: int, end: int) -> Piece:
        """Return the piece of nodes `begin` to `end` - 1."""
        first, last = int(self._indptr[begin]), int(self._indptr[end])
        own, sources = np.arange(begin, end), np.asarray(self._indices[first:last]).astype(np.int64)
        local = self._local
        local[own] = np.arange(len(own))
        others = np.unique(sources[local[sources] < 0])
        local[others] = len(own) + np.arange(len(others))
        destinations = np.repeat(np.arange(len(own)), np.diff(self._indptr[begin : end + 1]))
        edge_index = np.stack([local[sources], destinations])
        local[own] = local[others] = -1
        node_ids = np.concatenate([own, others])
        return Piece(node_ids=node_ids, num_own=len(own), edge_index=edge_index, edge_ids=slice(first, last))


def rounds_of(bounds: Ids, world_size: int) -> Iterator[list[tuple[int, int]]]:
    """Yield rounds: in each, one range of nodes for every rank, in rank order."""
    for start in range(0, len(bounds) - 1, world_size):
        yield [(int(bounds[start + r]), int(bounds[start + r + 1])) for r in range(world_size)]
