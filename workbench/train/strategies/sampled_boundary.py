"""Full-batch training on a partitioned graph with a random share of the rows at the borders of its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from torch import nn

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.core.registry import Registry
from workbench.partition import PARTITIONERS
from workbench.train.base import STRATEGIES, Job, Strategy, StrategyRun
from workbench.train.part_params import masks_param, partition_param, refuse_samplers

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.train.boundaries.sampled import SampledRows
    from workbench.train.part_runner import PartRunner


@STRATEGIES.register("sampled_boundary")
@dataclass(frozen=True, slots=True, kw_only=True)
class SampledBoundary(Strategy):
    """Full-batch training on a divided graph that fetches each row of the halo with probability q: BNS-GCN.

    As ``halo_exchange``, but in every step each part draws which nodes of its halo it reads, once for all layers.
    Received rows are divided by q and the others read as zeros, so that sums (and means) over neighbours keep their
    expectation; gradients travel back along the rows that were drawn. In expectation ``q`` times the bytes of
    ``halo_exchange``; with q = 1 the same result. Draws depend on (rng_seed, step, reading part, node) alone. A
    maximum or an attention over neighbours sees the zeros: its expectation differs. Kept features, degrees, BatchNorm
    statistics and the evaluation are exact. Wan et al., "BNS-GCN: Efficient Full-Graph Training of Graph
    Convolutional Networks with Partition-Parallelism and Random Boundary Node Sampling", MLSys 2022, arXiv 2203.10983.
    """

    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({"partition": PARTITIONERS})
    computes_together: ClassVar[bool] = True

    partition: Any = partition_param()  # noqa: RUF009 - a field
    dropout_masks: str = masks_param()
    boundary_rate: float = param(
        0.1, help="q: share of the halo's rows that travel in a step; 1: all, 0: none", minimum=0.0, maximum=1.0
    )

    def check(self, graph: Graph, *, trainers: int, samplers: int, findings: Findings) -> None:
        refuse_samplers("sampled_boundary", samplers, findings)

    def check_model(self, make: Callable[[], nn.Module], graph: Graph, *, trainers: int, findings: Findings) -> None:
        if trainers > 1:
            from workbench.train.exactness import refuse_inexact  # PyG takes seconds to import

            refuse_inexact(make(), graph, findings, keyed=self.dropout_masks == "keyed")

    def open(self, job: Job) -> StrategyRun:
        from workbench.train.boundaries.sampled import SampledRows  # PyG takes seconds to import
        from workbench.train.part_run import PartRun

        def rows(runner: PartRunner) -> SampledRows:
            return SampledRows(runner.exchange, runner.part, self.boundary_rate, job.context.config.rng_seed)

        keyed = self.dropout_masks == "keyed"
        return PartRun("sampled_boundary", self.partition, job, keyed=keyed, make_rows=rows)
