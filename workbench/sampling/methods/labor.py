"""Layer-neighbour sampling: nodes of a hop that share a neighbour draw it together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.core.rng import key64
from workbench.sampling import kernels, kernels_whole
from workbench.sampling.base import SAMPLERS, Ids, SampledSubgraph, Sampler
from workbench.sampling.expand import Drawn, Frontier, Room, expand
from workbench.sampling.room import written
from workbench.sampling.scratch import Scratch
from workbench.sampling.topology import Topology


@SAMPLERS.register("labor")
@dataclass(frozen=True, slots=True, kw_only=True)
class LaborSampler(Sampler):
    """Takes an in-edge where its source's random number is at most fanout / degree: fewer nodes, the same variance.

    A source has one number a hop, whoever asks, so that nodes with common neighbours take the same ones. Each edge of
    a node of degree d is taken with probability min(1, f / d) and weighs its inverse; that there are f of them, and
    the bound on the nodes, holds in expectation only. The weighted sum over a node's edges is unbiased, with the
    variance of as many independent draws.

    Balin & Catalyurek, "Layer-Neighbor Sampling: Defusing Neighborhood Explosion in GNNs" (LABOR-0), NeurIPS 2023.
    """

    fanouts: tuple[int, ...] = param(
        (15, 10),
        help="in-edges expected a node at each hop, next to the seeds first; -1 = all",
        unit="edges",
        minimum=-1,
    )
    shared_hops: bool = param(False, help="whether a source has the same number at every hop: fewer nodes still")

    def __post_init__(self) -> None:
        if not self.fanouts or min(self.fanouts) < -1:
            findings = Findings("sampler 'labor'")
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
        indptr, indices = np.asarray(graph.indptr), np.asarray(graph.indices)

        def draw(hop: int, frontier: Frontier, room: Room) -> Drawn:
            fanout, nodes = self.fanouts[hop - 1], frontier.nodes
            hop_key = np.uint64(key64(rng_seed, epoch, batch, 1 if self.shared_hops else hop))
            expected = kernels.count_edges(indptr, nodes, fanout, False)
            destinations, edge_ids, edge_weight = written(
                lambda *out: kernels_whole.draw_shared(indptr, indices, nodes, frontier.first, fanout, hop_key, *out),
                room_for=expected + expected // 8 + 64,
                kinds=(np.int64, np.int64, np.float32),
            )
            return Drawn(destinations=destinations, edge_ids=edge_ids, edge_weight=edge_weight)

        return expand(graph, seed_nodes, len(self.fanouts), draw, scratch=scratch)
