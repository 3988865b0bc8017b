"""The whole graph in every step, on one rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor, nn

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.train.base import STRATEGIES, Job, StepWork, Strategy, StrategyRun
from workbench.train.folds import FoldedLinks
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


class _FullGraphRun:
    steps_per_epoch = 1

    def __init__(self, strategy: FullGraph, job: Job) -> None:
        context = job.context
        self._rng_seed = context.config.rng_seed if strategy.dropout_masks == "keyed" else None
        self._num_epochs, graph = context.config.epochs, context.graph
        dtype = next((p.dtype for p in job.module.parameters()), torch.float32)
        self._inputs = whole_graph_inputs(graph, context.device, dtype)
        train_nodes = job.task.labelled(graph, graph.train_nodes)
        self._train_nodes = torch.from_numpy(train_nodes).to(context.device)
        self._targets = torch.from_numpy(graph.y[train_nodes]).to(context.device)
        self._num_nodes, self._num_edges = graph.num_nodes, graph.num_edges

    def works(self, first_epoch: int, first_step: int) -> Iterator[StepWork]:
        for epoch in range(first_step, self._num_epochs + 1):  # one step an epoch
            yield StepWork(
                epoch=epoch,
                step=epoch,
                num_seeds=len(self._train_nodes),
                num_nodes=self._num_nodes,
                num_edges=self._num_edges,
                targets=self._targets,
                forward=partial(self._forward, step=epoch),
            )

    def _forward(self, module: nn.Module, step: int) -> Tensor:
        from workbench.models import call_model

        if self._rng_seed is None:
            outputs: Tensor = call_model(module, self._inputs)
            return outputs[self._train_nodes]
        from workbench.train.keyed_dropout import KeyedDropout, rows_of_graph  # PyG takes seconds to import
        from workbench.train.message_watch import MessageWatch

        watch, rows = MessageWatch(), rows_of_graph(self._num_nodes, self._inputs.edge_index)
        with watch.on(module), KeyedDropout(rows, (self._rng_seed, step), watch):
            outputs = call_model(module, self._inputs)
        return outputs[self._train_nodes]

    def close(self) -> None:
        """Nothing is held open."""
