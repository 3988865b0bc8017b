"""The explosion before it is measured: exact as far as a small budget of edges goes, mean-field beyond, with bounds.

A hop that reads E of a graph's m edges reaches a node with k out-edges with probability 1 - (1 - E / m)^k, if the
edges were joined at random (the configuration model). That takes the degrees alone and answers in milliseconds at
any size; clustering makes the true number smaller. The nodes known before the hop and the edges it reads bound it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.units import format_count
from workbench.sampling.explode import row_bytes
from workbench.sampling.explosion_kernels import count_sources, grow, tree_slots
from workbench.sampling.explosion_record import Explosion, FloatArray, Growth, Spread
from workbench.sampling.explosion_seeds import IdArray
from workbench.sampling.methods.neighbor import NeighborSampler

if TYPE_CHECKING:
    from workbench.graph import Graph

BUDGET_EDGES = 400_000  # read to know the first hops exactly: some 10 ms
MAX_COUNTED_EDGES = 200_000_000  # above, out-degrees are not counted but taken to equal the in-degrees


@dataclass(frozen=True, slots=True, kw_only=True)
class DegreeProfile:
    """How many nodes have which degrees: all that the estimate needs of a graph.

    Parameters
    ----------
    num_nodes, num_edges : int
    in_degrees, out_degrees, counts : ndarray, (pairs,)
        Every pair of degrees that occurs, and the number of its nodes.
    """

    num_nodes: int
    num_edges: int
    in_degrees: FloatArray
    out_degrees: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, graph: Graph) -> DegreeProfile:
        """Count the pairs; one pass over the edges."""
        inward = np.asarray(graph.in_degrees())
        counted = graph.num_edges <= MAX_COUNTED_EDGES
        outward = inward
        if counted:
            outward = np.zeros(graph.num_nodes, np.int32)
            count_sources(graph.indices, outward)
        base = int(outward.max(initial=0)) + 1
        pairs, counts = np.unique(inward * base + outward, return_counts=True)
        return cls(
            num_nodes=graph.num_nodes,
            num_edges=graph.num_edges,
            in_degrees=(pairs // base).astype(np.float64),
            out_degrees=(pairs % base).astype(np.float64),
            counts=counts.astype(np.float64),
        )

    def taken(self, fanout: int) -> FloatArray:
        """Return the edges that a node of each pair reads."""
        return self.in_degrees if fanout < 0 else np.minimum(self.in_degrees, fanout)

    def branching(self, fanout: int) -> float:
        """Return the edges that the node at the end of a random edge reads: sum of k min(f, d) over m."""
        ends = self.counts * self.out_degrees
        return float(np.dot(ends, self.taken(fanout)) / max(self.num_edges, 1))

    def reached(self, num_edges: float) -> FloatArray:
        """Return the probability that a node of each pair ends one of `num_edges` random edges."""
        share = min(num_edges / max(self.num_edges, 1), 1.0)
        reached: FloatArray = 1 - (1 - share) ** self.out_degrees
        return reached


def estimate_explosion(
    graph: Graph,
    seed_nodes: IdArray,
    fanouts: Sequence[int],
    *,
    profile: DegreeProfile | None = None,
    num_batches: int = 20,
    rng_seed: int = 0,
    budget_edges: int = BUDGET_EDGES,
) -> Explosion:
    """Return the explosion of one batch without measuring more of it than a budget allows.

    The spreads hold bounds of this very batch instead of percentiles: ``low`` and ``high``, and ``error``, the larger
    distance to them; 0 where a number is exact, infinite where nothing bounds it (tree slots beyond the exact hops).
    No batch counts as measured: ``is_estimate`` holds.

    Parameters
    ----------
    seed_nodes : ndarray of int64
        Distinct nodes, at least one.
    fanouts : sequence of int
        Neighbours drawn a node and hop, -1 = all.
    profile : DegreeProfile, optional
        Of the graph; it is worth keeping.
    num_batches : int
        Batches that are to be measured later.
    budget_edges : int
        Edges read at most for each of: the exact first hops, a sampled batch.
    """
    start = time.perf_counter()
    profile = profile or DegreeProfile.of(graph)
    taken = tuple(int(fanout) for fanout in fanouts)
    full, sampled = _both_ways(graph, profile, seed_nodes, taken, rng_seed, budget_edges)
    return Explosion(
        graph_name=graph.name,
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        seeds=f"{format_count(seed_nodes.size)} seeds" if seed_nodes.size > 1 else "One seed",
        num_seeds=seed_nodes.size,
        depth=len(taken),
        walks=seed_nodes.size * (graph.num_edges / graph.num_nodes) ** np.arange(len(taken) + 1),
        all_neighbors=full,
        sampled=sampled,
        num_batches=num_batches,
        elapsed_s=time.perf_counter() - start,
    )


def _both_ways(
    graph: Graph,
    profile: DegreeProfile,
    seed_nodes: IdArray,
    fanouts: tuple[int, ...],
    rng_seed: int,
    budget_edges: int,
) -> tuple[Growth, Growth]:
    """Return the growth with all neighbours and with drawn ones."""
    everything = (-1,) * len(fanouts)
    known = _exact_hops(graph, seed_nodes, len(fanouts), budget_edges)
    exact = known.unique_nodes.size - 1
    full = _grown(profile, seed_nodes.size, everything, known)
    first = np.minimum(_degrees(graph, seed_nodes), np.inf if fanouts[0] < 0 else fanouts[0]).sum()
    alone = _Known(unique_nodes=known.unique_nodes[:1], num_edges=known.num_edges[:1], next_edges=float(first))
    sampled = _grown(profile, seed_nodes.size, fanouts, alone)
    if sampled["num_edges"].mean[-1] <= budget_edges:
        sampled = _drawn(graph, seed_nodes, fanouts, rng_seed)
    one, other = (
        Growth(
            fanouts=hops,
            tree_slots=_slots(graph, profile, seed_nodes, hops, exact),
            unique_nodes=way["unique_nodes"],
            num_edges=way["num_edges"],
            num_batches=0,
            num_graph_nodes=graph.num_nodes,
            row_bytes=row_bytes(graph),
        )
        for way, hops in ((full, everything), (sampled, fanouts))
    )
    return one, other


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """Exact counts of the first hops, and the edges that the next hop will read."""

    unique_nodes: FloatArray
    num_edges: FloatArray
    next_edges: float


def _exact_hops(graph: Graph, seeds: IdArray, depth: int, budget_edges: int) -> _Known:
    """Search as many hops as read at most `budget_edges` edges together; the seeds alone are always known."""
    stamp, queue = np.zeros(graph.num_nodes, np.int32), np.empty(graph.num_nodes, np.int64)
    nodes, edges = np.array([seeds.size]), np.zeros(1, np.int64)
    next_edges = int(_degrees(graph, seeds).sum())
    for hop in range(1, depth + 1):
        if edges[-1] + next_edges > budget_edges:
            break
        nodes, edges = np.empty(hop + 1, np.int64), np.empty(hop + 1, np.int64)
        grow(graph.indptr, graph.indices, seeds, stamp, hop, queue, nodes, edges)
        next_edges = int(_degrees(graph, queue[nodes[-2] : nodes[-1]]).sum())
    return _Known(
        unique_nodes=nodes.astype(np.float64), num_edges=edges.astype(np.float64), next_edges=float(next_edges)
    )


def _degrees(graph: Graph, nodes: IdArray) -> IdArray:
    degrees: IdArray = graph.indptr[nodes + 1] - graph.indptr[nodes]
    return degrees


def _grown(profile: DegreeProfile, num_seeds: int, fanouts: tuple[int, ...], known: _Known) -> dict[str, Spread]:
    """Continue known hops by the mean field, between bounds."""
    depth, exact = len(fanouts), known.unique_nodes.size - 1
    nodes, low, high, edges, fewest, most = (np.zeros(depth + 1) for _ in range(6))
    for values in (nodes, low, high):
        values[: exact + 1] = known.unique_nodes
    for values in (edges, fewest, most):
        values[: exact + 1] = known.num_edges
    before = profile.reached(edges[exact]) if exact else np.zeros_like(profile.counts)
    others = profile.counts * (1 - num_seeds / profile.num_nodes)
    next_edges = bound = known.next_edges
    for hop in range(exact + 1, depth + 1):
        edges[hop] = edges[hop - 1] + next_edges
        most[hop] = min(most[hop - 1] + bound, max(profile.num_edges, edges[hop]))
        fewest[hop] = edges[exact + 1]
        high[hop] = min(high[hop - 1] + most[hop] - most[hop - 1], profile.num_nodes)
        low[hop] = low[exact]
        reached = profile.reached(edges[hop])
        fresh = others * np.maximum(reached - before, 0)
        nodes[hop] = min(nodes[hop - 1] + float(fresh.sum()), high[hop])
        if hop < depth:
            next_edges = float(np.dot(fresh, profile.taken(fanouts[hop])))
            bound = profile.num_edges if fanouts[hop] < 0 else high[hop] * fanouts[hop]
            before = reached
    return {"unique_nodes": _between(nodes, low, high), "num_edges": _between(edges, fewest, most)}


def _between(mean: FloatArray, low: FloatArray, high: FloatArray) -> Spread:
    return Spread(mean=mean, low=low, high=high, error=np.maximum(high - mean, mean - low))


def _drawn(graph: Graph, seeds: IdArray, fanouts: tuple[int, ...], rng_seed: int) -> dict[str, Spread]:
    """Sample the batch: one draw says nothing of the others, so the error stays infinite."""
    subgraph = NeighborSampler(fanouts=fanouts).sample(graph, seeds, epoch=0, batch=0, rng_seed=rng_seed)
    nodes = np.cumsum(subgraph.num_nodes_per_hop).astype(np.float64)
    edges = np.cumsum([0, *subgraph.num_edges_per_hop]).astype(np.float64)
    return {"unique_nodes": Spread.of(nodes[None]), "num_edges": Spread.of(edges[None])}


def _slots(graph: Graph, profile: DegreeProfile, seeds: IdArray, fanouts: tuple[int, ...], exact: int) -> Spread:
    """Return the slots: exact one hop beyond the nodes that are, since the last hop needs only degrees."""
    hops = min(exact + 1, len(fanouts))
    slots = np.zeros(len(fanouts) + 1)
    size = graph.num_nodes
    mass, lists = [np.zeros(size) for _ in range(2)], [np.empty(size, np.int64) for _ in range(2)]
    takes = np.asarray(fanouts[:hops], np.int64)
    tree_slots(graph.indptr, graph.indices, seeds, takes, *mass, *lists, slots[: hops + 1])
    for hop in range(hops + 1, len(slots)):
        slots[hop] = slots[hop - 1] + (slots[hop - 1] - slots[hop - 2]) * profile.branching(fanouts[hop - 1])
    error = np.where(np.arange(len(slots)) <= hops, 0.0, np.inf)
    return Spread(mean=slots, low=slots, high=slots, error=error)
