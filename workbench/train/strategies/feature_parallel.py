"""Full-batch training with the features divided: every rank propagates some columns of all nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from torch import nn

from workbench.core.errors import Findings
from workbench.train.base import STRATEGIES, Job, Strategy, StrategyRun
from workbench.train.part_params import masks_param, refuse_samplers

if TYPE_CHECKING:
    from workbench.graph import Graph


@STRATEGIES.register("feature_parallel")
@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureParallelTraining(Strategy):
    """Full-batch training with the features divided among the trainers: the result is that of ``full_graph``.

    Each trainer computes an equal share of the rows, whichever way the graph is connected. Around every propagation
    rows become columns: a trainer has 1/p of the columns of all nodes, propagates them over all edges, and gets its
    rows back. That moves ``2 n F s (p - 1) / p`` bytes over all ranks and layers forward, and as many backward, with
    F the width that is propagated: no matter how the graph is cut, so it pays where every cut is bad, and costs more
    than ``halo_exchange`` where there is a good one. A first layer that propagates the features as they are moves half
    of it forward and backward each: columns of the features were read at the start. All edges are in the memory of
    every rank.

    For layers that treat columns alike: GCN, SAGE, GIN, GraphConv, SGC, APPNP, Cheb and their like; attention and
    edge features mix columns and are refused. One step an epoch.

    Besta & Hoefler, "Parallel and Distributed Graph Neural Networks", arXiv 2205.09702 (feature parallelism).
    """

    computes_together: ClassVar[bool] = True

    dropout_masks: str = masks_param()

    def check(self, graph: Graph, *, trainers: int, samplers: int, findings: Findings) -> None:
        refuse_samplers("feature_parallel", samplers, findings)
        if trainers > graph.num_nodes:
            got = f"{trainers} trainers for {graph.num_nodes} nodes"
            findings.add("trainers", "at most one a node", got, f"use at most {graph.num_nodes} trainers")

    def check_model(self, make: Callable[[], nn.Module], graph: Graph, *, trainers: int, findings: Findings) -> None:
        if trainers == 1:
            return
        from workbench.train.boundaries.columns import EXPECTED, layers_of_mixed_columns  # PyG takes seconds to import
        from workbench.train.exactness import refuse_inexact

        module = make()
        mixed = list(layers_of_mixed_columns(module))
        for name, kind in mixed:
            findings.add(f"model.{name}", EXPECTED, kind, "use strategy='halo_exchange', or another layer")
        if not mixed:
            refuse_inexact(module, graph, findings, keyed=self.dropout_masks == "keyed")

    def open(self, job: Job) -> StrategyRun:
        from workbench.train.feature_run import FeatureRun  # PyG takes seconds to import

        return FeatureRun(job, keyed=self.dropout_masks == "keyed")
