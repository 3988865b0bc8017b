"""Several steps on each rank by itself, then the mean of what they came to."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.core.phases import Phase
from workbench.train.base import UPDATES, StepTotals, Strategy, Update, UpdateRun
from workbench.train.lone_steps import refuse_common_steps

if TYPE_CHECKING:
    from workbench.train.recorder import Recorder
    from workbench.train.transport import Transport

KIND = "parameter_average"  # as what the bytes of averages are counted


@UPDATES.register("local_sgd")
@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSgd(Update):
    """Local SGD: every rank takes `local_steps` steps with its own gradients, then parameters are averaged.

    ``theta = sum_r n_r theta_r / sum_r n_r``, with n_r the seeds of rank r since the last average: unequal ranks count
    by what they trained on, and one without a seed meanwhile takes over the others' mean. With one local step and plain
    SGD it is ``all_reduce``. Ranks meet every `local_steps` steps, counted over the ends of epochs, and hand over
    ``|theta| s`` bytes each.

    Averaged are the parameters that train. The state of the optimiser (momentum, Adam's moments) stays with its rank.
    BatchNorm's running statistics stay with their rank too, as by every rule, and are averaged for evaluation.
    Evaluation, checkpoints and the final model see the average of all ranks as they stand; training goes on from each
    rank's own parameters, so that evaluating more often changes nothing. A checkpoint holds both.

    Stich, "Local SGD Converges Fast and Communicates Little", ICLR 2019, arXiv 1805.09767.
    """

    local_steps: int = param(8, help="steps of each rank from one average to the next", unit="steps", minimum=1)

    def check(self, strategy: Strategy, *, trainers: int, findings: Findings) -> None:
        fix = "use update='all_reduce', or strategy='mini_batch', 'cluster_batch' or 'partitioned_mini_batch'"
        refuse_common_steps(strategy, trainers, findings, instead=fix)

    def open(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, transport: Transport, recorder: Recorder
    ) -> UpdateRun:
        return _LocalSgdRun(self.local_steps, module, optimizer, transport, recorder)


class _LocalSgdRun(UpdateRun):
    is_by_rank = True

    def __init__(
        self,
        local_steps: int,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        transport: Transport,
        recorder: Recorder,
    ) -> None:
        self._parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self._local_steps, self._optimizer = local_steps, optimizer
        self._transport, self._recorder = transport, recorder
        self._step = 0  # of the run, so that averages fall on the same steps after a restart
        self._weight = 0  # own seeds since the last average
        self._untold = [0.0, 0.0, 0.0]  # loss, seeds, votes that the other ranks do not know of
        self._aside: list[Tensor] | None = None  # own parameters, while the module has the average

    def apply(self, loss_sum: float, num_seeds: int, vote: float) -> StepTotals:
        self._step += 1
        self._untold = [a + b for a, b in zip(self._untold, (loss_sum, num_seeds, vote), strict=True)]
        if num_seeds and math.isfinite(loss_sum):
            with self._recorder.span(Phase.UPDATE):
                for parameter in self._parameters:
                    if parameter.grad is not None:
                        parameter.grad /= num_seeds
                self._optimizer.step()
                self._weight += num_seeds
        if self._step % self._local_steps:
            return StepTotals(loss_sum=0.0, num_seeds=0, vote=0.0)
        self._take_over(self._mean())
        self._weight = 0
        return self.settle()

    def settle(self) -> StepTotals:
        """Return the sums of all ranks since the last time."""
        totals = torch.tensor(self._untold, dtype=torch.float64)
        self._untold = [0.0, 0.0, 0.0]
        if self._transport.world_size > 1:
            self._transport.all_reduce(totals, kind="control")
        loss, seeds, votes = totals.tolist()
        return StepTotals(loss_sum=loss, num_seeds=round(seeds), vote=votes)

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Give the module the average of the ranks as they stand, then its own parameters again."""
        self._aside = own = [parameter.detach().clone() for parameter in self._parameters]
        self._take_over(self._mean())
        try:
            yield
        finally:
            self._take_over(own)
            self._aside = None

    def _mean(self) -> list[Tensor]:
        """Return the parameters' mean over ranks, by their seeds; those of every rank alike where none had a seed."""
        own = [parameter.detach() for parameter in self._parameters]
        if self._transport.world_size == 1 or not own:
            return own
        with self._recorder.span(Phase.WAIT_FOR_RANK):
            weights = torch.zeros(self._transport.world_size, dtype=torch.float64)
            weights[self._transport.rank] = self._weight
            self._transport.all_reduce(weights, kind="control")
        if not float(weights.sum()):
            return own  # nobody has moved since the last average
        share = float(weights[self._transport.rank] / weights.sum())
        flat = torch.cat([tensor.reshape(-1).to(_wide(own)) for tensor in own]) * share
        if not share:
            flat.zero_()  # what has diverged elsewhere does not come from here
        with self._recorder.span(Phase.ALL_REDUCE):
            self._transport.all_reduce(flat, kind=KIND)
        parts = torch.split(flat, [tensor.numel() for tensor in own])
        return [part.view_as(like).to(like.dtype) for part, like in zip(parts, own, strict=True)]

    @torch.no_grad()
    def _take_over(self, values: list[Tensor]) -> None:
        for parameter, value in zip(self._parameters, values, strict=True):
            parameter.copy_(value)

    def state_dict(self) -> dict[str, Any]:
        """Return the step and what this rank alone has: parameters, optimiser, seeds since the last average."""
        own = self._aside if self._aside is not None else [parameter.detach() for parameter in self._parameters]
        return {
            "step": self._step,
            "weight": self._weight,
            "untold": list(self._untold),
            "parameters": own,
            "optimizer": self._optimizer.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put back this rank's own state."""
        self._step, self._weight, self._untold = state["step"], state["weight"], list(state["untold"])
        self._take_over(state["parameters"])
        self._optimizer.load_state_dict(state["optimizer"])


def _wide(tensors: list[Tensor]) -> torch.dtype:
    dtype = torch.float32
    for tensor in tensors:
        dtype = torch.promote_types(dtype, tensor.dtype)
    return dtype
