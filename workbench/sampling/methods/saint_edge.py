"""GraphSAINT's edge sampler: edges between nodes of few edges first, with all edges among their ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.params import param
from workbench.core.rng import key64
from workbench.sampling import kernels_saint
from workbench.sampling.base import SAMPLERS, Ids, SampledSubgraph, Sampler
from workbench.sampling.degrees import in_degrees, sum_over_in_edges, sum_over_out_edges
from workbench.sampling.derived import DERIVED
from workbench.sampling.drawn import at_least_once, both_at_least_once, normalised, subgraph_among
from workbench.sampling.scratch import Scratch
from workbench.sampling.topology import Topology

Floats = NDArray[np.float64]
_STREAM = 0x5A14702


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeChances:
    """The chances of one draw, from edge weights 1 / degree(u) + 1 / degree(v).

    Parameters
    ----------
    inverse : array, float64 (n)
        1 / in-degree, 1 for a node without in-edges.
    sums : array, float64 (n)
        Weight of the in-edges of all nodes up to each: the last is the total.
    touched : array, float64 (n)
        The probability that the edge drawn begins or ends at a node.
    """

    inverse: Floats
    sums: Floats
    touched: Floats

    @classmethod
    def of(cls, graph: Topology) -> EdgeChances:
        """Compute them; the work is linear in the edges."""
        degrees = in_degrees(graph)
        inverse = 1.0 / np.maximum(degrees, 1)
        into = sum_over_in_edges(graph, inverse) + degrees * inverse
        ones = sum_over_out_edges(graph, np.ones(graph.num_nodes))
        out = sum_over_out_edges(graph, inverse) + ones * inverse
        sums = np.cumsum(into)
        total = sums[-1] if len(sums) and sums[-1] > 0 else 1.0
        loops = 2.0 * inverse * kernels_saint.count_loops(np.asarray(graph.indptr), np.asarray(graph.indices))
        return cls(inverse=inverse, sums=sums, touched=np.minimum((into + out - loops) / total, 1.0))


@SAMPLERS.register("saint_edge")
@dataclass(frozen=True, slots=True, kw_only=True)
class SaintEdgeSampler(Sampler):
    """Draws edges with replacement by 1 / degree(u) + 1 / degree(v), and takes all edges among their ends.

    Draws its seeds: those of `seed_nodes` that an edge drawn touches; a node without edges never is. The chances of
    nodes and of pairs follow in closed form, and with them the weights of edges and losses are exact. An epoch has as
    many batches as make two ends a draw touch each node once.

    Zeng et al., "GraphSAINT: Graph Sampling Based Inductive Learning Method", ICLR 2020.
    """

    draws_seeds: ClassVar[bool] = True

    num_draws: int = param(1000, help="draws for a batch, each of an edge", unit="draws", minimum=1)

    def num_batches(self, graph: Topology) -> int:
        return -(-graph.num_nodes // (2 * self.num_draws))

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
        chances = DERIVED.get(graph.indptr, "edge chances", lambda: EdgeChances.of(graph))
        topology = np.asarray(graph.indptr), np.asarray(graph.indices)
        ends = np.empty(2 * self.num_draws if graph.num_edges else 0, np.int64)
        key = np.uint64(key64(rng_seed, epoch, batch, _STREAM))
        kernels_saint.draw_edges(*topology, chances.inverse, chances.sums, key, ends)

        def pair_chance(sources: Ids, destinations: Ids, _: Ids) -> Floats:
            joined = kernels_saint.count_joins(*topology, sources, destinations)
            together = joined * (chances.inverse[sources] + chances.inverse[destinations]) / chances.sums[-1:].sum()
            touched = chances.touched
            return both_at_least_once(touched[sources], touched[destinations], together, self.num_draws)

        return normalised(
            subgraph_among(graph, np.unique(ends), seed_nodes, scratch=scratch),
            len(seed_nodes),
            node_chance=lambda nodes: at_least_once(chances.touched[nodes], self.num_draws),
            pair_chance=pair_chance,
        )
