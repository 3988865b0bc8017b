"""Shadow sampling: each seed's bounded neighbourhood as a graph of its own, of any depth of model."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.params import param
from workbench.sampling.base import SAMPLERS, Ids, SampledSubgraph, Sampler
from workbench.sampling.methods.neighbor import NeighborSampler
from workbench.sampling.scratch import Scratch
from workbench.sampling.topology import Topology


@SAMPLERS.register("shadow")
@dataclass(frozen=True, slots=True, kw_only=True)
class ShadowSampler(Sampler):
    """Draws each seed's bounded neighbourhood, and takes all edges among its nodes; they lie side by side.

    The depth of the model is no longer that of the neighbourhood: any number of layers runs on the same subgraph.
    `batch` says to which seed a node belongs; the root of the subgraph of seed i is node i. A seed's subgraph depends
    on the seed and the key, not on the other seeds.

    Zeng et al., "Decoupling the Depth and Scope of Graph Neural Networks" (shaDow-GNN), NeurIPS 2021.
    """

    num_hops: int = param(2, help="hops of a seed's neighbourhood", unit="hops", minimum=1)
    fanout: int = param(10, help="in-edges drawn a node at each hop; -1 = all", unit="edges", minimum=-1)
    replace: bool = param(False, help="whether an edge may be drawn more than once for a node")

    @property
    def is_by_hop(self) -> bool:
        return False

    @property
    def has_trees(self) -> bool:
        return True

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
        trees = NeighborSampler(
            fanouts=(self.fanout,) * self.num_hops, replace=self.replace, disjoint=True, subgraph_type="induced"
        )
        return trees.sample(graph, seed_nodes, epoch=epoch, batch=batch, rng_seed=rng_seed, scratch=scratch)
