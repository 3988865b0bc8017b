"""GraphSAINT's random-walk sampler: what walks from random roots visit, with all edges among it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.params import param
from workbench.core.rng import key64
from workbench.sampling import kernels_saint
from workbench.sampling.base import SAMPLERS, Ids, SampledSubgraph, Sampler
from workbench.sampling.derived import DERIVED
from workbench.sampling.drawn import at_least_once, both_at_least_once, normalised, subgraph_among
from workbench.sampling.scratch import Scratch
from workbench.sampling.topology import Topology

Floats = NDArray[np.float64]
_STREAM, _PRESAMPLED = 0x5A14703, 0x5A14704


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkChances:
    """What one walk visits, estimated from many: nodes, and both ends of edges.

    Parameters
    ----------
    of_nodes : array, int64 (n)
        Walks that visited each node.
    of_edges : array, int32 (m)
        Walks that visited both ends of each edge.
    num_walks : int
    """

    of_nodes: Ids
    of_edges: NDArray[np.int32]
    num_walks: int

    def node(self, nodes: Ids) -> Floats:
        """Return the chance that a walk visits each of the nodes: at least that of beginning there."""
        chance: Floats = np.maximum(self.of_nodes[nodes] / self.num_walks, 1.0 / max(len(self.of_nodes), 1))
        return chance

    def both(self, edge_ids: Ids) -> Floats:
        """Return the chance that a walk visits both ends of each of the edges."""
        chance: Floats = self.of_edges[edge_ids] / self.num_walks
        return chance


def _above_zero(both: Floats, indptr: Ids, destinations: Ids) -> Floats:
    """Return what an edge has where the only walk was never seen at both ends: it begins at one, then steps along."""
    degrees = indptr[destinations + 1] - indptr[destinations]
    above: Floats = np.where(both > 0, both, 1.0 / ((len(indptr) - 1) * degrees))
    return above


@SAMPLERS.register("saint_walk")
@dataclass(frozen=True, slots=True, kw_only=True)
class SaintWalkSampler(Sampler):
    """Walks from random roots against the edges, and takes all edges among the nodes visited.

    Draws its seeds: those of `seed_nodes` that were visited. Roots are uniform over all nodes, with replacement; a
    walk ends early at a node without in-edges. What one walk visits is estimated once a graph from other walks, about
    `coverage` visits a node; the chances of a batch follow from it in closed form, since its walks are independent.
    The weights of edges and losses are as exact as that estimate. An epoch has as many batches as make one visit a
    node.

    Zeng et al., "GraphSAINT: Graph Sampling Based Inductive Learning Method", ICLR 2020.
    """

    draws_seeds: ClassVar[bool] = True

    num_roots: int = param(600, help="walks for a batch", unit="walks", minimum=1, maximum=2**31)
    walk_length: int = param(2, help="steps of a walk", unit="steps", minimum=0, maximum=1_000_000)
    coverage: int = param(100, help="visits a node, on average, by which chances are estimated", minimum=1)

    def num_batches(self, graph: Topology) -> int:
        return -(-graph.num_nodes // (self.num_roots * (self.walk_length + 1)))

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
        key = np.uint64(key64(rng_seed, epoch, batch, _STREAM))
        num_walks = self.num_roots if graph.num_nodes else 0
        visited = np.empty(num_walks * (self.walk_length + 1), np.int64)
        topology = np.asarray(graph.indptr), np.asarray(graph.indices)
        count = kernels_saint.walk_from_roots(*topology, key, num_walks, self.walk_length, visited)
        chances = self.chances(graph)
        return normalised(
            subgraph_among(graph, np.unique(visited[:count]), seed_nodes, scratch=scratch),
            len(seed_nodes),
            node_chance=lambda nodes: at_least_once(chances.node(nodes), num_walks),
            pair_chance=lambda u, v, edge_ids: _above_zero(
                both_at_least_once(chances.node(u), chances.node(v), chances.both(edge_ids), num_walks), topology[0], v
            ),
        )

    def chances(self, graph: Topology) -> WalkChances:
        """Return what one walk visits, estimated once a process; the same in all processes."""
        return DERIVED.get(graph.indptr, ("walks", self.walk_length, self.coverage), lambda: self._presample(graph))

    def _presample(self, graph: Topology) -> WalkChances:
        num_walks = -(-self.coverage * graph.num_nodes // (self.walk_length + 1))
        of_nodes, of_edges = np.zeros(graph.num_nodes, np.int64), np.zeros(graph.num_edges, np.int32)
        topology = np.asarray(graph.indptr), np.asarray(graph.indices)
        key = np.uint64(key64(_PRESAMPLED))
        kernels_saint.count_visits(*topology, key, num_walks, self.walk_length, of_nodes, of_edges)
        return WalkChances(of_nodes=of_nodes, of_edges=of_edges, num_walks=max(num_walks, 1))
