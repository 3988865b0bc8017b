"""Orders of nodes: in which a stream meets them, and in which they may be renumbered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.core.jit import kernel, read_only
from workbench.core.rng import generator

if TYPE_CHECKING:
    from workbench.graph import Graph

STREAM_ORDERS = ("random", "bfs", "natural")
_ORDER = 0x0DE5  # sets the draws of orders apart from others of the same rng_seed
Topology = tuple[np.ndarray, np.ndarray]


def stream_order(name: str, topology: Topology, rng_seed: int) -> np.ndarray:
    """Return the nodes in the order of a stream, int64 (n,): at random, breadth first, or by id."""
    num_nodes = len(topology[0]) - 1
    if name == "natural":
        return np.arange(num_nodes, dtype=np.int64)
    shuffled: np.ndarray = generator(rng_seed, _ORDER).permutation(num_nodes)
    return breadth_first(topology, shuffled) if name == "bfs" else shuffled


def breadth_first(topology: Topology, candidates: np.ndarray) -> np.ndarray:
    """Return all nodes component by component, each in breadth-first order: int64 (n,).

    Parameters
    ----------
    topology : (starts, adjacent)
        Symmetric.
    candidates : int64 (n,)
        All nodes: the first of each component leads to its start, which is a node farthest from it. Isolated nodes
        come last.
    """
    starts, adjacent = (read_only(array) for array in topology)
    order = np.empty(len(starts) - 1, dtype=np.int64)
    _breadth_first(starts, adjacent, read_only(candidates), order)
    return order


def degree_order(graph: Graph) -> np.ndarray:
    """Return the nodes by falling in-degree, ties by id: int64 (n,)."""
    return np.argsort(-np.asarray(graph.in_degrees()), kind="stable").astype(np.int64)


@kernel
def _sweep(starts: np.ndarray, adjacent: np.ndarray, mark: np.ndarray, seen: int, order: np.ndarray, head: int) -> int:
    """Visit the component of ``order[head]`` and return where it ends in `order`."""
    tail = head + 1
    mark[order[head]] = seen
    while head < tail:
        node = order[head]
        head += 1
        for edge in range(starts[node], starts[node + 1]):
            other = adjacent[edge]
            if mark[other] != seen:
                mark[other] = seen
                order[tail] = other
                tail += 1
    return tail


@kernel
def _breadth_first(starts: np.ndarray, adjacent: np.ndarray, candidates: np.ndarray, order: np.ndarray) -> None:
    mark = np.zeros(len(order), dtype=np.int8)
    head = 0
    for node in candidates:
        if mark[node] == 0 and starts[node] < starts[node + 1]:
            order[head] = node
            end = _sweep(starts, adjacent, mark, 1, order, head)
            order[head] = order[end - 1]
            head = _sweep(starts, adjacent, mark, 2, order, head)
    for node in candidates:
        if mark[node] == 0:
            order[head] = node
            head += 1
