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

    def start_exchange(self, blocks: Sequence[Tensor], received: Sequence[Tensor], kind: str = "exchange") -> Pending:
        """Begin to send ``blocks[q]`` to rank q and to receive ``received[q]`` from it, and return at once.

        Contiguous tensors, which nobody touches until the exchange has been waited for; empty ones are no message,
        and those of this rank itself are left alone. Ranks begin their exchanges in the same order; several may be
        under way, and may be waited for in any order.
        """
        ...

    def barrier(self) -> None:
        """Wait for all ranks."""
        ...

    def take_bytes(self) -> dict[str, int]:
        """Return bytes by kind since the last call."""
        ...

    def take_messages(self) -> dict[str, list[int]]:
        """Return ``{kind: [rounds, messages]}`` of the exchanges begun since the last call, as this rank sent them."""
        ...


class Pending(Protocol):
    """An exchange under way."""

    def wait(self) -> None:
        """Return when everything has been sent and received."""
        ...


class ExchangeCounter:
    """Counts what a rank sends in exchanges: bytes by kind, rounds and messages by kind."""

    def __init__(self) -> None:
        self._bytes: Counter[str] = Counter()
        self._messages: dict[str, list[int]] = {}

    def count(self, kind: str, count: int) -> None:
        """Count bytes that are handed over."""
        if count:
            self._bytes[kind] += count

    def count_round(self, kind: str, blocks: Sequence[Tensor], rank: int) -> None:
        """Count an exchange: a message to every other rank that gets anything."""
        sizes = [num_bytes(block) for peer, block in enumerate(blocks) if peer != rank and block.numel()]
        self.count(kind, sum(sizes))
        rounds, messages = self._messages.get(kind, (0, 0))
        self._messages[kind] = [rounds + 1, messages + len(sizes)]

    def take_bytes(self) -> dict[str, int]:
        counted, self._bytes = dict(self._bytes), Counter()
        return counted

    def take_messages(self) -> dict[str, list[int]]:
        counted, self._messages = self._messages, {}
        return counted


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

    def start_exchange(self, blocks: Sequence[Tensor], received: Sequence[Tensor], kind: str = "exchange") -> Pending:
        return NothingPending()

    def barrier(self) -> None:
        """Do not wait: there is nobody to wait for."""

    def take_bytes(self) -> dict[str, int]:
        return {}

    def take_messages(self) -> dict[str, list[int]]:
        return {}


class NothingPending:
    """What one rank alone exchanges."""

    def wait(self) -> None:
        """Return at once."""


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
        self._counter = ExchangeCounter()

    def all_reduce(self, tensor: Tensor, op: ReduceOp = "sum", kind: str = "all_reduce") -> None:
        options = dist.AllreduceOptions()
        options.reduceOp = {  # type: ignore[assignment]
            "sum": dist.ReduceOp.SUM,
            "max": dist.ReduceOp.MAX,
            "min": dist.ReduceOp.MIN,
        }[op]
        self._group.allreduce([tensor], options).wait()
        self._counter.count(kind, num_bytes(tensor))
        if kind == "all_reduce":  # a ring sends 2 (p-1)/p of the buffer, each rank
            moved = 2 * (self.world_size - 1) * num_bytes(tensor) / self.world_size
            self._counter.count("all_reduce_modelled", round(moved))

    def broadcast(self, tensor: Tensor, source: int = 0, kind: str = "broadcast") -> None:
        options = dist.BroadcastOptions()
        options.rootRank = source
        self._group.broadcast([tensor], options).wait()
        self._counter.count(kind, num_bytes(tensor))

    def all_gather(self, tensor: Tensor, num_rows: Sequence[int], kind: str = "all_gather") -> list[Tensor]:
        # Gloo gathers equal shapes only: pad to the longest, and count what was meant.
        longest = max(num_rows)
        padded = tensor.new_zeros(longest, *tensor.shape[1:])
        padded[: tensor.shape[0]] = tensor
        received = [torch.empty_like(padded) for _ in range(self.world_size)]
        self._group.allgather([received], [padded]).wait()
        self._counter.count(kind, num_bytes(tensor) * (self.world_size - 1))
        return [block[:rows] for block, rows in zip(received, num_rows, strict=True)]

    def exchange(self, blocks: Sequence[Tensor], num_rows: Sequence[int], kind: str = "exchange") -> list[Tensor]:
        received = [blocks[self.rank].new_empty(rows, *blocks[self.rank].shape[1:]) for rows in num_rows]
        received[self.rank] = blocks[self.rank]
        self.start_exchange([block.contiguous() for block in blocks], received, kind).wait()
        return received

    def start_exchange(self, blocks: Sequence[Tensor], received: Sequence[Tensor], kind: str = "exchange") -> Pending:
        device = blocks[self.rank].device
        if device.type == "cuda":  # nccl does what it is given one after another, and would wait for ever: all at once
            self._group._start_coalescing(device)
            self._post(blocks, received)
            works = [self._group._end_coalescing(device)]
        else:
            works = self._post(blocks, received)
        self._counter.count_round(kind, blocks, self.rank)
        return _Works(works, blocks, received)

    def _post(self, blocks: Sequence[Tensor], received: Sequence[Tensor]) -> list[Any]:
        works = []
        for peer in range(self.world_size):  # first of all say what is awaited: a message is sent when somebody waits
            if peer != self.rank and received[peer].numel():
                works.append(self._group.recv([received[peer]], peer, 0))
        for peer in range(self.world_size):
            if peer != self.rank and blocks[peer].numel():
                works.append(self._group.send([blocks[peer]], peer, 0))
        return works

    def barrier(self) -> None:
        self._group.allreduce([torch.zeros(1)]).wait()  # on the CPU: cheaper than gloo's own barrier

    def take_bytes(self) -> dict[str, int]:
        return self._counter.take_bytes()

    def take_messages(self) -> dict[str, list[int]]:
        return self._counter.take_messages()


class _Works:
    """Messages under way over a process group; their tensors are kept until they have arrived."""

    def __init__(self, works: list[Any], *tensors: Sequence[Tensor]) -> None:
        self._works, self._tensors = works, tensors

    def wait(self) -> None:
        for work in self._works:
            work.wait()
        self._works, self._tensors = [], ()
