"""The whole neighbourhood: every in-edge of every node within a number of hops."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.params import param
from workbench.sampling.base import SAMPLERS, Ids, SampledSubgraph, Sampler
from workbench.sampling.draws import draw_uniformly
from workbench.sampling.expand import expand
from workbench.sampling.scratch import Scratch
from workbench.sampling.topology import Topology


@SAMPLERS.register("full")
@dataclass(frozen=True, slots=True, kw_only=True)
class FullSampler(Sampler):
    """Takes every in-edge of every node within `num_hops` hops of the seeds; nothing is random."""

    num_hops: int = param(2, help="hops to follow: the message-passing layers of the model", unit="hops", minimum=1)

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
        draw = draw_uniformly(graph, (-1,) * self.num_hops, replace=False, key=(rng_seed, epoch, batch))
        return expand(graph, seed_nodes, self.num_hops, draw, scratch=scratch)
