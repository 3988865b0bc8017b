"""Ranks that are threads of one process and hand each other tensors in memory: no sockets, no process group."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from workbench.train.transport import ExchangeCounter, Pending, ReduceOp, num_bytes


class Room:
    """Where the ranks of one gang meet.

    Parameters
    ----------
    world_size : int
    timeout_s : float
        How long a rank waits for the others before it gives up.
    """

    def __init__(self, world_size: int, timeout_s: float) -> None:
        self.world_size = world_size
        self._barrier = threading.Barrier(world_size, timeout=timeout_s)
        self._slots: list[Any] = [None] * world_size
        self._timeout_s, self._is_left = timeout_s, False
        self._mail: dict[tuple[int, int, int], Tensor] = {}  # by sender, receiver, and which exchange it is
        self._has_mail = threading.Condition()

    def meet(self) -> None:
        """Wait for all ranks."""
        self._barrier.wait()

    def show(self, rank: int, value: Any) -> list[Any]:
        """Return what every rank shows, in rank order; it may be read until the next meeting."""
        self._slots[rank] = value
        self._barrier.wait()
        return list(self._slots)

    def post(self, address: tuple[int, int, int], block: Tensor) -> None:
        """Leave a tensor for another rank: ``(sender, receiver, number of the exchange)``."""
        with self._has_mail:
            self._mail[address] = block
            self._has_mail.notify_all()

    def fetch(self, address: tuple[int, int, int]) -> Tensor:
        """Wait for a tensor that another rank leaves."""
        with self._has_mail:
            came = self._has_mail.wait_for(lambda: address in self._mail or self._is_left, self._timeout_s)
            if not came or address not in self._mail:
                raise threading.BrokenBarrierError
            return self._mail.pop(address)

    def leave(self) -> None:
        """Let nobody wait any longer: a rank has failed."""
        self._barrier.abort()
        with self._has_mail:
            self._is_left = True
            self._has_mail.notify_all()


class MemoryTransport:
    """The collectives of a rank in a room; bytes are counted as on a network, sums are taken in rank order."""

    def __init__(self, room: Room, rank: int) -> None:
        self._room, self.rank, self.world_size = room, rank, room.world_size
        self._counter, self._num_exchanges = ExchangeCounter(), 0

    def all_reduce(self, tensor: Tensor, op: ReduceOp = "sum", kind: str = "all_reduce") -> None:
        shown = self._room.show(self.rank, tensor)
        total = shown[0].clone()
        join: Any = {"sum": torch.add, "max": torch.maximum, "min": torch.minimum}[op]
        for other in shown[1:]:
            total = join(total, other)
        self._room.meet()  # everybody has read
        with torch.no_grad():
            tensor.copy_(total)
        self._counter.count(kind, num_bytes(tensor))
        if kind == "all_reduce":
            self._counter.count(
                "all_reduce_modelled", round(2 * (self.world_size - 1) * num_bytes(tensor) / self.world_size)
            )

    def broadcast(self, tensor: Tensor, source: int = 0, kind: str = "broadcast") -> None:
        shown = self._room.show(self.rank, tensor)
        if self.rank != source:
            with torch.no_grad():
                tensor.copy_(shown[source])
        self._room.meet()
        self._counter.count(kind, num_bytes(tensor))

    def all_gather(self, tensor: Tensor, num_rows: Sequence[int], kind: str = "all_gather") -> list[Tensor]:
        received = [block.clone() for block in self._room.show(self.rank, tensor)]
        self._room.meet()
        self._counter.count(kind, num_bytes(tensor) * (self.world_size - 1))
        return received

    def exchange(self, blocks: Sequence[Tensor], num_rows: Sequence[int], kind: str = "exchange") -> list[Tensor]:
        received = [blocks[self.rank].new_empty(rows, *blocks[self.rank].shape[1:]) for rows in num_rows]
        received[self.rank] = blocks[self.rank]
        self.start_exchange(blocks, received, kind).wait()
        return received

    def start_exchange(self, blocks: Sequence[Tensor], received: Sequence[Tensor], kind: str = "exchange") -> Pending:
        number, self._num_exchanges = self._num_exchanges, self._num_exchanges + 1
        for peer, block in enumerate(blocks):
            if peer != self.rank and block.numel():
                self._room.post((self.rank, peer, number), block.detach().clone())
        self._counter.count_round(kind, blocks, self.rank)
        return _Mail(self._room, self.rank, number, received)

    def barrier(self) -> None:
        self._room.meet()

    def take_bytes(self) -> dict[str, int]:
        return self._counter.take_bytes()

    def take_messages(self) -> dict[str, list[int]]:
        return self._counter.take_messages()


class _Mail:
    """What an exchange brings, not looked at yet."""

    def __init__(self, room: Room, rank: int, number: int, received: Sequence[Tensor]) -> None:
        self._room, self._rank, self._number, self._received = room, rank, number, list(received)

    def wait(self) -> None:
        for peer, block in enumerate(self._received):
            if peer != self._rank and block.numel():
                with torch.no_grad():
                    block.copy_(self._room.fetch((peer, self._rank, self._number)))
        self._received = []
