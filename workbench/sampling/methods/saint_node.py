"""GraphSAINT's node sampler: nodes drawn by importance, with all edges among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.params import param
from workbench.core.rng import generator
from workbench.sampling.base import SAMPLERS, Ids, SampledSubgraph, Sampler
from workbench.sampling.degrees import column_norms
from workbench.sampling.derived import DERIVED
from workbench.sampling.drawn import at_least_once, both_at_least_once, normalised, subgraph_among
from workbench.sampling.scratch import Scratch
from workbench.sampling.topology import Topology

Floats = NDArray[np.float64]
_STREAM = 0x5A14701


@SAMPLERS.register("saint_node")
@dataclass(frozen=True, slots=True, kw_only=True)
class SaintNodeSampler(Sampler):
    """Draws nodes with replacement by the norm of their columns, and takes all edges among them.

    Draws its seeds: those of `seed_nodes` that were drawn. Of `num_draws` draws each takes node v with probability
    q(v), the squared norm of its column in the adjacency matrix with self-loops and rows that sum to one. The chances
    of nodes and of pairs follow in closed form, and with them the weights of edges and losses are exact. An epoch
    has as many batches as make one draw a node.

    Zeng et al., "GraphSAINT: Graph Sampling Based Inductive Learning Method", ICLR 2020.
    """

    draws_seeds: ClassVar[bool] = True

    num_draws: int = param(2000, help="draws for a batch, each of a node", unit="draws", minimum=1)

    def num_batches(self, graph: Topology) -> int:
        return -(-graph.num_nodes // self.num_draws)

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
        chance = self.chances(graph)
        sums = DERIVED.get(chance, "sums", lambda: np.cumsum(chance))
        marks = (1.0 - generator(rng_seed, epoch, batch, _STREAM).random(self.num_draws)) * sums[-1:].sum()
        drawn = np.unique(np.searchsorted(sums, marks)) if len(sums) else np.empty(0, np.int64)
        return normalised(
            subgraph_among(graph, drawn, seed_nodes, scratch=scratch),
            len(seed_nodes),
            node_chance=lambda nodes: at_least_once(chance[nodes], self.num_draws),
            pair_chance=lambda u, v, _: both_at_least_once(chance[u], chance[v], np.zeros(len(u)), self.num_draws),
        )

    def chances(self, graph: Topology) -> Floats:
        """Return the probability of each node in one draw, float64 (n)."""
        norms = column_norms(graph, self_loops=True)
        return DERIVED.get(norms, "shares", lambda: norms / max(norms.sum(), 1e-300))
