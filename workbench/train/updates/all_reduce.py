"""One update from the gradients of all ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from workbench.core.phases import Phase
from workbench.train.base import UPDATES, StepTotals, Update, UpdateRun

if TYPE_CHECKING:
    from workbench.train.recorder import Recorder
    from workbench.train.transport import Transport


@UPDATES.register("all_reduce")
@dataclass(frozen=True, slots=True, kw_only=True)
class AllReduce(Update):
    """Synchronous SGD: all ranks step with the gradient of the whole global batch.

    ``g = (sum_r sum_{i in batch_r} grad loss_i) / (sum_r |batch_r|)``: weighted by node, so that unequal ranks give
    the gradient of their joint batch exactly, and a rank without a seed joins with zeros. One flat buffer of a
    fixed layout is reduced, so the order of summation never changes in a run.
    """

    def open(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, transport: Transport, recorder: Recorder
    ) -> UpdateRun:
        parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        return _AllReduceRun(parameters, optimizer, transport, recorder)


class _AllReduceRun(UpdateRun):
    """Holds the flat buffer: gradients, one flag a parameter (does it have a gradient?), three totals."""

    def __init__(
        self,
        parameters: list[nn.Parameter],
        optimizer: torch.optim.Optimizer,
        transport: Transport,
        recorder: Recorder,
    ) -> None:
        self._parameters, self._optimizer, self._transport = parameters, optimizer, transport
        self._recorder = recorder
        dtype = torch.float32
        for parameter in parameters:
            dtype = torch.promote_types(dtype, parameter.dtype)
        sizes = [parameter.numel() for parameter in parameters]
        device = parameters[0].device if parameters else torch.device("cpu")
        self._flat = torch.zeros(sum(sizes) + len(sizes) + 3, dtype=dtype, device=device)
        *self._gradients, self._flags, self._totals = torch.split(self._flat, [*sizes, len(sizes), 3])

    def apply(self, loss_sum: float, num_seeds: int, vote: float) -> StepTotals:
        self._fill(loss_sum, num_seeds, vote)
        if self._transport.world_size > 1:
            with self._recorder.span(Phase.WAIT_FOR_RANK):
                self._transport.barrier()  # so that waiting for a slow rank does not pass as communication
            with self._recorder.span(Phase.ALL_REDUCE):
                self._transport.all_reduce(self._flat)
        loss, seeds, votes = self._totals.tolist()
        totals = StepTotals(loss_sum=loss, num_seeds=round(seeds), vote=votes)
        if totals.num_seeds and math.isfinite(loss):
            with self._recorder.span(Phase.UPDATE):
                self._spread(totals.num_seeds)
                self._optimizer.step()
        return totals

    def _fill(self, loss_sum: float, num_seeds: int, vote: float) -> None:
        has_gradient = [parameter.grad is not None for parameter in self._parameters]
        for parameter, flat in zip(self._parameters, self._gradients, strict=True):
            if parameter.grad is None:
                flat.zero_()
            else:
                flat.copy_(parameter.grad.reshape(-1))
        self._flags.copy_(torch.tensor(has_gradient))
        self._totals.copy_(torch.tensor([loss_sum, num_seeds, vote], dtype=self._flat.dtype))

    def _spread(self, num_seeds: int) -> None:
        flags: list[float] = self._flags.tolist()
        for parameter, flat, flag in zip(self._parameters, self._gradients, flags, strict=True):
            # No rank has a gradient: the optimiser leaves the parameter alone, as in one process.
            parameter.grad = _mean_of(flat, num_seeds, parameter) if flag else None

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing is kept between steps."""


def _mean_of(flat: Tensor, num_seeds: int, like: Tensor) -> Tensor:
    return (flat / num_seeds).to(like.dtype).view_as(like)
