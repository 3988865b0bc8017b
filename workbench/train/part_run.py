"""Full-batch training on one part of a graph, one step an epoch: what all partition-parallel strategies share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from torch import Tensor, nn

from workbench.core.errors import RunError
from workbench.train.base import Job
from workbench.train.full_batch import FullBatchRun, precision_of
from workbench.train.part_runner import PartInference, PartRunner
from workbench.train.partitioned import FOLDER, open_local_part
from workbench.train.seeding import seed_step

if TYPE_CHECKING:
    from workbench.train.call import Call


class StepRows(Protocol):
    """Brings the rows of the halo in training: a :class:`HaloRows` that knows the step."""

    def begin(self, step: int, module: nn.Module) -> None:
        """Get ready for the forward and the backward of a global step."""
        ...

    def with_halo(self, call: Call, x: Tensor) -> Tensor: ...


class PartRun(FullBatchRun):
    """A partition-parallel strategy at work on one rank.

    Parameters
    ----------
    name : str
        Of the strategy, for errors.
    partition : mapping
        The record of the parts, as :func:`record_parts` makes it.
    job : Job
    keyed : bool
        Whether dropout masks are keyed.
    make_rows : callable, optional
        ``make_rows(runner)`` is where the rows of the halo come from in training; by default from their owners, in
        the same step and whole. Evaluation is always exact.
    """

    def __init__(
        self,
        name: str,
        partition: Mapping[str, Any],
        job: Job,
        *,
        keyed: bool,
        make_rows: Callable[[PartRunner], StepRows] | None = None,
    ) -> None:
        context = job.context
        part = open_local_part(partition[FOLDER], context.rank)
        if part.num_parts != context.world_size:
            raise RunError(
                f"{name}: expected one rank for each of {part.num_parts} parts; got {context.world_size} ranks. "
                f"Fix: launch again with trainers={context.world_size}"
            )
        self.node_ids = part.inner_nodes.copy()  # whose rows its model gives
        self._runner = PartRunner(part, context.transport, context.device, precision_of(job.module), job.recorder)
        self.inference = PartInference(self._runner, context.transport)
        super().__init__(job, part.graph, slice(0, part.num_inner))
        self._rng_seed = context.config.rng_seed if keyed else None
        self._rows = None if make_rows is None else make_rows(self._runner)

    def _forward(self, module: nn.Module, step: int) -> Tensor:
        key = None if self._rng_seed is None else (self._rng_seed, step)
        if key is not None:
            # Dropout has its keys. What else the model draws, such as whether it skips a layer, all ranks draw alike:
            # they make the same calls, or wait for each other in vain.
            seed_step(key[0], step, step, rank=0)
        if self._rows is not None:
            self._rows.begin(step, module)
        return self._runner.forward(module, dropout_key=key, rows=self._rows)
