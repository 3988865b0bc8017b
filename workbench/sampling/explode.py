"""The neighbourhood explosion: what a batch of seeds reads, hop by hop, exactly.

With all neighbours, L hops reach most of a graph from a few seeds, because hubs are near everything; sampling
a fixed number of neighbours a node bounds it. Each quantity here is counted, not modelled: unique nodes and
edges by search, tree slots as walks. The first batch is an estimate of the mean that comes in milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from workbench.core.errors import Findings
from workbench.core.given import note_whole, require_graph
from workbench.core.params import coerce
from workbench.core.units import format_count
from workbench.sampling.explosion_kernels import grow, tree_slots
from workbench.sampling.explosion_record import Explosion, FloatArray, Growth, Spread
from workbench.sampling.explosion_seeds import IdArray, random_seeds
from workbench.sampling.methods.neighbor import NeighborSampler
from workbench.sampling.scratch import Scratch
from workbench.sampling.seeds import as_node_ids

if TYPE_CHECKING:
    from workbench.graph import Graph

DEFAULT_FANOUTS = (15, 10, 5)
MAX_DEPTH = 16
_YIELD_EVERY_S = 0.1

Progress = Callable[[int, int], None]
Cancelled = Callable[[], bool]

_FANOUTS = next(info for info in NeighborSampler.describe() if info.name == "fanouts")


def explosion(
    graph: Graph,
    seed_nodes: ArrayLike | None = None,
    *,
    num_seeds: int = 1024,
    depth: int | None = None,
    fanouts: Sequence[int] | None = None,
    num_batches: int = 20,
    rng_seed: int = 0,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Explosion:
    """Count what a batch of seeds reads within each hop, with all neighbours and with sampled ones.

    Parameters
    ----------
    graph : Graph
        Its in-edges are followed from destination to source.
    seed_nodes : array_like of int or bool, optional
        The seeds of every batch; only the sampling then differs between batches. Default: random nodes.
    num_seeds : int
        Random seeds of a batch, all distinct; at most the number of nodes.
    depth : int, optional
        Hops; default the number of fanouts, else 3.
    fanouts : sequence of int, optional
        Neighbours drawn a node, hop 1 next to the seeds, -1 = all; default (15, 10, 5), the last one repeated.
    num_batches : int
        Batches to measure.
    progress : callable, optional
        Called with (batches measured, batches in all).
    cancelled : callable, optional
        Asked between batches; once it returns True, what was measured so far is returned (``is_estimate``).

    Returns
    -------
    Explosion
        Means over the batches with their 10th and 90th percentile, for hops 0 to depth.

    Raises
    ------
    InputError
        For seeds out of range, a depth or fanouts that do not fit each other, no batch.
    """
    require_graph(graph, "explosion")
    result: Explosion | None = None
    steps = iter_explosion(
        graph,
        seed_nodes,
        num_seeds=num_seeds,
        depth=depth,
        fanouts=fanouts,
        num_batches=num_batches,
        rng_seed=rng_seed,
        cancelled=cancelled,
    )
    for result in steps:
        if progress is not None:
            progress(result.sampled.num_batches, num_batches)
    assert result is not None, "the first batch is always measured"
    return result


def iter_explosion(
    graph: Graph,
    seed_nodes: ArrayLike | None = None,
    *,
    num_seeds: int = 1024,
    depth: int | None = None,
    fanouts: Sequence[int] | None = None,
    num_batches: int = 20,
    rng_seed: int = 0,
    cancelled: Cancelled | None = None,
) -> Iterator[Explosion]:
    """Yield the explosion after the first batch, then about ten times a second, and at the end (see `explosion`)."""
    hops, taken = _checked(graph, num_seeds, depth, fanouts, num_batches)
    fixed = None if seed_nodes is None else _distinct(as_node_ids(seed_nodes, graph.num_nodes, "seed_nodes"))
    start = shown = time.perf_counter()
    tally = _Tally(graph, hops, taken, num_batches)
    for batch in range(num_batches):
        seeds = random_seeds(graph, num_seeds, batch=batch, rng_seed=rng_seed) if fixed is None else fixed
        tally.measure(seeds, batch, rng_seed, again=fixed is not None and batch > 0)
        now = time.perf_counter()
        stop = cancelled is not None and cancelled()
        if batch in (0, num_batches - 1) or now - shown > _YIELD_EVERY_S or stop:
            shown = now
            yield _summarise(tally, seeds.size, fixed is not None, batch + 1, now - start)
        if stop:
            return


def default_fanouts(depth: int) -> tuple[int, ...]:
    """Return (15, 10, 5) cut or continued with its last entry to `depth` hops."""
    return tuple(DEFAULT_FANOUTS[min(hop, len(DEFAULT_FANOUTS) - 1)] for hop in range(depth))


def row_bytes(graph: Graph) -> int:
    """Return the bytes of one node's dense float32 features; 0 without features."""
    return 0 if graph.x is None else int(graph.x.shape[1]) * 4


def _checked(
    graph: Graph, num_seeds: int, depth: int | None, fanouts: Sequence[int] | None, num_batches: int
) -> tuple[int, tuple[int, ...]]:
    """Return depth and fanouts that fit each other, or raise with every fault."""
    findings = Findings("explosion")
    note_whole(findings, 1, num_seeds=num_seeds, num_batches=num_batches)
    note_whole(findings, **({} if depth is None else {"depth": depth}))
    given = None if fanouts is None else coerce(fanouts, _FANOUTS, findings)
    if graph.num_nodes < 1:
        findings.add("graph", "at least one node", "an empty graph", "load a graph with nodes")
    hops: Any = depth if depth is not None else len(given) if isinstance(given, tuple) else 3
    if isinstance(hops, int | np.integer) and not 1 <= hops <= MAX_DEPTH:
        findings.add("depth", f"1 to {MAX_DEPTH} hops", hops, "use depth=3")
    findings.raise_if_any()
    taken = default_fanouts(hops) if given is None else given
    if len(taken) != hops:
        fix = f"give {hops} fanouts, or leave depth out"
        findings.add("fanouts", f"one fanout a hop ({hops})", f"{len(taken)}: {taken}", fix)
    findings.raise_if_any()
    return int(hops), taken


def _distinct(seeds: IdArray) -> IdArray:
    """Return the seeds once each, in their order; none at all is refused."""
    if seeds.size == 0:
        findings = Findings("explosion")
        findings.add("seed_nodes", "at least one node", "none", "leave seed_nodes out for random seeds")
        findings.raise_if_any()
    _, first = np.unique(seeds, return_index=True)
    return seeds[np.sort(first)]


class _Tally:
    """Measures batches one by one; scratch memory and the rows measured so far."""

    def __init__(self, graph: Graph, depth: int, fanouts: tuple[int, ...], num_batches: int) -> None:
        nodes = graph.num_nodes
        self.graph, self.depth, self.fanouts, self.num_batches = graph, depth, fanouts, num_batches
        self.sampler = NeighborSampler(fanouts=fanouts)
        self.scratch = Scratch(nodes)
        self.stamp, self.queue = np.zeros(nodes, np.int32), np.empty(nodes, np.int64)
        self.mass = (np.zeros(nodes), np.zeros(nodes))
        self.lists = (np.empty(nodes, np.int64), np.empty(nodes, np.int64))
        shape = (num_batches, depth + 1)
        self.full = {key: np.zeros(shape) for key in ("tree_slots", "unique_nodes", "num_edges")}
        self.sampled = {key: np.zeros(shape) for key in ("tree_slots", "unique_nodes", "num_edges")}

    def measure(self, seeds: IdArray, batch: int, rng_seed: int, again: bool) -> None:
        """Measure one batch; with `again` the seeds are those of the batch before, so only the sampling is new."""
        if again:
            for rows in (*self.full.values(), self.sampled["tree_slots"]):
                rows[batch] = rows[batch - 1]
        else:
            graph = self.graph
            nodes, edges = (np.empty(self.depth + 1, np.int64) for _ in range(2))
            grow(graph.indptr, graph.indices, seeds, self.stamp, batch + 1, self.queue, nodes, edges)
            self.full["unique_nodes"][batch], self.full["num_edges"][batch] = nodes, edges
            for counts, fanouts in ((self.full, (-1,) * self.depth), (self.sampled, self.fanouts)):
                self._slots(seeds, fanouts, counts["tree_slots"][batch])
        key = {"epoch": 0, "batch": batch, "rng_seed": rng_seed}
        subgraph = self.sampler.sample(self.graph, seeds, **key, scratch=self.scratch)
        self.sampled["unique_nodes"][batch] = np.cumsum(subgraph.num_nodes_per_hop)
        self.sampled["num_edges"][batch, 1:] = np.cumsum(subgraph.num_edges_per_hop)

    def _slots(self, seeds: IdArray, fanouts: tuple[int, ...], out: FloatArray) -> None:
        graph, takes = self.graph, np.asarray(fanouts, np.int64)
        tree_slots(graph.indptr, graph.indices, seeds, takes, *self.mass, *self.lists, out)


def _summarise(tally: _Tally, num_seeds: int, fixed: bool, measured: int, elapsed_s: float) -> Explosion:
    graph = tally.graph
    degree = graph.num_edges / graph.num_nodes
    kind = "given" if fixed else "random"
    common: dict[str, Any] = {
        "num_batches": measured,
        "num_graph_nodes": graph.num_nodes,
        "row_bytes": row_bytes(graph),
    }
    return Explosion(
        graph_name=graph.name,
        num_nodes=graph.num_nodes,
        num_edges=graph.num_edges,
        seeds=f"A batch of {format_count(num_seeds)} {kind} seeds" if num_seeds > 1 else f"One {kind} seed",
        num_seeds=num_seeds,
        depth=tally.depth,
        walks=num_seeds * degree ** np.arange(tally.depth + 1),
        all_neighbors=Growth(fanouts=(-1,) * tally.depth, **_spreads(tally.full, measured, fixed), **common),
        sampled=Growth(fanouts=tally.fanouts, **_spreads(tally.sampled, measured, False), **common),
        num_batches=tally.num_batches,
        elapsed_s=elapsed_s,
    )


def _spreads(rows: dict[str, FloatArray], measured: int, is_exact: bool) -> dict[str, Any]:
    return {key: Spread.of(values[:measured], is_exact=is_exact) for key, values in rows.items()}
