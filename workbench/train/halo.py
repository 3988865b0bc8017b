"""Rows of a partitioned graph between the rank that owns a node and the ranks that read it; gradients travel back."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from workbench.core.phases import Phase

if TYPE_CHECKING:
    from workbench.partition.local import LocalPart
    from workbench.train.recorder import Recorder
    from workbench.train.transport import Pending, Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    """As what the bytes of an exchange are counted, there and back."""

    forward: str
    backward: str


LAYERS = Kinds(forward="halo_forward", backward="halo_backward")
STATISTICS = Kinds(forward="halo_statistics", backward="halo_statistics")
EVALUATION = Kinds(forward="evaluate", backward="evaluate")


class HaloExchange:
    """Exchanges rows of the nodes at the borders of a part. Every rank makes it, and then the same calls, in order.

    A rank without a node, or without a neighbour, joins with no rows.

    Parameters
    ----------
    part : LocalPart
        The part of this rank: its own nodes first, then its halo, by owner.
    transport : Transport
    device : torch.device
    recorder : Recorder, optional
        Gets the time of every exchange.
    """

    def __init__(
        self, part: LocalPart, transport: Transport, device: torch.device, recorder: Recorder | None = None
    ) -> None:
        self.num_inner, self.num_local = part.num_inner, len(part.node_ids)
        self.transport, self._recorder = transport, recorder
        self.halo_sizes = np.diff(part.halo_starts).tolist()
        self.send_nodes = torch.from_numpy(np.array(part.send_nodes)).to(device)
        self.send_sizes = np.diff(part.send_starts).tolist()
        smallest = torch.tensor([part.num_inner])
        transport.all_reduce(smallest, "min", kind="control")
        self._some_are_empty = smallest.item() == 0

    def all_agree(self, says: bool) -> bool:
        """Return whether all ranks that own a node say so; all ranks call it.

        Without an empty rank nothing is asked: what is looked at is the same on all of them. PyTorch hands an empty
        tensor through some functions as it is (dropout), so that an empty rank must not decide.
        """
        if not self._some_are_empty:
            return says
        flag = torch.tensor([int(says or self.num_inner == 0)])
        self.transport.all_reduce(flag, "min", kind="control")
        return bool(flag.item())

    def with_halo(self, x: Tensor, kinds: Kinds = LAYERS) -> Tensor:
        """Return (num_local, ...) the own rows (num_inner, ...), then those of the halo as their owners have them."""
        if self.transport.world_size == 1:
            return x
        rows: Tensor = _WithHalo.apply(x, self, kinds)  # type: ignore[no-untyped-call]
        return rows

    def at_owners(self, x: Tensor, kinds: Kinds = STATISTICS) -> Tensor:
        """Return (num_inner, ...) the own rows of (num_local, ...) plus what other ranks hold for the same nodes."""
        if self.transport.world_size == 1:
            return x
        rows: Tensor = _AtOwners.apply(x, self, kinds)  # type: ignore[no-untyped-call]
        return rows

    def fetch(self, x: Tensor, kind: str) -> Tensor:
        """Send own rows to the ranks that read them; return own and received rows."""
        rows = x.new_empty(self.num_local, *x.shape[1:])
        sent = torch.split(x[self.send_nodes], self.send_sizes)
        pending = self.start(sent, torch.split(rows[self.num_inner :], self.halo_sizes), kind)
        rows[: self.num_inner] = x  # while the others travel
        self.finish(pending)
        return rows

    def give_back(self, x: Tensor, kind: str) -> Tensor:
        """Send rows of the halo to their owners; return own rows with those received added in the order of ranks."""
        received = torch.split(x.new_empty(len(self.send_nodes), *x.shape[1:]), self.send_sizes)
        pending = self.start(torch.split(x[self.num_inner :].contiguous(), self.halo_sizes), received, kind)
        rows = x[: self.num_inner].clone()  # while the others travel
        self.finish(pending)
        for nodes, block in zip(torch.split(self.send_nodes, self.send_sizes), received, strict=True):
            rows.index_add_(0, nodes, block)
        return rows

    def start(self, blocks: Sequence[Tensor], received: Sequence[Tensor], kind: str) -> Pending:
        """Begin to send a block to each rank and to receive one from each."""
        with self._span():
            return self.transport.start_exchange(blocks, received, kind)

    def finish(self, pending: Pending) -> None:
        """Wait until an exchange is complete."""
        with self._span():
            pending.wait()

    def _span(self) -> AbstractContextManager[None]:
        return nullcontext() if self._recorder is None else self._recorder.span(Phase.EXCHANGE)


class _WithHalo(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, exchange: HaloExchange, kinds: Kinds) -> Tensor:
        ctx.exchange, ctx.kinds = exchange, kinds
        return exchange.fetch(x, kinds.forward)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return ctx.exchange.give_back(grad, ctx.kinds.backward), None, None


class _AtOwners(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, exchange: HaloExchange, kinds: Kinds) -> Tensor:
        ctx.exchange, ctx.kinds = exchange, kinds
        return exchange.give_back(x, kinds.forward)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return ctx.exchange.fetch(grad, ctx.kinds.backward), None, None
