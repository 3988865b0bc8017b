"""Layer-wise importance sampling: a number of nodes for each hop, shared by all nodes of the hop before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.core.rng import generator
from workbench.sampling import kernels, kernels_whole
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
        choose = _of_frontier if self.importance == "ladies" else _of_graph

        def draw(hop: int, frontier: Frontier, room: Room) -> Drawn:
            chances = choose(graph, frontier.nodes, scratch)
            nodes, weights = chances.draw(self.layer_sizes[hop - 1], generator(rng_seed, epoch, batch, hop))
            tag = scratch.next_mark()
            kernels_whole.mark_nodes(nodes, marks, tag)
            arguments = (*topology, frontier.nodes, frontier.first, marks, tag, weights)
            destinations, edge_ids, edge_weight = written(
                lambda *out: kernels_whole.draw_marked(*arguments, *out),
                room_for=4 * self.layer_sizes[hop - 1],
                kinds=(np.int64, np.int64, np.float32),
            )
            return Drawn(destinations=destinations, edge_ids=edge_ids, edge_weight=edge_weight)

        return expand(graph, seed_nodes, len(self.layer_sizes), draw, scratch=scratch)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chances:
    """Nodes (all of the graph where None), how much each counts, and the sums up to each."""

    nodes: Ids | None
    mass: Floats
    sums: Floats

    def draw(self, num_draws: int, rng: np.random.Generator) -> tuple[Ids, NDArray[np.float32]]:
        """Return the nodes that were drawn, ascending by position, and what each weighs."""
        if not len(self.sums) or not self.sums[-1] > 0:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        total = self.sums[-1]
        marks = (1.0 - rng.random(num_draws)) * total  # above 0: what weighs nothing is never drawn
        places, counts = np.unique(np.searchsorted(self.sums, marks), return_counts=True)
        weights = (counts * total / (num_draws * self.mass[places])).astype(np.float32)
        return (places if self.nodes is None else self.nodes[places]), weights


def _of_frontier(graph: Topology, nodes: Ids, scratch: Scratch) -> _Chances:
    """Return the sources of a frontier's in-edges by their importance to it."""
    indptr, indices = np.asarray(graph.indptr), np.asarray(graph.indices)
    most = min(graph.num_nodes, kernels.count_edges(indptr, nodes, -1, False))
    candidates, mass = np.empty(most, np.int64), np.empty(most)
    count = kernels_whole.weigh_sources(indptr, indices, nodes, scratch.marks, scratch.next_mark(), candidates, mass)
    return _Chances(nodes=candidates[:count], mass=mass[:count], sums=np.cumsum(mass[:count]))


def _of_graph(graph: Topology, nodes: Ids, scratch: Scratch) -> _Chances:
    """Return all nodes by their importance to the whole graph."""
    mass = column_norms(graph, self_loops=False)
    sums = DERIVED.get(graph.indptr, "sums of column norms", lambda: np.cumsum(mass))
    return _Chances(nodes=None, mass=mass, sums=sums)
