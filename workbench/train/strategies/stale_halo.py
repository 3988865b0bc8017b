"""Full-batch training on a partitioned graph without waiting for it: rows of other ranks are some steps old."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor, nn

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.core.registry import Registry
from workbench.partition import PARTITIONERS
from workbench.train.base import STRATEGIES, Job, StepWork, Strategy, StrategyRun
from workbench.train.lateness import Schedule
from workbench.train.part_params import masks_param, partition_param, refuse_samplers

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.train.boundaries.stale import StaleRows
    from workbench.train.exact import Inference
    from workbench.train.part_runner import PartRunner

_SMOOTHED = {"both": {"halo", "halo_gradient"}, "features": {"halo"}, "gradients": {"halo_gradient"}}


@STRATEGIES.register("stale_halo")
@dataclass(frozen=True, slots=True, kw_only=True)
class StaleHalo(Strategy):
    """Full-batch training on a divided graph with rows of other ranks that are late: PipeGCN.

    As ``halo_exchange``, but no rank waits: rows and gradients of the halo travel while the ranks compute, and a step
    ``t`` reads those of step ``t - T`` (T = `staleness_bound`). With T = 1 it is PipeGCN, with T = 0 ``halo_exchange``
    exactly. The first T steps read zeros. With `refresh_every` R, rows are sent every R steps and read at ages
    ``T - R + 1`` to T: an R-th of the bytes. Kept features, degrees, BatchNorm statistics and the evaluation are
    exact. Wan et al., "PipeGCN: Efficient Full-Graph Training of Graph Convolutional Networks with Pipelined Feature
    Communication", ICLR 2022, arXiv 2203.10428.
    """

    parts: ClassVar[Mapping[str, Registry[Any]]] = MappingProxyType({"partition": PARTITIONERS})
    computes_together: ClassVar[bool] = True

    partition: Any = partition_param()  # noqa: RUF009 - a field
    dropout_masks: str = masks_param()
    staleness_bound: int = param(
        1,
        help="T: greatest age of a row that another rank sent, of T steps of which rows are kept; 0: halo_exchange",
        unit="steps",
        minimum=0,
    )
    refresh_every: int = param(1, help="R: rows are sent every R steps; at most T + 1", unit="steps", minimum=1)
    smoothing: float = param(
        0.0,
        help="gamma in average <- gamma average + (1 - gamma) received, from zeros on; below 1; 0: none",
        minimum=0.0,
        maximum=1.0,
    )
    smoothed: str = param("both", help="what is smoothed: rows, their gradients, or both", choices=tuple(_SMOOTHED))

    def check(self, graph: Graph, *, trainers: int, samplers: int, findings: Findings) -> None:
        refuse_samplers("stale_halo", samplers, findings)
        if self.refresh_every > self.staleness_bound + 1:
            expected = f"at most staleness_bound + 1 = {self.staleness_bound + 1}: rows grow a step older every step"
            fix = f"staleness_bound={self.refresh_every - 1} or more, or a smaller refresh_every="
            findings.add("refresh_every", expected, self.refresh_every, fix)
        if self.smoothing >= 1:
            findings.add("smoothing", "below 1: else what is received never counts", self.smoothing, "smoothing=0.95")
        if self.smoothing and self.staleness_bound == 0:
            got, fix = f"{self.smoothing} with staleness_bound=0", "remove smoothing=, or staleness_bound=1"
            findings.add("smoothing", "0 where no row is late", got, fix)

    def check_model(self, make: Callable[[], nn.Module], graph: Graph, *, trainers: int, findings: Findings) -> None:
        if trainers > 1:
            from workbench.train.exactness import refuse_inexact  # PyG takes seconds to import

            refuse_inexact(make(), graph, findings, keyed=self.dropout_masks == "keyed")

    def open(self, job: Job) -> StrategyRun:
        return _StaleRun(self, job)


class _StaleRun:
    steps_per_epoch = 1

    def __init__(self, strategy: StaleHalo, job: Job) -> None:
        from workbench.train.boundaries.stale import StaleRows  # PyG takes seconds to import
        from workbench.train.part_run import PartRun

        self._schedule = Schedule(bound=strategy.staleness_bound, refresh_every=strategy.refresh_every)

        def rows(runner: PartRunner) -> StaleRows:
            smoothing, smoothed = strategy.smoothing, _SMOOTHED[strategy.smoothed]
            self._rows = StaleRows(
                runner.exchange, self._schedule, smoothing=smoothing, smoothed=smoothed, recorder=job.recorder
            )
            return self._rows

        keyed = strategy.dropout_masks == "keyed"
        self._run = PartRun("stale_halo", strategy.partition, job, keyed=keyed, make_rows=rows)
        self.node_ids, self.inference = self._run.node_ids, _Settled(self._run.inference, self._rows)
        self._context = job.context

    def works(self, first_epoch: int, first_step: int) -> Iterator[StepWork]:
        lag, context = self._schedule.lag, self._context
        if first_step == 1 and lag and context.rank == 0 and context.world_size > 1:
            steps = "step 1 reads" if lag == 1 else f"steps 1 to {lag} read"
            text = f"stale_halo: {steps} zeros for rows of other ranks and their gradients: none have arrived by then."
            context.emit("log_written", level="info", text=text)
        return self._run.works(first_epoch, first_step)

    def state_dict(self) -> dict[str, Any]:
        """Return the rows that earlier steps have sent to this rank and later ones read."""
        return self._rows.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._rows.load_state_dict(state)

    def close(self) -> None:
        self._run.close()


class _Settled:
    """Exact inference, before which everything has arrived that is under way."""

    def __init__(self, inference: Inference, rows: StaleRows) -> None:
        self._inference, self._rows = inference, rows

    def run(self, module: nn.Module, keep: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``keep(outputs)`` for all nodes; all ranks call it."""
        self._rows.settle()
        return self._inference.run(module, keep)
