"""Ranks that are threads of one process and hand each other tensors in memory: no sockets, no process group."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from workbench.train.transport import ReduceOp, num_bytes


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

    def meet(self) -> None:
        """Wait for all ranks."""
        self._barrier.wait()

    def show(self, rank: int, value: Any) -> list[Any]:
        """Return what every rank shows, in rank order; it may be read until the next meeting."""
        self._slots[rank] = value
        self._barrier.wait()
        return list(self._slots)

    def leave(self) -> None:
        """Let nobody wait any longer: a rank has failed."""
        self._barrier.abort()


class MemoryTransport:
    """The collectives of a rank in a room; bytes are counted as on a network, sums are taken in rank order."""

    def __init__(self, room: Room, rank: int) -> None:
        self._room, self.rank, self.world_size = room, rank, room.world_size
        self._bytes: Counter[str] = Counter()

    def all_reduce(self, tensor: Tensor, op: ReduceOp = "sum", kind: str = "all_reduce") -> None:
        shown = self._room.show(self.rank, tensor)
        total = shown[0].clone()
        join: Any = {"sum": torch.add, "max": torch.maximum, "min": torch.minimum}[op]
        for other in shown[1:]:
            total = join(total, other)
        self._room.meet()  # everybody has read
        with torch.no_grad():
            tensor.copy_(total)
        self._count(kind, num_bytes(tensor))
        if kind == "all_reduce":
            self._count("all_reduce_modelled", round(2 * (self.world_size - 1) * num_bytes(tensor) / self.world_size))

    def broadcast(self, tensor: Tensor, source: int = 0, kind: str = "broadcast") -> None:
        shown = self._room.show(self.rank, tensor)
        if self.rank != source:
            with torch.no_grad():
                tensor.copy_(shown[source])
        self._room.meet()
        self._count(kind, num_bytes(tensor))

    def all_gather(self, tensor: Tensor, num_rows: Sequence[int], kind: str = "all_gather") -> list[Tensor]:
        received = [block.clone() for block in self._room.show(self.rank, tensor)]
        self._room.meet()
        self._count(kind, num_bytes(tensor) * (self.world_size - 1))
        return received

    def exchange(self, blocks: Sequence[Tensor], num_rows: Sequence[int], kind: str = "exchange") -> list[Tensor]:
        shown = self._room.show(self.rank, blocks)
        received = [shown[peer][self.rank].clone() for peer in range(self.world_size)]
        self._room.meet()
        for peer, block in enumerate(blocks):
            if peer != self.rank:
                self._count(kind, num_bytes(block))
        return received

    def barrier(self) -> None:
        self._room.meet()

    def take_bytes(self) -> dict[str, int]:
        counted, self._bytes = dict(self._bytes), Counter()
        return counted

    def _count(self, kind: str, count: int) -> None:
        if count:
            self._bytes[kind] += count
