"""Rows of the halo as their owners had them some steps ago: they travel while the ranks compute (PipeGCN)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from workbench.train.call import BoundaryError, Call
from workbench.train.halo import LAYERS, HaloExchange
from workbench.train.lateness import Arrival, LateRows, Schedule

if TYPE_CHECKING:
    from workbench.train.recorder import Recorder

FORWARD, BACKWARD = "halo", "halo_gradient"  # what is read, as events name it


class StaleRows:
    """Sends rows and their gradients without waiting for them, and reads those that earlier steps brought.

    A call is known by the layer and by how often the layer was called before in the same forward, so that what a
    model leaves out in one step does not shift what it reads in the next.

    Parameters
    ----------
    exchange : HaloExchange
    schedule : Schedule
    smoothing : float
        gamma in ``average <- gamma average + (1 - gamma) received``; 0: what was received.
    smoothed : set of str
        Of ``halo`` (rows) and ``halo_gradient``, which are smoothed.
    recorder : Recorder
        Gets the ages of what is read.
    """

    def __init__(
        self, exchange: HaloExchange, schedule: Schedule, *, smoothing: float, smoothed: set[str], recorder: Recorder
    ) -> None:
        self._exchange, self._schedule, self._recorder = exchange, schedule, recorder
        self._smoothing = {what: smoothing if what in smoothed else 0.0 for what in (FORWARD, BACKWARD)}
        self._late: dict[str, LateRows] = {}
        self._step, self._positions, self._num_calls = 0, dict[int, int](), Counter[int]()

    def begin(self, step: int, module: nn.Module) -> None:
        """Get ready for the forward and the backward of a global step."""
        self._step, self._num_calls = step, Counter()
        self._positions = {id(layer): position for position, layer in enumerate(module.modules())}

    def with_halo(self, call: Call, x: Tensor) -> Tensor:
        """Return (num_local, ...): own rows of now, then those of the halo of the step that the schedule says."""
        if self._exchange.transport.world_size == 1:
            return x
        position = self._positions[id(call.layer)]
        name = f"{position}.{self._num_calls[position]}"
        self._num_calls[position] += 1
        rows: Tensor = _WithStaleHalo.apply(x, self, name, self._step)  # type: ignore[no-untyped-call]
        return rows

    def fetch(self, x: Tensor, name: str, step: int) -> Tensor:
        """Begin to send own rows; return them with those of the halo that an earlier step brought, or zeros."""
        exchange = self._exchange
        rows = x.new_empty(exchange.num_local, *x.shape[1:])
        halo = rows[exchange.num_inner :]

        def start() -> Arrival:
            sent = torch.split(x[exchange.send_nodes], exchange.send_sizes)
            return self._start(sent, torch.empty_like(halo), exchange.halo_sizes, LAYERS.forward, step)

        arrived = self._read(FORWARD, name, step, start)
        rows[: exchange.num_inner] = x
        if arrived is None:
            halo.zero_()
        else:
            halo.copy_(_fitting(arrived, halo, name))
        return rows

    def give_back(self, grad: Tensor, name: str, step: int) -> Tensor:
        """Begin to send the gradients of the halo; return own ones plus those that an earlier step brought."""
        exchange = self._exchange
        rows = grad[: exchange.num_inner].clone()
        received = grad.new_empty(len(exchange.send_nodes), *grad.shape[1:])

        def start() -> Arrival:
            halo = grad[exchange.num_inner :].clone(memory_format=torch.contiguous_format)  # autograd may reuse its own
            sent = torch.split(halo, exchange.halo_sizes)
            return self._start(sent, received, exchange.send_sizes, LAYERS.backward, step)

        arrived = self._read(BACKWARD, name, step, start)
        if arrived is not None:
            blocks = torch.split(_fitting(arrived, received, name), exchange.send_sizes)
            for nodes, block in zip(torch.split(exchange.send_nodes, exchange.send_sizes), blocks, strict=True):
                rows.index_add_(0, nodes, block)
        return rows

    def _start(self, sent: Any, received: Tensor, sizes: list[int], kind: str, step: int) -> Arrival:
        pending = self._exchange.start(sent, torch.split(received, sizes), kind)
        return Arrival(step=step, rows=received, pending=pending)

    def _read(self, what: str, name: str, step: int, start: Callable[[], Arrival]) -> Tensor | None:
        late = self._late.setdefault(f"{what} {name}", LateRows(self._schedule, self._smoothing[what]))
        chosen = late.choose(step, start)
        exchange, bound = self._exchange, self._schedule.bound
        num_rows = len(exchange.send_nodes) if what == BACKWARD else exchange.num_local - exchange.num_inner
        if chosen is None:
            self._recorder.read(what, [], bound=bound, num_cold=num_rows)
            return None
        self._recorder.read(what, np.full(num_rows, step - chosen.step), bound=bound)
        exchange.finish(chosen.pending)
        return late.take(chosen)

    def settle(self) -> None:
        """Wait for everything that is under way; all ranks call it."""
        for late in self._late.values():
            late.settle()

    def state_dict(self) -> dict[str, Any]:
        """Return what earlier steps have brought and later ones read."""
        self.settle()
        return {name: late.state_dict() for name, late in self._late.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._late = {}
        for key, kept in state.items():
            what = key.partition(" ")[0]
            self._late[key] = LateRows(self._schedule, self._smoothing[what])
            self._late[key].load_state_dict(kept, self._exchange.send_nodes.device)


def _fitting(arrived: Tensor, like: Tensor, name: str) -> Tensor:
    if arrived.shape != like.shape or arrived.dtype != like.dtype:
        raise BoundaryError(
            f"stale rows of message-passing call {name}: expected {tuple(like.shape)} {like.dtype}, as in the step "
            f"before; got {tuple(arrived.shape)} {arrived.dtype}. Fix: a model whose layers keep their widths"
        )
    return arrived


class _WithStaleHalo(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, stale: StaleRows, name: str, step: int) -> Tensor:
        ctx.stale, ctx.name, ctx.step = stale, name, step
        return stale.fetch(x, name, step)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return ctx.stale.give_back(grad, ctx.name, ctx.step), None, None, None
