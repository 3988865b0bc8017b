"""Neighbour sampling: a bounded number of in-edges for every node that a hop discovers."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.sampling.base import SAMPLERS, Ids, SampledSubgraph, Sampler
from workbench.sampling.expand import expand
from workbench.sampling.scratch import Scratch
from workbench.sampling.topology import Topology


@SAMPLERS.register("neighbor")
@dataclass(frozen=True, slots=True, kw_only=True)
class NeighborSampler(Sampler):
    """Draws up to a fanout of in-edges uniformly for every newly discovered node, hop by hop.

    Without replacement a node of degree d gets min(fanout, d) distinct edges, every set equally likely (parallel
    edges are distinct); with replacement, `fanout` independent draws, or none where d = 0. A batch of b seeds has
    at most min(n, b (1 + f1 + f1 f2 + ...)) nodes.

    Hamilton, Ying & Leskovec, "Inductive Representation Learning on Large Graphs", NeurIPS 2017.
    """

    fanouts: tuple[int, ...] = param(
        (15, 10), help="in-edges drawn a node at each hop, next to the seeds first; -1 = all", unit="edges", minimum=-1
    )
    replace: bool = param(False, help="whether an edge may be drawn more than once for a node")

    def __post_init__(self) -> None:
        if not self.fanouts or min(self.fanouts) < -1:
            findings = Findings("sampler 'neighbor'")
            findings.add("fanouts", "one number a hop, each -1 or more", self.fanouts, "pass e.g. fanouts=(15, 10)")
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
        key = (rng_seed, epoch, batch)
        return expand(graph, seed_nodes, self.fanouts, replace=self.replace, key=key, scratch=scratch)
