"""The one wrapper through which ranks talk: every collective and exchange is counted here, by kind.

Bytes are the payload that a rank hands over. What a backend moves inside is not seen from here: for a ring
all-reduce it is worked out, and its kind ends in ``_modelled``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import torch
import torch.distributed as dist
from torch import Tensor

ReduceOp = Literal["sum", "max", "min"]


class Transport(Protocol):
    """Collectives among the ranks of a gang; every rank makes the same calls in the same order."""

    @property
    def rank(self) -> int: ...
    @property
    def world_size(self) -> int: ...

    def all_reduce(self, tensor: Tensor, op: ReduceOp = "sum", kind: str = "all_reduce") -> None:
        """Replace `tensor` on every rank by the sum (maximum, minimum) over ranks."""
        ...

    def broadcast(self, tensor: Tensor, source: int = 0, kind: str = "broadcast") -> None:
        """Replace `tensor` on every rank by that of rank `source`."""
        ...

    def all_gather(self, tensor: Tensor, num_rows: Sequence[int], kind: str = "all_gather") -> list[Tensor]:
        """Return the tensors of all ranks; rank r's has ``num_rows[r]`` rows, the other dimensions agree."""
        ...

    def exchange(self, blocks: Sequence[Tensor], num_rows: Sequence[int], kind: str = "exchange") -> list[Tensor]:
        """Send ``blocks[q]`` to rank q, and return one block from each rank, of ``num_rows[q]`` rows."""
        ...

    def barrier(self) -> None:
        """Wait for all ranks."""
        ...

    def take_bytes(self) -> dict[str, int]:
        """Return bytes by kind since the last call."""
        ...


def num_bytes(tensor: Tensor) -> int:
    """Return the bytes of a tensor's elements."""
    return tensor.numel() * tensor.element_size()


class SoloTransport:
    """One rank: every collective is the identity, and nothing moves."""

    rank = 0
    world_size = 1

    def all_reduce(self, tensor: Tensor, op: ReduceOp = "sum", kind: str = "all_reduce") -> None:
        """Leave the tensor as it is."""

    def broadcast(self, tensor: Tensor, source: int = 0, kind: str = "broadcast") -> None:
        """Leave the tensor as it is."""

    def all_gather(self, tensor: Tensor, num_rows: Sequence[int], kind: str = "all_gather") -> list[Tensor]:
        return [tensor]

    def exchange(self, blocks: Sequence[Tensor], num_rows: Sequence[int], kind: str = "exchange") -> list[Tensor]:
        return [blocks[0]]

    def barrier(self) -> None:
        """Do not wait: there is nobody to wait for."""

    def take_bytes(self) -> dict[str, int]:
        return {}


class GlooTransport:
    """Collectives over a process group of ``torch.distributed``.

    Parameters
    ----------
    group : ProcessGroup
        The gang's group (``torch.distributed.group.WORLD``, or one made by hand). Its backend may be gloo, or
        gloo for CPU tensors and nccl for CUDA tensors: the group picks by the tensor's device.
    """

    def __init__(self, group: Any) -> None:
        self._group = group
        self.rank: int = group.rank()
        self.world_size: int = group.size()
        self._bytes: Counter[str] = Counter()

    def all_reduce(self, tensor: Tensor, op: ReduceOp = "sum", kind: str = "all_reduce") -> None:
        options = dist.AllreduceOptions()
        options.reduceOp = {  # type: ignore[assignment]
            "sum": dist.ReduceOp.SUM,
            "max": dist.ReduceOp.MAX,
            "min": dist.ReduceOp.MIN,
        }[op]
        self._group.allreduce([tensor], options).wait()
        self._count(kind, num_bytes(tensor))
        if kind == "all_reduce":  # a ring sends 2 (p-1)/p of the buffer, each rank
            moved = 2 * (self.world_size - 1) * num_bytes(tensor) / self.world_size
            self._count("all_reduce_modelled", round(moved))

    def broadcast(self, tensor: Tensor, source: int = 0, kind: str = "broadcast") -> None:
        options = dist.BroadcastOptions()
        options.rootRank = source
        self._group.broadcast([tensor], options).wait()
        self._count(kind, num_bytes(tensor))

    def all_gather(self, tensor: Tensor, num_rows: Sequence[int], kind: str = "all_gather") -> list[Tensor]:
        # Gloo gathers equal shapes only: pad to the longest, and count what was meant.
        longest = max(num_rows)
        padded = tensor.new_zeros(longest, *tensor.shape[1:])
        padded[: tensor.shape[0]] = tensor
        received = [torch.empty_like(padded) for _ in range(self.world_size)]
        self._group.allgather([received], [padded]).wait()
        self._count(kind, num_bytes(tensor) * (self.world_size - 1))
        return [block[:rows] for block, rows in zip(received, num_rows, strict=True)]

    def exchange(self, blocks: Sequence[Tensor], num_rows: Sequence[int], kind: str = "exchange") -> list[Tensor]:
        received = [blocks[self.rank].new_empty(rows, *blocks[self.rank].shape[1:]) for rows in num_rows]
        received[self.rank] = blocks[self.rank]
        sent = [block.contiguous() for block in blocks]
        works = []
        for peer in range(self.world_size):
            if peer == self.rank:
                continue
            if sent[peer].numel():
                works.append(self._group.send([sent[peer]], peer, 0))
                self._count(kind, num_bytes(sent[peer]))
            if received[peer].numel():
                works.append(self._group.recv([received[peer]], peer, 0))
        for work in works:
            work.wait()
        return received

    def barrier(self) -> None:
        self._group.allreduce([torch.zeros(1)]).wait()  # on the CPU: cheaper than gloo's own barrier

    def take_bytes(self) -> dict[str, int]:
        counted, self._bytes = dict(self._bytes), Counter()
        return counted

    def _count(self, kind: str, count: int) -> None:
        if count:
            self._bytes[kind] += count
