"""How the edges of a hop are drawn for each of its nodes: uniformly, by weight, up to a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workbench.core.rng import key64
from workbench.sampling import kernels, kernels_chosen
from workbench.sampling.columns import NO_WEIGHTS, Times
from workbench.sampling.expand import Draw, Drawn, Frontier, Room
from workbench.sampling.topology import Topology

Ids = NDArray[np.int64]
Key = tuple[int, int, int]  # rng_seed, epoch, batch
NO_TIMES = Times()


def draw_uniformly(graph: Topology, fanouts: Sequence[int], *, replace: bool, key: Key) -> Draw:
    """Return what draws `fanouts[h - 1]` in-edges a node at hop h, every set of them equally likely; -1 takes all."""
    indptr = np.asarray(graph.indptr)

    def draw(hop: int, frontier: Frontier, room: Room) -> Drawn:
        fanout, nodes = fanouts[hop - 1], frontier.nodes
        destinations, edge_ids = room(kernels.count_edges(indptr, nodes, fanout, replace))
        hop_key = np.uint64(key64(*key, hop))
        kernels.draw_edges(indptr, nodes, frontier.first, fanout, replace, hop_key, destinations, edge_ids)
        return Drawn(destinations=destinations, edge_ids=edge_ids)

    return draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What decides which in-edges may be drawn, and how likely each is.

    Parameters
    ----------
    replace : bool
    weights : array, float32 (m)
        Empty where all weigh the same.
    times : Times
    takes_last : bool
        Whether the latest edges are taken instead of any.
    when_weightless : callable
        Called with (position in the frontier, node) where all candidates of a node weigh nothing; it raises.
    """

    replace: bool = False
    weights: NDArray[np.float32] = field(default_factory=lambda: NO_WEIGHTS)
    times: Times = NO_TIMES
    takes_last: bool = False
    when_weightless: Callable[[int, int], None] = lambda position, node: None


def draw_chosen(graph: Topology, seed_nodes: Ids, fanouts: Sequence[int], *, choice: Choice, key: Key) -> Draw:
    """Return what draws `fanouts[h - 1]` in-edges a node at hop h among those that `choice` allows."""
    indptr, indices, times = np.asarray(graph.indptr), np.asarray(graph.indices), choice.times
    columns = (choice.weights, times.of_edges, times.of_nodes, times.of_seeds)

    def draw(hop: int, frontier: Frontier, room: Room) -> Drawn:
        fanout, nodes = fanouts[hop - 1], frontier.nodes
        destinations, edge_ids = room(kernels.count_edges(indptr, nodes, fanout, choice.replace))
        drawn_beside = 2 * max(fanout, 0) if choice.replace else 0  # else a fanout beyond all degrees costs nothing
        size = int(kernels.largest_degree(indptr, nodes)) + drawn_beside
        ids, keys = np.empty(size, np.int64), np.empty(size, np.int64)
        count = kernels_chosen.draw_chosen(
            indptr, indices, nodes, frontier.trees, frontier.first, seed_nodes, *columns,
            fanout, choice.replace, choice.takes_last, np.uint64(key64(*key, hop)), ids, keys, destinations, edge_ids,
        )  # fmt: skip
        if count < 0:
            choice.when_weightless(-1 - count, int(nodes[-1 - count]))
        return Drawn(destinations=destinations[:count], edge_ids=edge_ids[:count])

    return draw
