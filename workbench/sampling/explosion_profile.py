"""The explosion over a whole graph: from which batch size on it happens, and which hubs do it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.rng import generator
from workbench.sampling.explosion_kernels import NO_LABEL, first_labels
from workbench.sampling.explosion_record import FloatArray
from workbench.sampling.explosion_seeds import IdArray, random_seeds
from workbench.sampling.explosion_sizes import Cancelled, Progress, neighborhood_sizes
from workbench.sampling.methods.neighbor import NeighborSampler

if TYPE_CHECKING:
    from workbench.graph import Graph

BATCH_SIZES = tuple(2**power for power in range(13))  # 1 to 4,096
_ORDER_KEY = 0x0DE5


@dataclass(frozen=True, slots=True, kw_only=True)
class HubAblation:
    """Mean neighbourhood of one random seed when the k largest hubs are reached but not expanded.

    Parameters
    ----------
    num_hubs : tuple of int
        k of each row; 0 = everything is expanded.
    mean_sizes : ndarray, (rows, depth + 1)
        Mean nodes within each hop.
    num_seeds : int
        Seeds behind the means.
    """

    num_hubs: tuple[int, ...]
    mean_sizes: FloatArray
    num_seeds: int


def hub_ablation(
    graph: Graph,
    *,
    num_hubs: Sequence[int] | None = None,
    num_seeds: int = 1000,
    depth: int = 3,
    rng_seed: int = 0,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> HubAblation:
    """Find out which hubs cause the explosion, by leaving them unexpanded.

    Parameters
    ----------
    num_hubs : sequence of int, optional
        Numbers of largest nodes to leave unexpanded; default 0, 1, 5, 20 and 1% of the nodes.
    progress : callable, optional
        Called with (rows done, rows in all).
    cancelled : callable, optional
        Asked between rows and while a row is measured; the rows complete by then are returned.
    """
    one_percent = max(1, graph.num_nodes // 100)
    counts = sorted({0, 1, 5, 20, one_percent}) if num_hubs is None else list(num_hubs)
    counts = [k for k in counts if k <= graph.num_nodes]
    seeds = random_seeds(graph, num_seeds, batch=0, rng_seed=rng_seed)
    by_degree = np.argsort(-graph.in_degrees(), kind="stable")
    rows: list[FloatArray] = []
    for done, k in enumerate(counts, 1):
        sizes = neighborhood_sizes(graph, seeds, depth=depth, blocked_nodes=by_degree[:k], cancelled=cancelled)
        if len(sizes) < seeds.size:
            break
        rows.append(sizes.mean(axis=0))
        if progress is not None:
            progress(done, len(counts))
    means = np.array(rows).reshape(-1, depth + 1)
    return HubAblation(num_hubs=tuple(counts[: len(rows)]), mean_sizes=means, num_seeds=seeds.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saturation:
    """Mean unique nodes against batch size, for random seeds.

    Parameters
    ----------
    batch_sizes : ndarray, (s,)
        Seeds of a batch.
    all_neighbors, sampled : ndarray, (depth + 1, s)
        Mean unique nodes within each hop.
    num_orders, num_batches : int
        Random orders of the seeds behind `all_neighbors`, sampled batches of each size behind `sampled`.
    """

    batch_sizes: IdArray
    all_neighbors: FloatArray
    sampled: FloatArray
    num_orders: int
    num_batches: int


def saturation(
    graph: Graph,
    *,
    fanouts: Sequence[int] = (15, 10, 5),
    batch_sizes: Sequence[int] = BATCH_SIZES,
    num_orders: int = 100,
    num_batches: int = 20,
    rng_seed: int = 0,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Saturation:
    """Measure how the nodes read grow with the batch size (see `Saturation`).

    All neighbours: every prefix of a random order of the nodes is a random batch, and one pass over the edges
    a hop measures all prefixes together. Sampled: `num_batches` batches of each size, of the first nodes of an order.

    Parameters
    ----------
    progress : callable, optional
        Called with (orders done, orders in all).
    cancelled : callable, optional
        Asked between orders; once it returns True, the means of what was measured so far are returned.
    """
    last: Saturation | None = None
    for last in iter_saturation(
        graph,
        fanouts=fanouts,
        batch_sizes=batch_sizes,
        num_orders=num_orders,
        num_batches=num_batches,
        rng_seed=rng_seed,
    ):
        if progress is not None:
            progress(last.num_orders, num_orders)
        if cancelled is not None and cancelled():
            break
    assert last is not None, "the first order is always measured"
    return last


def iter_saturation(
    graph: Graph,
    *,
    fanouts: Sequence[int] = (15, 10, 5),
    batch_sizes: Sequence[int] = BATCH_SIZES,
    num_orders: int = 100,
    num_batches: int = 20,
    rng_seed: int = 0,
) -> Iterator[Saturation]:
    """Yield the saturation after each order of the seeds (see `saturation`)."""
    sizes = np.unique(np.minimum(np.asarray(batch_sizes, np.int64), max(graph.num_nodes, 1)))
    depth = len(fanouts)
    sampler = NeighborSampler(fanouts=tuple(fanouts))
    full, sampled = (np.zeros((depth + 1, sizes.size)) for _ in range(2))
    takes_all = max(fanouts) < 0  # the same nodes, which a pass finds for all sizes together
    for order in range(num_orders):
        seeds = generator(rng_seed, _ORDER_KEY, order).permutation(graph.num_nodes)[: sizes[-1]]
        full += _prefix_sizes(graph, seeds, depth, sizes)
        if takes_all:
            sampled = full
        for column in range(sizes.size if order < num_batches and not takes_all else 0):
            subgraph = sampler.sample(graph, seeds[: sizes[column]], epoch=0, batch=order, rng_seed=rng_seed)
            sampled[:, column] += np.cumsum(subgraph.num_nodes_per_hop)
        batches = order + 1 if takes_all else min(order + 1, num_batches)
        yield Saturation(
            batch_sizes=sizes,
            all_neighbors=full / (order + 1),
            sampled=sampled / batches,
            num_orders=order + 1,
            num_batches=batches,
        )


def _prefix_sizes(graph: Graph, seeds: IdArray, depth: int, sizes: IdArray) -> FloatArray:
    """Return the unique nodes within each hop of the first b seeds, for each b of `sizes`: (depth + 1, sizes)."""
    label = np.full(graph.num_nodes, NO_LABEL, np.int32)
    label[seeds] = np.arange(seeds.size, dtype=np.int32)
    counts = np.zeros((depth + 1, seeds.size), np.int64)
    first_labels(graph.indptr, graph.indices, label, np.empty_like(label), counts)
    reached: FloatArray = np.cumsum(counts, axis=1)[:, sizes - 1].astype(np.float64)
    return reached
