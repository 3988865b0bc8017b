"""Neighbour sampling: a bounded number of in-edges for every node that a hop discovers."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.sampling.base import SAMPLERS, Ids, SampledSubgraph, Sampler
from workbench.sampling.columns import edge_weights, require_drawable, times_for
from workbench.sampling.draws import NO_TIMES, Choice, Key, draw_chosen, draw_uniformly
from workbench.sampling.expand import Draw, expand
from workbench.sampling.induced import both_ways, with_all_edges
from workbench.sampling.scratch import Scratch
from workbench.sampling.topology import Topology


@SAMPLERS.register("neighbor")
@dataclass(frozen=True, slots=True, kw_only=True)
class NeighborSampler(Sampler):
    """Draws up to a fanout of in-edges for every newly discovered node, hop by hop.

    Without replacement a node of degree d gets min(fanout, d) distinct edges, every set equally likely (parallel
    edges are distinct); with replacement, `fanout` independent draws, or none where d = 0. A batch of b seeds has
    at most min(n, b (1 + f1 + f1 f2 + ...)) nodes.

    With weights an edge is drawn in proportion to its weight, one after another among those left where there is no
    replacement; an edge of weight 0 is never taken. With times no edge is later than its seed, at any hop, and each
    seed has a tree of its own, as with `disjoint`; a seed's tree depends on the seed and the key, not on the others.

    Hamilton, Ying & Leskovec, "Inductive Representation Learning on Large Graphs", NeurIPS 2017.
    """

    fanouts: tuple[int, ...] = param(
        (15, 10), help="in-edges drawn a node at each hop, next to the seeds first; -1 = all", unit="edges", minimum=-1
    )
    replace: bool = param(False, help="whether an edge may be drawn more than once for a node")
    weight_attr: str | None = param(None, help="column of edge_data by which edges are drawn; None = uniformly")
    time_attr: str | None = param(None, help="column of edge_data or node_data with times; None = without times")
    temporal_strategy: str = param(
        "uniform", help="among the edges up to the seed's time: any, or the last", choices=("uniform", "last")
    )
    disjoint: bool = param(False, help="whether each seed has a tree of its own, side by side; always so with times")
    subgraph_type: str = param(
        "directional",
        help="the edges drawn; those and their reverses; or all edges among the nodes",
        choices=("directional", "bidirectional", "induced"),
    )

    def __post_init__(self) -> None:
        findings = Findings("sampler 'neighbor'")
        if not self.fanouts or min(self.fanouts) < -1:
            findings.add("fanouts", "one number a hop, each -1 or more", self.fanouts, "pass e.g. fanouts=(15, 10)")
        if self.temporal_strategy == "last":
            if self.time_attr is None:
                findings.add("time_attr", "a column of times for 'last'", None, "pass time_attr='time'")
            for name, off in (("replace", False), ("weight_attr", None)):
                if getattr(self, name) != off:
                    got = f"{getattr(self, name)!r}, while the last edges are taken and nothing is drawn"
                    findings.add(name, repr(off), got, f"remove {name}=, or use temporal_strategy='uniform'")
        findings.raise_if_any()

    @property
    def is_by_hop(self) -> bool:
        return self.subgraph_type == "directional"

    @property
    def has_trees(self) -> bool:
        return self.disjoint or self.time_attr is not None

    def sample(
        self,
        graph: Topology,
        seed_nodes: Ids,
        *,
        epoch: int,
        batch: int,
        rng_seed: int,
        scratch: Scratch | None = None,
        seed_times: Any = None,
    ) -> SampledSubgraph:
        draw = self._draw(graph, seed_nodes, (rng_seed, epoch, batch), seed_times)
        finish = functools.partial(with_all_edges, graph) if self.subgraph_type == "induced" else None
        trees = self.has_trees
        found = expand(graph, seed_nodes, len(self.fanouts), draw, disjoint=trees, scratch=scratch, finish=finish)
        return both_ways(found) if self.subgraph_type == "bidirectional" else found

    def _draw(self, graph: Topology, seed_nodes: Ids, key: Key, seed_times: Any) -> Draw:
        if seed_times is not None and self.time_attr is None:
            findings = Findings("sampler 'neighbor'")
            findings.add("seed_times", "none without time_attr", "times", "pass time_attr= too, or remove seed_times=")
            findings.raise_if_any()
        if self.weight_attr is None and not self.has_trees:
            return draw_uniformly(graph, self.fanouts, replace=self.replace, key=key)
        name, times = self.weight_attr, NO_TIMES
        if self.time_attr is not None:
            times = times_for(graph, self.time_attr, seed_nodes, seed_times)
        choice = Choice(replace=self.replace, times=times, takes_last=self.temporal_strategy == "last")
        if name is not None:
            weightless = functools.partial(require_drawable, name=name)
            choice = Choice(
                replace=self.replace, times=times, weights=edge_weights(graph, name), when_weightless=weightless
            )
        return draw_chosen(graph, seed_nodes, self.fanouts, choice=choice, key=key)
