"""Gradients go to a server, parameters come back: no rank waits for another within a bound."""

from __future__ import annotations

import io
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
from workbench.train.server_link import ServerLink, open_link
from workbench.train.server_main import as_bytes, flat_dtype

if TYPE_CHECKING:
    from workbench.train.recorder import Recorder
    from workbench.train.transport import Transport

_POLL_AT_LEAST_EVERY = 32  # steps
PUSH, PULL = "parameter_push", "parameter_pull"  # as what bytes to and from the server are counted


@UPDATES.register("parameter_server")
@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterServer(Update):
    """A server holds the parameters and the one optimiser; ranks push gradients and pull parameters over TCP.

    The bound: a rank that has pushed step t may pull for step t + 1 when no rank is more than
    `staleness_bound` steps behind it; else it waits. So what is read lacks at most the last `staleness_bound` steps of
    any rank: its age is told in every step. Each rank moves ``|theta| s`` bytes to the server and as many back, a step.

    With bound 0 the server waits for all ranks, adds their gradients in rank order, divides by all seeds and steps
    once: that is ``all_reduce``. With a greater one each push is a step of the optimiser by itself, with the mean
    gradient of that rank's seeds, at the moment it arrives: as many updates as ranks where ``all_reduce`` makes one
    (a smaller `lr` may be due), on gradients of older parameters. Such a run depends on who is how fast: another time,
    and after a restart, it comes to the same accuracy, not to the same bits. At the end of an epoch all ranks meet and
    read the newest parameters, as evaluation, checkpoints and the final model do.

    The server is a process of its own on the host of rank 0, and ends with it. That it or a rank is gone shows within
    seconds; the run then restarts from the last checkpoint, which holds the server's optimiser.

    Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server", NeurIPS 2013.
    """

    staleness_bound: int = param(
        4, help="steps that a rank may be ahead of the slowest; 0: all wait for all", unit="steps", minimum=0
    )

    @property
    def is_reproducible(self) -> bool:
        return self.staleness_bound == 0

    def check(self, strategy: Strategy, *, trainers: int, findings: Findings) -> None:
        if self.staleness_bound:
            fix = "use update='all_reduce' or staleness_bound=0, or a strategy with batches such as 'mini_batch'"
            refuse_common_steps(strategy, trainers, findings, instead=fix)

    def open(
        self, module: nn.Module, optimizer: torch.optim.Optimizer, transport: Transport, recorder: Recorder
    ) -> UpdateRun:
        return _ServerRun(self.staleness_bound, module, optimizer, transport, recorder)


class _ServerRun(UpdateRun):
    def __init__(
        self,
        bound: int,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        transport: Transport,
        recorder: Recorder,
    ) -> None:
        self._parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
        self._bound, self._transport, self._recorder = bound, transport, recorder
        self._step = 0
        self._untold = [0.0, 0.0]  # loss and seeds that the other ranks do not know of
        # Commands of rank 0 are polled when it is sure to have come by, so that the poll holds nobody up; but often
        # enough for a stop to be obeyed soon, though a rank can then not be far ahead of rank 0.
        self.control_every = min(bound + 1, _POLL_AT_LEAST_EVERY)
        self._link: ServerLink = open_link(self._parameters, optimizer, bound, transport)

    def apply(self, loss_sum: float, num_seeds: int, vote: float) -> StepTotals:
        self._step += 1
        flags = [float(parameter.grad is not None) for parameter in self._parameters]
        told = [loss_sum, float(num_seeds), vote]
        with self._recorder.span(Phase.EXCHANGE):
            payload = as_bytes(self._gradients())
            answer, body = self._link.ask({"op": "step", "step": self._step, "flags": flags, "told": told}, payload)
            self._take_over(body)
        self._recorder.count_round(PUSH)
        self._recorder.count(PUSH, len(payload))
        self._recorder.count(PULL, len(body))
        self._recorder.read("parameters", [answer["age"]], bound=self._bound)
        if self._bound and math.isfinite(loss_sum):
            self._untold = [self._untold[0] + loss_sum, self._untold[1] + num_seeds]
        return StepTotals(loss_sum=answer["loss"], num_seeds=round(answer["seeds"]), vote=answer["vote"])

    def _gradients(self) -> Tensor:
        dtype = flat_dtype(self._parameters)
        parts = [p.new_zeros(p.numel()) if p.grad is None else p.grad.reshape(-1) for p in self._parameters]
        return torch.cat([part.to(dtype) for part in parts] or [torch.zeros(0)])

    def _take_over(self, body: bytearray) -> None:
        if body:
            self._write(torch.frombuffer(body, dtype=flat_dtype(self._parameters)))

    @torch.no_grad()
    def _write(self, flat: Tensor) -> None:
        sizes = [parameter.numel() for parameter in self._parameters]
        for parameter, part in zip(self._parameters, torch.split(flat, sizes), strict=True):
            parameter.copy_(part.view_as(parameter))

    def settle(self) -> StepTotals:
        """Return the sums of all ranks since the last time, and read the newest parameters."""
        loss, seeds = self._come_together()
        self._untold = [0.0, 0.0]
        self._read_newest()
        return StepTotals(loss_sum=loss, num_seeds=round(seeds), vote=0.0)

    def _come_together(self) -> tuple[float, float]:
        """Wait until all ranks have pushed what they have, and return their sums."""
        totals = torch.tensor(self._untold, dtype=torch.float64)
        self._transport.all_reduce(totals, kind="control")
        loss, seeds = totals.tolist()
        return loss, seeds

    def _read_newest(self) -> None:
        """Let all ranks have the server's parameters; rank 0 asks, so that no other needs the server when it ends."""
        flat = torch.zeros(sum(p.numel() for p in self._parameters), dtype=flat_dtype(self._parameters))
        if self._transport.rank == 0:
            _, body = self._link.ask({"op": "fetch"})
            if body:
                flat = torch.frombuffer(body, dtype=flat.dtype)
        self._transport.broadcast(flat, kind="broadcast")
        self._write(flat)

    @contextmanager
    def settled(self) -> Iterator[None]:
        """Give all ranks the server's parameters; they keep them."""
        if self._bound:
            self._transport.barrier()
            self._read_newest()
        yield

    def state_dict(self) -> dict[str, Any]:
        """Return the step, the server's optimiser, and what ranks have not told; all ranks call it."""
        loss, seeds = self._come_together()
        found = torch.zeros(0, dtype=torch.uint8)
        if self._transport.rank == 0:
            _, body = self._link.ask({"op": "save"})
            found = torch.frombuffer(body, dtype=torch.uint8)
        return {"step": self._step, "untold": [loss, seeds], "optimizer": found}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Let the server go on from a checkpoint; all ranks call it."""
        self._step = state["step"]
        self._untold = list(state["untold"]) if self._transport.rank == 0 else [0.0, 0.0]
        if self._transport.rank == 0:
            optimizer = torch.load(io.BytesIO(state["optimizer"].numpy().tobytes()), weights_only=True)
            buffer = io.BytesIO()
            parameters = [parameter.detach().cpu() for parameter in self._parameters]
            torch.save({"parameters": parameters, "optimizer": optimizer}, buffer)
            self._link.ask({"op": "load", "step": self._step}, buffer.getvalue())
        self._transport.barrier()

    def close(self) -> None:
        """Leave the server; rank 0 ends it."""
        self._link.close()
