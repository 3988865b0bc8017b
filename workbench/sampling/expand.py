"""Hop-by-hop expansion: draws the edges of each hop, numbers their sources, and lays the result out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.sampling.base import SampledSubgraph, Weights
from workbench.sampling.numbering import NodeNumbering, Numbering, TreeNumbering
from workbench.sampling.scratch import POOL, Scratch
from workbench.sampling.topology import Topology

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """The nodes that were new at the hop before.

    Parameters
    ----------
    nodes : array, int64 (k)
    trees : array, int64 (k)
        Position of each node's seed; empty where there are no trees.
    first : int
        The local id of the first; the others follow.
    """

    nodes: Ids
    trees: Ids
    first: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The edges of a hop, by destination: local ids of destinations, edge ids, and weights where there are any."""

    destinations: Ids
    edge_ids: Ids
    edge_weight: Weights | None = None


Room = Callable[[int], tuple[Ids, Ids]]  # for destinations and edge ids
Draw = Callable[[int, Frontier, Room], Drawn]  # of a hop, from 1


class _Layout:
    """The arrays of all hops.

    The last hop is most of a batch: it is drawn where it will stay, behind room for the hops before.
    """

    def __init__(self) -> None:
        self.counts: list[int] = []
        self._hops: list[tuple[Ids, Drawn]] = []
        self._index = np.empty((2, 0), np.int64)
        self._ids = np.empty(0, np.int64)

    def room(self, num_edges: int, *, is_last: bool) -> tuple[Ids, Ids]:
        offset = sum(self.counts) if is_last else 0
        self._index, self._ids = np.empty((2, offset + num_edges), np.int64), np.empty(offset + num_edges, np.int64)
        return self._index[1, offset:], self._ids[offset:]

    def sources_for(self, drawn: Drawn, *, is_last: bool) -> Ids:
        """Return where the sources of drawn edges go; what was not drawn in the room made is moved there."""
        num_edges, offset = len(drawn.edge_ids), sum(self.counts) if is_last else 0
        if drawn.edge_ids.base is not self._ids or len(self._ids) != offset + num_edges:
            destinations, edge_ids = self.room(num_edges, is_last=is_last)
            destinations[:], edge_ids[:] = drawn.destinations, drawn.edge_ids
        return self._index[0, offset:]

    def keep(self, drawn: Drawn) -> None:
        self.counts.append(len(drawn.edge_ids))
        self._hops.append((self._index, drawn))

    def joined(self) -> tuple[Ids, Ids, Weights | None]:
        """Copy the earlier hops to the front of the last."""
        position = 0
        for index, drawn in self._hops[:-1]:
            end = position + len(drawn.edge_ids)
            self._index[:, position:end], self._ids[position:end] = index, drawn.edge_ids
            position = end
        weights = [drawn.edge_weight for _, drawn in self._hops if drawn.edge_weight is not None]
        return self._index, self._ids, np.concatenate(weights) if weights else None


def expand(
    graph: Topology,
    seed_nodes: Ids,
    num_hops: int,
    draw: Draw,
    *,
    disjoint: bool = False,
    scratch: Scratch | None = None,
    finish: Callable[[SampledSubgraph, Numbering], SampledSubgraph] | None = None,
) -> SampledSubgraph:
    """Draw in-edges of every node that is new at hop h - 1, for each hop h.

    Parameters
    ----------
    draw : callable
        ``draw(hop, frontier, room)`` returns the edges of a hop; arrays got from ``room(num_edges)`` are not copied.
    disjoint : bool
        Whether each seed has a tree of its own.
    finish : callable, optional
        What becomes of the subgraph while its nodes are still numbered.
    """
    if disjoint:
        return _expand(graph, num_hops, draw, TreeNumbering(seed_nodes), finish)
    if scratch is not None:
        return _expand(graph, num_hops, draw, NodeNumbering(seed_nodes, scratch), finish)
    with POOL.borrow(graph.num_nodes) as lent:
        return _expand(graph, num_hops, draw, NodeNumbering(seed_nodes, lent), finish)


def _expand(graph: Topology, num_hops: int, draw: Draw, numbering: Numbering, finish: Any) -> SampledSubgraph:
    indices = np.asarray(graph.indices)
    layout, first, node_counts = _Layout(), 0, [numbering.count]
    for hop in range(1, num_hops + 1):
        is_last = hop == num_hops
        frontier = Frontier(
            nodes=numbering.nodes[first : numbering.count], trees=numbering.trees_of(first), first=first
        )
        drawn = draw(hop, frontier, functools.partial(layout.room, is_last=is_last))
        sources = layout.sources_for(drawn, is_last=is_last)
        first = numbering.count
        numbering.number(indices, drawn.edge_ids, drawn.destinations, sources)
        node_counts.append(numbering.count - first)
        layout.keep(drawn)
    edge_index, edge_ids, edge_weight = layout.joined()
    trees = numbering.trees_of(0)
    subgraph = SampledSubgraph(
        node_ids=numbering.nodes[: numbering.count].copy(),
        edge_index=edge_index,
        edge_ids=edge_ids,
        num_nodes_per_hop=np.array(node_counts, np.int64),
        num_edges_per_hop=np.array(layout.counts, np.int64),
        edge_weight=edge_weight,
        batch=trees.copy() if isinstance(numbering, TreeNumbering) else None,
    )
    return subgraph if finish is None else finish(subgraph, numbering)
