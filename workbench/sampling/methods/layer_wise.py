"""Layer-wise importance sampling: a number of nodes for each hop, shared by all nodes of the hop before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.core.rng import generator
from workbench.sampling import kernels_whole
from workbench.sampling.base import SAMPLERS, Ids, SampledSubgraph, Sampler
from workbench.sampling.degrees import column_norms
from workbench.sampling.derived import DERIVED
from workbench.sampling.expand import Drawn, Frontier, Room, expand
from workbench.sampling.room import written
from workbench.sampling.scratch import POOL, Scratch
from workbench.sampling.topology import Topology

Floats = NDArray[np.float64]


@SAMPLERS.register("layer_wise")
@dataclass(frozen=True, slots=True, kw_only=True)
class LayerWiseSampler(Sampler):
    """Draws a fixed number of nodes for each hop by importance, and keeps every edge from them to the hop before.

    ``s`` draws with replacement, of node u with probability q(u); a node drawn c times weighs c / (s q(u)), so that
    the weighted sum over a node's in-edges is unbiased. The importance is the squared norm of u's column in the
    adjacency matrix with rows that sum to one, q(u) ~ sum over u's out-edges to v of 1 / degree(v)²: over the edges
    to the nodes of the hop before (``ladies``), or over all edges of the graph (``fastgcn``), where most of what is
    drawn has no edge to the batch. A node may be left without an in-edge. A batch of b seeds has at most
    b + s1 + s2 + ... nodes: it grows with the number of hops, not with its power.

    Chen, Ma & Xiao, "FastGCN", ICLR 2018; Zou et al., "Layer-Dependent Importance Sampling for Training Deep and
    Large Graph Convolutional Networks" (LADIES), NeurIPS 2019.
    """

    layer_sizes: tuple[int, ...] = param(
        (512, 512), help="draws for each hop, next to the seeds first", unit="draws", minimum=1
    )
    importance: str = param(
        "ladies", help="by the edges to the hop before, or by all edges of the graph", choices=("ladies", "fastgcn")
    )

    def __post_init__(self) -> None:
        if not self.layer_sizes:
            findings = Findings("sampler 'layer_wise'")
            findings.add("layer_sizes", "one number a hop", self.layer_sizes, "pass e.g. layer_sizes=(512, 512)")
            findings.raise_if_any()

    def sample(
        self,
        graph: Topology,
        seed_nodes: Ids,
        *,
        epoch: int,
        batch: int,
        rng_seed: int,
        scratch: Scratch | None = None,
    ) -> SampledSubgraph:
        if scratch is None:
            with POOL.borrow(graph.num_nodes) as lent:
                return self.sample(graph, seed_nodes, epoch=epoch, batch=batch, rng_seed=rng_seed, scratch=lent)
        topology, marks = (np.asarray(graph.indptr), np.asarray(graph.indices)), scratch.marks
        choose = _by_frontier if self.importance == "ladies" else _by_graph

        def draw(hop: int, frontier: Frontier, room: Room) -> Drawn:
            tag = scratch.next_mark()
            rng = generator(rng_seed, epoch, batch, hop)
            weights = choose(graph, frontier.nodes, self.layer_sizes[hop - 1], rng, marks, tag)
            arguments = (*topology, frontier.nodes, frontier.first, marks, tag, weights)
            destinations, edge_ids, edge_weight = written(
                lambda *out: kernels_whole.draw_marked(*arguments, *out),
                room_for=4 * self.layer_sizes[hop - 1],
                kinds=(np.int64, np.int64, np.float32),
            )
            return Drawn(destinations=destinations, edge_ids=edge_ids, edge_weight=edge_weight)

        return expand(graph, seed_nodes, len(self.layer_sizes), draw, scratch=scratch)


def _by_frontier(
    graph: Topology, frontier: Ids, num_draws: int, rng: np.random.Generator, marks: Ids, tag: int
) -> NDArray[np.float32]:
    """Draw sources of a frontier's in-edges by their importance to it, mark them, and return what each weighs.

    An in-edge of v is drawn with probability ~ 1 / degree(v)²: v with ~ 1 / degree(v), then one of its edges. Its
    source u is then drawn with probability ~ the sum over u's edges, and no list of all sources is ever made.
    """
    indptr, indices = np.asarray(graph.indptr), np.asarray(graph.indices)
    starts = indptr[frontier]
    degrees = indptr[frontier + 1] - starts
    sums = np.cumsum(np.divide(1.0, degrees, where=degrees > 0, out=np.zeros(len(frontier))))
    if not len(sums) or not sums[-1] > 0:
        return np.empty(0, np.float32)
    chosen = np.searchsorted(sums, _places(rng, num_draws, sums[-1]))
    edges = starts[chosen] + (rng.random(num_draws) * degrees[chosen]).astype(np.int64)
    nodes, counts = np.unique(indices[edges].astype(np.int64), return_counts=True)
    kernels_whole.mark_nodes(nodes, marks, tag)
    mass = np.zeros(len(nodes))
    kernels_whole.weigh_marked(indptr, indices, frontier, marks, tag, mass)
    return _weights(counts, num_draws, mass / sums[-1])


def _by_graph(
    graph: Topology, frontier: Ids, num_draws: int, rng: np.random.Generator, marks: Ids, tag: int
) -> NDArray[np.float32]:
    """Draw nodes by their importance to the whole graph, mark them, and return what each weighs."""
    mass = column_norms(graph, self_loops=False)
    sums = DERIVED.get(graph.indptr, "sums of column norms", lambda: np.cumsum(mass))
    if not len(sums) or not sums[-1] > 0:
        return np.empty(0, np.float32)
    nodes, counts = np.unique(np.searchsorted(sums, _places(rng, num_draws, sums[-1])), return_counts=True)
    kernels_whole.mark_nodes(nodes, marks, tag)
    return _weights(counts, num_draws, mass[nodes] / sums[-1])


def _places(rng: np.random.Generator, num_draws: int, total: float) -> Floats:
    """Return `num_draws` numbers above 0 and up to `total`: what weighs nothing is never drawn."""
    return (1.0 - rng.random(num_draws)) * total


def _weights(counts: Ids, num_draws: int, chances: Floats) -> NDArray[np.float32]:
    """Return c / (s q) of nodes that were drawn c times in s draws, each of probability q."""
    return (counts / (num_draws * chances)).astype(np.float32)
