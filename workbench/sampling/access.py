"""Irregular access: how unevenly a graph is read, and what that does to caches and threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.sampling.explode import row_bytes
from workbench.sampling.explosion_kernels import grow
from workbench.sampling.explosion_seeds import IdArray, random_seeds
from workbench.sampling.methods.neighbor import NeighborSampler
from workbench.sampling.seeds import as_node_ids

if TYPE_CHECKING:
    from workbench.graph import Graph

LINE_BYTES = 64
TOP_SHARES = (0.001, 0.01, 0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DegreeSpread:
    """How unevenly the in-edges are spread over the nodes.

    Parameters
    ----------
    mean, median, p99 : float
        Of the in-degree over all nodes.
    maximum, hub_node : int
        The largest in-degree and the node that has it.
    num_isolated : int
        Nodes without in-edges.
    top_shares, top_counts, top_edge_shares : tuple
        For the largest 0.1%, 1% and 10% of the nodes: share of nodes, their number, share of the edges they hold.
    """

    mean: float
    median: float
    p99: float
    maximum: int
    hub_node: int
    num_isolated: int
    top_shares: tuple[float, ...]
    top_counts: tuple[int, ...]
    top_edge_shares: tuple[float, ...]


def degree_spread(graph: Graph) -> DegreeSpread:
    """Measure the spread of the in-degrees; a graph without edges has shares of 0."""
    degrees = np.asarray(graph.in_degrees())
    median, p99 = np.percentile(degrees, [50, 99])
    counts = tuple(max(1, int(share * degrees.size)) for share in TOP_SHARES)
    held = np.cumsum(np.sort(degrees)[::-1])
    total = max(int(held[-1]), 1)
    return DegreeSpread(
        mean=float(degrees.mean()),
        median=float(median),
        p99=float(p99),
        maximum=int(degrees.max()),
        hub_node=int(degrees.argmax()),
        num_isolated=int(np.count_nonzero(degrees == 0)),
        top_shares=TOP_SHARES,
        top_counts=counts,
        top_edge_shares=tuple(float(held[count - 1] / total) for count in counts),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchAccess:
    """What one sampled batch touches in memory; rows and lists are taken to begin on a cache line.

    Parameters
    ----------
    num_seeds, num_nodes, num_edges : int
        The batch.
    list_lines : int
        Distinct 64-byte lines of the neighbour lists (``indices``) that hold a sampled edge.
    row_lines : int
        Distinct lines of the feature rows; 0 without features.
    num_runs : int
        Runs of adjacent rows among the nodes: each is one contiguous read.
    num_runs_by_degree : int
        Runs of the same nodes after the nodes were renumbered by degree, largest first.
    """

    num_seeds: int
    num_nodes: int
    num_edges: int
    list_lines: int
    row_lines: int
    num_runs: int
    num_runs_by_degree: int


def batch_access(graph: Graph, seed_nodes: ArrayLike, fanouts: Sequence[int], *, rng_seed: int = 0) -> BatchAccess:
    """Sample one batch and count the cache lines and contiguous runs that it touches."""
    seeds = as_node_ids(seed_nodes, graph.num_nodes, "seed_nodes")
    subgraph = NeighborSampler(fanouts=tuple(fanouts)).sample(graph, seeds, epoch=0, batch=0, rng_seed=rng_seed)
    by_degree = np.empty(graph.num_nodes, np.int64)
    by_degree[np.argsort(-graph.in_degrees(), kind="stable")] = np.arange(graph.num_nodes)
    lines = np.unique(subgraph.edge_ids * graph.indices.dtype.itemsize // LINE_BYTES)
    return BatchAccess(
        num_seeds=seeds.size,
        num_nodes=subgraph.num_nodes,
        num_edges=subgraph.num_edges,
        list_lines=lines.size,
        row_lines=num_row_lines(subgraph.node_ids, row_bytes(graph)),
        num_runs=num_runs(subgraph.node_ids),
        num_runs_by_degree=num_runs(by_degree[subgraph.node_ids]),
    )


def num_runs(node_ids: ArrayLike) -> int:
    """Return how many runs of consecutive ids cover distinct `node_ids`."""
    ids = np.sort(np.asarray(node_ids, np.int64))
    return int(ids.size and 1 + np.count_nonzero(np.diff(ids) > 1))


def num_row_lines(node_ids: ArrayLike, bytes_a_row: int) -> int:
    """Return the distinct cache lines that the rows of distinct `node_ids` lie in."""
    ids = np.sort(np.asarray(node_ids, np.int64))
    if ids.size == 0 or bytes_a_row == 0:
        return 0
    first = ids * bytes_a_row // LINE_BYTES
    last = ((ids + 1) * bytes_a_row - 1) // LINE_BYTES
    before = np.concatenate([np.full(1, -1), np.maximum.accumulate(last)[:-1]])
    return int(np.sum(np.maximum(last - np.maximum(first, before + 1) + 1, 0)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadImbalance:
    """Edges of the busiest thread / mean edges, the frontier cut into equal node counts.

    Parameters
    ----------
    num_threads, hop : int
        Threads, and the hop whose expansion they share.
    all_neighbors, sampled : float
        1 = even; means over the batches.
    fanout : int
        Fanout of that hop.
    """

    num_threads: int
    hop: int
    all_neighbors: float
    sampled: float
    fanout: int


def load_imbalance(
    graph: Graph,
    seed_nodes: ArrayLike | None = None,
    *,
    num_seeds: int = 1024,
    fanouts: Sequence[int] = (15, 10, 5),
    num_threads: int = 8,
    num_batches: int = 5,
    rng_seed: int = 0,
) -> LoadImbalance:
    """Measure the imbalance at hop 2 (hop 1 where there is one only), for given seeds or random batches."""
    fixed = None if seed_nodes is None else as_node_ids(seed_nodes, graph.num_nodes, "seed_nodes")
    hop = min(2, len(fanouts))
    sampler = NeighborSampler(fanouts=tuple(fanouts[:hop]))
    degrees = np.asarray(graph.in_degrees())
    ratios = np.zeros((num_batches, 2))
    for batch in range(num_batches):
        seeds = random_seeds(graph, num_seeds, batch=batch, rng_seed=rng_seed) if fixed is None else fixed
        subgraph = sampler.sample(graph, seeds, epoch=0, batch=batch, rng_seed=rng_seed)
        counts = np.cumsum(subgraph.num_nodes_per_hop)
        drawn = degrees[subgraph.node_ids[(counts[hop - 2] if hop > 1 else 0) : counts[hop - 1]]]
        everything = degrees[_frontier(graph, seeds, hop - 1)]
        capped = drawn if fanouts[hop - 1] < 0 else np.minimum(drawn, fanouts[hop - 1])
        ratios[batch] = imbalance(everything, num_threads), imbalance(capped, num_threads)
    full, sampled = ratios.mean(axis=0)
    return LoadImbalance(
        num_threads=num_threads,
        hop=hop,
        all_neighbors=float(full),
        sampled=float(sampled),
        fanout=int(fanouts[hop - 1]),
    )


def imbalance(work: NDArray[Any], num_threads: int) -> float:
    """Return max / mean of the sums of `work` cut into `num_threads` pieces of equal length; 1 where there is none."""
    sums = np.array([piece.sum() for piece in np.array_split(work, num_threads)])
    return float(sums.max() / sums.mean()) if sums.sum() > 0 else 1.0


def _frontier(graph: Graph, seeds: IdArray, hop: int) -> IdArray:
    """Return the nodes that first appear at a hop, in the order in which they are found."""
    stamp, queue = np.full(graph.num_nodes, -1, np.int32), np.empty(graph.num_nodes, np.int64)
    nodes, edges = np.empty(hop + 1, np.int64), np.empty(hop + 1, np.int64)
    grow(graph.indptr, graph.indices, seeds, stamp, 0, queue, nodes, edges)
    found: IdArray = queue[(nodes[hop - 1] if hop > 0 else 0) : nodes[hop]]
    return found
