"""Rows of nodes turned into columns of features and back: what feature parallelism moves around a propagation."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from workbench.core.phases import Phase
from workbench.train.halo import Kinds

if TYPE_CHECKING:
    from workbench.train.recorder import Recorder
    from workbench.train.transport import Transport

TRANSPOSES = Kinds(forward="transpose_forward", backward="transpose_backward")


def shares(total: int, count: int) -> list[int]:
    """Return the bounds (count + 1) of nearly equal, consecutive shares of so many things."""
    return [total * i // count for i in range(count + 1)]


class ColumnExchange:
    """Turns own rows with all columns into all rows with own columns, and back; all ranks make the same calls in order.

    Each direction moves ``n F s (p - 1) / p`` bytes over all p ranks, and so does its backward.

    Parameters
    ----------
    num_nodes : int
        Rank r owns an equal, consecutive share of them.
    transport : Transport
    recorder : Recorder, optional
        Gets the time of every exchange.
    """

    def __init__(self, num_nodes: int, transport: Transport, recorder: Recorder | None = None) -> None:
        self.num_nodes, self.transport, self._recorder = num_nodes, transport, recorder
        self.bounds = shares(num_nodes, transport.world_size)
        self.first, self.last = self.bounds[transport.rank], self.bounds[transport.rank + 1]

    @property
    def num_own(self) -> int:
        return self.last - self.first

    def own_columns(self, width: int) -> slice:
        """Return which of so many columns are this rank's."""
        bounds = shares(width, self.transport.world_size)
        return slice(bounds[self.transport.rank], bounds[self.transport.rank + 1])

    def to_columns(self, x: Tensor, kinds: Kinds = TRANSPOSES) -> Tensor:
        """Return (num_nodes, ..., own columns) of the own rows (num_own, ..., width) of all ranks."""
        if self.transport.world_size == 1:
            return x
        columns: Tensor = _ToColumns.apply(x, self, kinds)  # type: ignore[no-untyped-call]
        return columns

    def to_rows(self, x: Tensor, width: int, kinds: Kinds = TRANSPOSES) -> Tensor:
        """Return (num_own, ..., width) of the own columns (num_nodes, ..., own columns) of all ranks."""
        if self.transport.world_size == 1:
            return x
        rows: Tensor = _ToRows.apply(x, width, self, kinds)  # type: ignore[no-untyped-call]
        return rows

    def scatter_columns(self, x: Tensor, kind: str) -> Tensor:
        """Send each rank its columns of the own rows; return the own columns of all rows."""
        width = x.shape[-1]
        bounds = shares(width, self.transport.world_size)
        own = self.own_columns(width)
        columns = x.new_empty(self.num_nodes, *x.shape[1:-1], own.stop - own.start)
        sent = [x[..., a:b].contiguous() for a, b in pairwise(bounds)]
        received = [columns[a:b] for a, b in pairwise(self.bounds)]
        self._exchange(sent, received, kind)
        return columns

    def gather_columns(self, x: Tensor, width: int, kind: str) -> Tensor:
        """Send each rank its rows of the own columns; return all columns of the own rows."""
        bounds = shares(width, self.transport.world_size)
        x = x.contiguous()
        sent = [x[a:b] for a, b in pairwise(self.bounds)]
        received = [x.new_empty(self.num_own, *x.shape[1:-1], b - a) for a, b in pairwise(bounds)]
        self._exchange(sent, received, kind)
        return torch.cat(received, dim=-1)

    def _exchange(self, sent: list[Tensor], received: list[Tensor], kind: str) -> None:
        rank = self.transport.rank
        with nullcontext() if self._recorder is None else self._recorder.span(Phase.EXCHANGE):
            pending = self.transport.start_exchange(sent, received, kind)
            received[rank].copy_(sent[rank])  # while the others travel
            pending.wait()


class _ToColumns(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, exchange: ColumnExchange, kinds: Kinds) -> Tensor:
        ctx.exchange, ctx.width, ctx.kinds = exchange, x.shape[-1], kinds
        return exchange.scatter_columns(x, kinds.forward)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return ctx.exchange.gather_columns(grad, ctx.width, ctx.kinds.backward), None, None


class _ToRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, width: int, exchange: ColumnExchange, kinds: Kinds) -> Tensor:
        ctx.exchange, ctx.kinds = exchange, kinds
        return exchange.gather_columns(x, width, kinds.forward)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        return ctx.exchange.scatter_columns(grad, ctx.kinds.backward), None, None, None
