"""How far the explosion goes: at which hop the graph is reached, and when the hubs come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from workbench.sampling.explosion_kernels import grow
from workbench.sampling.explosion_seeds import IdArray
from workbench.sampling.seeds import as_node_ids

if TYPE_CHECKING:
    from workbench.graph import Graph

MAX_HOPS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedHub:
    """One of the nodes with the most in-edges, and the hop at which the seeds first reach it (None: never)."""

    node: int
    in_degree: int
    hop: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What seeds reach with all neighbours, until no hop finds anything new.

    Parameters
    ----------
    num_graph_nodes : int
        Nodes of the graph.
    unique_nodes : ndarray, (hops + 1,)
        Nodes within each hop, the last one being the first that has all that were found.
    is_complete : bool
        False where `max_hops` ended the search.
    hubs : tuple of ReachedHub
        The largest hubs, largest first.
    """

    num_graph_nodes: int
    unique_nodes: IdArray
    is_complete: bool
    hubs: tuple[ReachedHub, ...]

    def hop_of(self, share: float) -> int | None:
        """Return the first hop within which at least `share` of the whole graph lies; None where none has it."""
        enough = np.flatnonzero(self.unique_nodes >= share * self.num_graph_nodes)
        return int(enough[0]) if enough.size else None


def reach(graph: Graph, seed_nodes: ArrayLike, *, max_hops: int = MAX_HOPS, num_hubs: int = 5) -> Reach:
    """Search from all seeds together until nothing new is found; O(n + m).

    Parameters
    ----------
    seed_nodes : array_like of int or bool
        At least one node; repeated ones count once.
    max_hops : int
        Hops at most.
    num_hubs : int
        Hubs to tell about: nodes with at least one in-edge, the largest in-degrees first.
    """
    seeds = np.unique(as_node_ids(seed_nodes, graph.num_nodes, "seed_nodes"))
    stamp, queue = np.zeros(graph.num_nodes, np.int32), np.empty(graph.num_nodes, np.int64)
    nodes, edges = np.empty(max_hops + 1, np.int64), np.empty(max_hops + 1, np.int64)
    count = grow(graph.indptr, graph.indices, seeds, stamp, 1, queue, nodes, edges)
    last = int(np.argmax(nodes == count))
    degrees = np.asarray(graph.in_degrees())
    largest = _largest(degrees, num_hubs)
    places = {int(node): np.flatnonzero(queue[:count] == node) for node in largest}
    hubs = [
        ReachedHub(
            node=node,
            in_degree=int(degrees[node]),
            hop=int(np.searchsorted(nodes, place[0], side="right")) if place.size else None,
        )
        for node, place in places.items()
    ]
    return Reach(
        num_graph_nodes=graph.num_nodes,
        unique_nodes=nodes[: last + 1],
        is_complete=last < max_hops,
        hubs=tuple(hubs),
    )


def _largest(degrees: IdArray, count: int) -> IdArray:
    """Return the ids of the largest degrees, largest first, of equals the smaller id; none of degree 0."""
    if degrees.size == 0:
        return np.empty(0, np.int64)
    kept = min(count, degrees.size)
    least = np.partition(degrees, degrees.size - kept)[degrees.size - kept]
    candidates = np.flatnonzero((degrees >= least) & (degrees > 0))
    order = np.lexsort((candidates, -degrees[candidates]))
    return candidates[order][:kept].astype(np.int64)
