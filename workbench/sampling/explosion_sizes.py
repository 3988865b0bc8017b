"""Exact sizes of the neighbourhoods of single seeds, 64 at once, and what they say about all the others."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.core.rng import generator
from workbench.sampling.explosion_kernels import WORD_BITS, reach_words
from workbench.sampling.explosion_record import FloatArray, mean_error
from workbench.sampling.explosion_seeds import IdArray, random_seeds
from workbench.sampling.seeds import as_node_ids

if TYPE_CHECKING:
    from workbench.graph import Graph

Progress = Callable[[int, int], None]
Cancelled = Callable[[], bool]
EXACT_SEEDS = 10_000  # measured one by one; of more, so many drawn at random stand for all
FIRST_SEEDS = 8  # of the first pass, which is to be over soon
_SAMPLE_KEY = 0x51E5


def neighborhood_sizes(
    graph: Graph,
    seed_nodes: ArrayLike,
    *,
    depth: int = 2,
    blocked_nodes: ArrayLike | None = None,
    num_threads: int | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> IdArray:
    """Return the exact number of nodes within each hop of every single seed, (seeds, depth + 1).

    Parameters
    ----------
    seed_nodes : array_like of int
        Seeds, each on its own; 64 are followed in one pass over the graph.
    blocked_nodes : array_like of int, optional
        Nodes that are reached but not expanded.
    num_threads : int, optional
        Passes at the same time, each with 24 bytes a node of its own; default one a core.
    progress : callable, optional
        Called with (seeds done, seeds in all).
    cancelled : callable, optional
        Asked before each pass; once it returns True, the rows done so far are returned.
    """
    seeds = as_node_ids(seed_nodes, graph.num_nodes, "seed_nodes")
    sizes = np.zeros((seeds.size, depth + 1), np.int64)
    done = 0
    for done in _passes(graph, seeds, sizes, blocked_nodes, num_threads, cancelled):
        if progress is not None:
            progress(done, seeds.size)
    return sizes[:done]


def _passes(
    graph: Graph,
    seeds: IdArray,
    sizes: IdArray,
    blocked_nodes: ArrayLike | None,
    num_threads: int | None,
    cancelled: Cancelled | None,
) -> Iterator[int]:
    """Fill `sizes` from the first row on and yield how many rows are complete, until all are or it is cancelled."""
    blocked = np.zeros(graph.num_nodes, np.bool_)
    if blocked_nodes is not None:
        blocked[as_node_ids(blocked_nodes, graph.num_nodes, "blocked_nodes")] = True
    bounds = [0, *range(FIRST_SEEDS, seeds.size, WORD_BITS), seeds.size]
    stopped, own = threading.Event(), threading.local()

    def follow(start: int, stop: int) -> bool:
        if stopped.is_set() or (cancelled is not None and cancelled()):
            stopped.set()
            return False
        if not hasattr(own, "words"):
            own.words = [np.empty(graph.num_nodes, np.uint64) for _ in range(3)]
        reach_words(graph.indptr, graph.indices, seeds[start:stop], blocked, *own.words, sizes[start:stop])
        return True

    workers = min(num_threads or os.cpu_count() or 1, len(bounds) - 1)
    with ThreadPoolExecutor(workers, thread_name_prefix="neighborhood") as pool:
        try:
            for stop, is_done in zip(bounds[1:], pool.map(follow, bounds[:-1], bounds[1:]), strict=True):
                if not is_done:
                    return
                yield stop
        finally:
            stopped.set()  # whoever stops listening does not wait for the rest


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedSizes:
    """Exact sizes of the neighbourhoods of single seeds, and the estimate that they give of a larger population.

    Parameters
    ----------
    seed_nodes : ndarray, (s,)
        The seeds that were measured, in random order.
    sizes : ndarray, (s, depth + 1)
        Nodes within each hop of each seed, the seed included.
    num_population : int
        Seeds that these stand for: those that were given, or all nodes.
    hub_node : int
        The node with the most in-edges.
    hub_sizes : ndarray, (depth + 1,)
        The same sizes for it.
    next_to_hub : ndarray of bool, (s,)
        Seeds that read the hub in their first hop (or are it).
    """

    seed_nodes: IdArray
    sizes: IdArray
    num_population: int
    hub_node: int
    hub_sizes: IdArray
    next_to_hub: NDArray[np.bool_]

    @property
    def is_exact(self) -> bool:
        """True where every seed of the population was measured."""
        return len(self.sizes) == self.num_population

    @property
    def mean(self) -> FloatArray:
        """Mean over the seeds of the nodes within each hop, (depth + 1,)."""
        return np.asarray(self.sizes.mean(axis=0))

    @property
    def error(self) -> FloatArray:
        """Half the width of the 95% interval of `mean` as an estimate for the population; 0 where it is exact."""
        return mean_error(self.sizes.astype(np.float64), self.num_population)

    def percentile(self, percent: float, hop: int) -> float:
        """Return a percentile over the seeds of the nodes within `hop` hops."""
        return float(np.percentile(self.sizes[:, hop], percent))


def seed_sizes(
    graph: Graph,
    seed_nodes: ArrayLike | None = None,
    *,
    num_seeds: int = 1000,
    depth: int = 2,
    rng_seed: int = 0,
    num_threads: int | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> SeedSizes:
    """Measure the neighbourhoods of single seeds, and of the largest hub (see `neighborhood_sizes`).

    Parameters
    ----------
    seed_nodes : array_like of int or bool, optional
        The seeds, each counted once: up to 10,000 are all measured, of more 10,000 drawn at random.
    num_seeds : int
        Without `seed_nodes`: random nodes that stand for all, at most 10,000.
    """
    last: SeedSizes | None = None
    for last in iter_seed_sizes(
        graph,
        seed_nodes,
        num_seeds=num_seeds,
        depth=depth,
        rng_seed=rng_seed,
        num_threads=num_threads,
        cancelled=cancelled,
    ):
        if progress is not None:
            progress(len(last.sizes), min(last.num_population, EXACT_SEEDS if seed_nodes is not None else num_seeds))
    assert last is not None, "at least an empty result is yielded"
    return last


def iter_seed_sizes(
    graph: Graph,
    seed_nodes: ArrayLike | None = None,
    *,
    num_seeds: int = 1000,
    depth: int = 2,
    rng_seed: int = 0,
    num_threads: int | None = None,
    cancelled: Cancelled | None = None,
) -> Iterator[SeedSizes]:
    """Yield what is known after every 64 seeds, each an estimate of the whole with its error (see `seed_sizes`)."""
    if seed_nodes is None:
        population, seeds = (
            graph.num_nodes,
            random_seeds(graph, min(num_seeds, EXACT_SEEDS), batch=0, rng_seed=rng_seed),
        )
    else:
        given = np.unique(as_node_ids(seed_nodes, graph.num_nodes, "seed_nodes"))
        population = given.size
        seeds = generator(rng_seed, _SAMPLE_KEY).permutation(given)[:EXACT_SEEDS]
    hub = int(np.argmax(graph.in_degrees()))
    near = _reads(graph, seeds, hub)
    known: dict[str, Any] = {"num_population": population, "hub_node": hub}
    followed = np.append(hub, seeds)  # the hub goes with the first ones: a pass of its own would cost as much as theirs
    sizes = np.zeros((followed.size, depth + 1), np.int64)
    for done in _passes(graph, followed, sizes, None, num_threads, cancelled):
        known["hub_sizes"] = sizes[0].copy()
        rows = slice(0, done - 1)
        yield SeedSizes(seed_nodes=seeds[rows], sizes=sizes[1:done].copy(), next_to_hub=near[rows], **known)
    if "hub_sizes" not in known:
        yield SeedSizes(seed_nodes=seeds[:0], sizes=sizes[:0], next_to_hub=near[:0], hub_sizes=sizes[0], **known)


def _reads(graph: Graph, seeds: IdArray, node: int) -> NDArray[np.bool_]:
    """Return for every seed whether it is `node` or has it among its in-neighbours."""
    found = np.array([node in graph.indices[graph.indptr[v] : graph.indptr[v + 1]] for v in seeds], np.bool_)
    near: NDArray[np.bool_] = found | (seeds == node)
    return near
