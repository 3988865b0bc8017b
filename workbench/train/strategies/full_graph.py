"""The whole graph in every step, on one rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from torch import nn

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.train.base import STRATEGIES, Job, Strategy, StrategyRun
from workbench.train.folds import FoldedLinks
from workbench.train.full_batch import FullBatchRun, precision_of
from workbench.train.task import Unit
from workbench.train.whole import whole_graph_inputs

if TYPE_CHECKING:
    from workbench.graph import Graph


@STRATEGIES.register("full_graph")
@dataclass(frozen=True, slots=True, kw_only=True)
class FullGraph(Strategy):
    """Full-batch training: one step an epoch, over all nodes and edges, in the memory of one rank.

    Links are predicted in folds, one a step: each from the edges of all the others.
    """

    serves: ClassVar[frozenset[Unit]] = frozenset({"node", "edge"})

    dropout_masks: str = param(
        "drawn",
        help="drawn: from PyTorch's stream; keyed: by (step, call, node), as halo_exchange has them",
        choices=("drawn", "keyed"),
    )

    def check(self, graph: Graph, *, trainers: int, samplers: int, findings: Findings) -> None:
        if trainers != 1:
            got = f"{trainers}: each of them would compute the same whole graph again"
            fix = "use trainers=1, or strategy='mini_batch', which divides the training nodes among trainers"
            findings.add("trainers", "1 for full_graph", got, fix)
        if samplers != 0:
            findings.add("samplers", "0 for full_graph, which samples nothing", samplers, "remove samplers=")

    def open(self, job: Job) -> StrategyRun:
        return _FullGraphRun(self, job) if job.task.unit == "node" else FoldedLinks(job)


class _FullGraphRun(FullBatchRun):
    joins = False

    def __init__(self, strategy: FullGraph, job: Job) -> None:
        context = job.context
        super().__init__(job, context.graph)
        self._rng_seed = context.config.rng_seed if strategy.dropout_masks == "keyed" else None
        self._inputs = whole_graph_inputs(context.graph, context.device, precision_of(job.module))

    def _forward(self, module: nn.Module, step: int) -> Any:
        from workbench.models import call_model

        if self._rng_seed is None:
            return call_model(module, self._inputs)
        from workbench.train.keyed_dropout import KeyedDropout, rows_of_graph  # PyG takes seconds to import
        from workbench.train.message_watch import MessageWatch

        watch, rows = MessageWatch(), rows_of_graph(self._num_nodes, self._inputs.edge_index)
        with watch.on(module), KeyedDropout(rows, (self._rng_seed, step), watch):
            return call_model(module, self._inputs)
