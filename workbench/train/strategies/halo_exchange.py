"""Full-batch training on a partitioned graph: ranks exchange the rows at the borders of their parts in every layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from workbench.core.errors import Findings, RunError
from workbench.core.params import param
from workbench.core.registry import Registry
from workbench.partition import PARTITIONERS
from workbench.train.base import STRATEGIES, Job, StepWork, Strategy, StrategyRun
from workbench.train.partitioned import FOLDER, open_local_part
from workbench.train.seeding import seed_step

if TYPE_CHECKING:
    from workbench.graph import Graph


@STRATEGIES.register("halo_exchange")
@dataclass(frozen=True, slots=True, kw_only=True)
class HaloExchangeTraining(Strategy):
    """Full-batch training with the graph divided among the trainers: the result is that of ``full_graph``.

    Each trainer owns a part and computes its nodes. Before every message-passing call it fetches the rows of the
    nodes that its own ones read from their owners, and in the backward pass the gradients travel back: forward
    ``s H sum_{l>=1} F_l`` bytes a step over all ranks and backward as many, with H the summed halo sizes, F_l the
    width at the l-th call and s the bytes of a number. The features of the halo (l = 0) are kept from the start, so
    they never move where the model reads them as they are. One step an epoch.
    """

    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({"partition": PARTITIONERS})
    computes_together: ClassVar[bool] = True

    partition: Any = param("metis", help="one part a trainer: a method's name, its object, or a Partition")  # noqa: RUF009
    dropout_masks: str = param(
        "keyed",
        help="keyed: by (step, call, node), so that they are the same for any number of trainers; drawn: by each rank",
        choices=("keyed", "drawn"),
    )

    def check(self, graph: Graph, *, trainers: int, samplers: int, findings: Findings) -> None:
        if samplers != 0:
            findings.add("samplers", "0 for halo_exchange, which samples nothing", samplers, "remove samplers=")

    def check_model(self, make: Callable[[], nn.Module], graph: Graph, *, trainers: int, findings: Findings) -> None:
        if trainers > 1:
            from workbench.train.exactness import refuse_inexact  # PyG takes seconds to import

            refuse_inexact(make(), graph, findings, keyed=self.dropout_masks == "keyed")

    def open(self, job: Job) -> StrategyRun:
        return _HaloRun(self, job)


class _HaloRun:
    steps_per_epoch = 1

    def __init__(self, strategy: HaloExchangeTraining, job: Job) -> None:
        from workbench.train.part_runner import PartInference, PartRunner  # PyG takes seconds to import

        context = job.context
        self._num_epochs = context.config.epochs
        dtype = next((p.dtype for p in job.module.parameters()), torch.float32)
        part = open_local_part(strategy.partition[FOLDER], context.rank)
        if part.num_parts != context.world_size:
            raise RunError(
                f"halo_exchange: expected one rank for each of {part.num_parts} parts; got {context.world_size} ranks. "
                f"Fix: launch again with trainers={context.world_size}"
            )
        self.node_ids = part.inner_nodes.copy()  # whose rows its model gives
        self._runner = PartRunner(part, context.transport, context.device, dtype, job.recorder)
        self.inference = PartInference(self._runner, context.transport)
        graph = part.graph
        train_nodes = job.task.labelled(graph, graph.train_nodes)
        self._train_nodes = torch.from_numpy(train_nodes).to(context.device)
        self._targets = torch.from_numpy(graph.y[train_nodes]).to(context.device)
        self._num_nodes, self._num_edges = part.num_inner, graph.num_edges
        self._rng_seed = context.config.rng_seed if strategy.dropout_masks == "keyed" else None

    def works(self, first_epoch: int, first_step: int) -> Iterator[StepWork]:
        for epoch in range(first_step, self._num_epochs + 1):  # one step an epoch
            yield StepWork(
                epoch=epoch,
                step=epoch,
                num_seeds=len(self._train_nodes),
                num_nodes=self._num_nodes,
                num_edges=self._num_edges,
                targets=self._targets,
                forward=partial(self._forward, key=None if self._rng_seed is None else (self._rng_seed, epoch)),
                joins=True,
            )

    def _forward(self, module: nn.Module, key: tuple[int, ...] | None) -> Tensor:
        if key is not None:
            # Dropout has its keys. What else the model draws, such as whether it skips a layer, all ranks draw alike:
            # they make the same calls, or wait for each other in vain.
            seed_step(key[0], key[1], key[1], rank=0)
        return self._runner.forward(module, dropout_key=key)[self._train_nodes]

    def close(self) -> None:
        """Nothing is held open."""
