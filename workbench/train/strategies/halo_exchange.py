"""Full-batch training on a partitioned graph: ranks exchange the rows at the borders of their parts in every layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from torch import nn

from workbench.core.errors import Findings
from workbench.core.registry import Registry
from workbench.partition import PARTITIONERS
from workbench.train.base import STRATEGIES, Job, Strategy, StrategyRun
from workbench.train.part_params import masks_param, partition_param, refuse_samplers

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

    partition: Any = partition_param()  # noqa: RUF009 - a field
    dropout_masks: str = masks_param()

    def check(self, graph: Graph, *, trainers: int, samplers: int, findings: Findings) -> None:
        refuse_samplers("halo_exchange", samplers, findings)

    def check_model(self, make: Callable[[], nn.Module], graph: Graph, *, trainers: int, findings: Findings) -> None:
        if trainers > 1:
            from workbench.train.exactness import refuse_inexact  # PyG takes seconds to import

            refuse_inexact(make(), graph, findings, keyed=self.dropout_masks == "keyed")

    def open(self, job: Job) -> StrategyRun:
        from workbench.train.part_run import PartRun  # PyG takes seconds to import

        return PartRun("halo_exchange", self.partition, job, keyed=self.dropout_masks == "keyed")
