"""Ranks as threads of one process: for tests and small checks, with no cluster and no child process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch._C._distributed_c10d import HashStore, PrefixStore

from workbench.train.memory_transport import MemoryTransport, Room
from workbench.train.transport import GlooTransport, SoloTransport, Transport

T = TypeVar("T")


def run_in_threads(
    world_size: int, function: Callable[[Transport], T], *, timeout_s: float = 60.0, through_memory: bool = False
) -> list[T]:
    """Run ``function(transport)`` as `world_size` ranks, each in a thread, and return their results in rank order.

    Each thread holds a gloo group of its own on a store in memory, since the default group of torch.distributed
    exists once a process; with `through_memory` they hand each other tensors, and nothing is opened. Torch's random
    state exists once a process too: with dropout, ranks draw from one stream.

    Raises
    ------
    Exception
        The first error of a rank that is not the echo of another's, after all threads have ended.
    TimeoutError
        Where a rank is still at work a while after `timeout_s`.
    """
    if world_size == 1:
        return [function(SoloTransport())]
    store, room = HashStore(), Room(world_size, timeout_s)
    results: list[Any] = [None] * world_size
    errors: dict[int, BaseException] = {}

    def work(rank: int) -> None:
        try:
            transport = (
                MemoryTransport(room, rank)
                if through_memory
                else GlooTransport(_group(store, rank, world_size, timeout_s))
            )
            results[rank] = function(transport)
        except BaseException as error:  # handed on below, in the caller's thread
            errors[rank] = error
            room.leave()

    threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(world_size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout_s + 10)
    if any(thread.is_alive() for thread in threads) and not errors:
        raise TimeoutError(f"a rank is still at work after {timeout_s + 10:.0f} s")
    if errors:
        raise min(errors.items(), key=lambda item: (_is_echo(item[1]), item[0]))[1]
    return results


def _group(store: Any, rank: int, world_size: int, timeout_s: float) -> Any:
    gloo = dist.ProcessGroupGloo(PrefixStore("ranks", store), rank, world_size, timedelta(seconds=timeout_s))
    group = dist.ProcessGroup(PrefixStore("group", store), rank, world_size)
    group._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, gloo)
    group._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
    return group


def _is_echo(error: BaseException) -> bool:
    if isinstance(error, threading.BrokenBarrierError):
        return True
    return isinstance(error, RuntimeError) and ("onnection" in str(error) or "imed out" in str(error))
