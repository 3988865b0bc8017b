"""A first picture of a large graph in a second or two: regions grown from random nodes, their quotient graph laid out,
the members of each region scattered around its place. The full layout starts from it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from workbench.core.jit import kernel, read_only
from workbench.core.rng import generator

NUM_REGIONS = 1024
MAX_TIES = 16  # of a region to others, the strongest: a dense quotient graph is one ball
MAX_REGION = 4.0  # members, in units of the mean
NODES_A_STEP = 1_000_000  # looked at between two looks at the cancel signal: tens of milliseconds
_KEY = 0x5CE7

Place = Callable[[sparse.csr_array], np.ndarray]
Check = Callable[[], None]


def sketch(starts: np.ndarray, adjacent: np.ndarray, place: Place, rng_seed: int, check: Check) -> np.ndarray:
    """Return a rough place for every node of a symmetric graph: float32 (n, 2), in no particular unit.

    Parameters
    ----------
    starts, adjacent : ndarray
        The topology.
    place : callable
        Lays out the quotient graph: CSR with weights to positions (k, 2), neighbours about a unit apart.
    rng_seed : int
        Equal seeds give equal sketches.
    check : callable
        Is called between steps, and raises to leave them.
    """
    num_nodes = len(starts) - 1
    rng = generator(rng_seed, _KEY)
    region = _grow_regions(starts, adjacent, rng, check)
    sizes = np.bincount(region)
    middles = np.asarray(place(_quotient(starts, adjacent, region, sizes, check)), dtype=np.float32)
    check()
    reach = 0.6 * np.sqrt(sizes / sizes.mean())
    far = (reach[region] * np.sqrt(rng.random(num_nodes))).astype(np.float32)
    angle = rng.random(num_nodes, dtype=np.float32) * np.float32(2 * np.pi)
    placed: np.ndarray = middles[region]
    placed[:, 0] += far * np.cos(angle)
    placed[:, 1] += far * np.sin(angle)
    return placed


def _grow_regions(starts: np.ndarray, adjacent: np.ndarray, rng: np.random.Generator, check: Check) -> np.ndarray:
    """Return the region of each node, grown in breadth from random nodes."""
    num_nodes = len(starts) - 1
    wanted = min(NUM_REGIONS, num_nodes)
    seeds = rng.choice(num_nodes, wanted, replace=False, shuffle=False).astype(np.int64)
    region, queue = np.full(num_nodes, -1, dtype=np.int32), np.empty(num_nodes, dtype=np.int64)
    limit = int(np.ceil(MAX_REGION * num_nodes / wanted))
    region[seeds], queue[:wanted] = np.arange(wanted), seeds
    size = np.ones(wanted, dtype=np.int64)
    topology = (read_only(starts), read_only(adjacent))
    tail = wanted
    for allowed in (limit, num_nodes):  # then, without a limit, whatever is left next to a region
        head = 0
        while head < tail:
            check()
            end = min(head + NODES_A_STEP, tail)
            tail = _grow(*topology, head, end, tail, allowed, region, size, queue)
            head = end
    return np.maximum(region, 0)  # a component without a seed goes with the first region: it is only a sketch


def _quotient(
    starts: np.ndarray, adjacent: np.ndarray, region: np.ndarray, sizes: np.ndarray, check: Check
) -> sparse.csr_array:
    """Return the graph of the regions: the edges between two, relative to their sizes, and only the strongest ties."""
    num_regions = len(sizes)
    ties = np.zeros((num_regions, num_regions), dtype=np.float32)
    topology = (read_only(starts), read_only(adjacent))
    for first in range(0, len(region), NODES_A_STEP):
        check()
        _count_ties(*topology, read_only(region), first, min(first + NODES_A_STEP, len(region)), ties)
    check()
    np.fill_diagonal(ties, 0)
    ties /= np.sqrt(np.outer(sizes, sizes)).astype(np.float32)
    if num_regions > MAX_TIES:
        weakest = np.partition(ties, -MAX_TIES, axis=1)[:, -MAX_TIES]
        ties[(ties < weakest[:, None]) & (ties < weakest[None, :])] = 0
    if ties.any():
        ties /= ties[ties > 0].mean()
    return sparse.csr_array(ties)


@kernel
def _grow(
    starts: np.ndarray,
    adjacent: np.ndarray,
    head: int,
    end: int,
    tail: int,
    allowed: int,
    region: np.ndarray,
    size: np.ndarray,
    queue: np.ndarray,
) -> int:
    """Let the nodes at ``queue[head:end]`` claim neighbours, up to `allowed` a region; return the queue's new tail."""
    for place in range(head, end):
        node = queue[place]
        own = region[node]
        for edge in range(starts[node], starts[node + 1]):
            other = adjacent[edge]
            if region[other] < 0 and size[own] < allowed:
                region[other] = own
                size[own] += 1
                queue[tail] = other
                tail += 1
    return tail


@kernel
def _count_ties(
    starts: np.ndarray, adjacent: np.ndarray, region: np.ndarray, first: int, end: int, ties: np.ndarray
) -> None:
    for node in range(first, end):
        own = region[node]
        for edge in range(starts[node], starts[node + 1]):
            ties[own, region[adjacent[edge]]] += 1.0


@kernel
def components(starts: np.ndarray, adjacent: np.ndarray, label: np.ndarray, queue: np.ndarray) -> int:
    """Number the connected components of a symmetric graph into `label`, by their first node; return how many."""
    label[:] = -1
    count = 0
    for first in range(len(label)):
        if label[first] >= 0:
            continue
        label[first] = count
        head, tail = 0, 1
        queue[0] = first
        while head < tail:
            node = queue[head]
            head += 1
            for edge in range(starts[node], starts[node + 1]):
                other = adjacent[edge]
                if label[other] < 0:
                    label[other] = count
                    queue[tail] = other
                    tail += 1
        count += 1
    return count
