"""Collectives give what they say, and count what they are given."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch

from workbench.train.thread_transport import run_in_threads as in_threads
from workbench.train.transport import SoloTransport, Transport

WORLDS = (1, 2, 3)
RunInThreads = Callable[..., list[Any]]


@pytest.fixture(params=["sockets", "memory"])
def run_in_threads(request: pytest.FixtureRequest) -> RunInThreads:
    """Run ranks by each of the transports that they may talk through."""
    return functools.partial(in_threads, through_memory=request.param == "memory")


@pytest.mark.parametrize("world_size", WORLDS)
def test_all_reduce_sums_and_takes_extremes(world_size: int, run_in_threads: RunInThreads) -> None:
    def rank(transport: Transport) -> list[list[float]]:
        tensors = [torch.tensor([transport.rank + 1.0, -transport.rank]) for _ in range(3)]
        for tensor, op in zip(tensors, ("sum", "max", "min"), strict=True):
            transport.all_reduce(tensor, op)  # type: ignore[arg-type]
        return [tensor.tolist() for tensor in tensors]

    ranks = range(world_size)
    total = [float(sum(r + 1 for r in ranks)), float(-sum(ranks))]
    expected = [total, [float(world_size), 0.0], [1.0, 1.0 - world_size]]
    assert run_in_threads(world_size, rank) == [expected] * world_size


@pytest.mark.parametrize("world_size", WORLDS)
def test_all_gather_keeps_uneven_rows_and_empty_ones(world_size: int, run_in_threads: RunInThreads) -> None:
    sizes = [2, 0, 3][:world_size]

    def rank(transport: Transport) -> list[list[list[float]]]:
        rows = torch.full((sizes[transport.rank], 2), float(transport.rank))
        return [block.tolist() for block in transport.all_gather(rows, sizes)]

    expected = [[[float(r)] * 2] * sizes[r] for r in range(world_size)]
    assert run_in_threads(world_size, rank) == [expected] * world_size


@pytest.mark.parametrize("world_size", WORLDS)
def test_exchange_brings_each_block_to_its_rank(world_size: int, run_in_threads: RunInThreads) -> None:
    def rank(transport: Transport) -> list[list[float]]:
        blocks = [torch.full((q,), 10.0 * transport.rank + q) for q in range(world_size)]
        received = transport.exchange(blocks, [transport.rank] * world_size)
        return [block.tolist() for block in received]

    for r, received in enumerate(run_in_threads(world_size, rank)):
        assert received == [[10.0 * q + r] * r for q in range(world_size)]


@pytest.mark.parametrize("world_size", WORLDS)
def test_exchanges_under_way_together_may_be_waited_for_in_any_order(
    world_size: int, run_in_threads: RunInThreads
) -> None:
    """Each brings its own blocks, of its own size, also while others are under way and collectives come between."""

    def rank(transport: Transport) -> list[list[list[float]]]:
        pending, buffers, peers = [], [], range(world_size)
        for number in range(4):
            sizes = [0 if q == transport.rank else 1 + number * q for q in peers]  # what q gets is 1 + number * q
            blocks = [torch.full((size,), 100.0 * number + transport.rank) for size in sizes]
            mine = [0 if q == transport.rank else 1 + number * transport.rank for q in peers]
            received = [torch.zeros(size) for size in mine]
            pending.append(transport.start_exchange(blocks, received, "late"))
            buffers.append(received)
            transport.barrier()
        for number in (2, 0, 3, 1):
            pending[number].wait()
            pending[number].wait()  # once more does nothing
        assert transport.take_messages() == ({"late": [4, 4 * (world_size - 1)]} if world_size > 1 else {})
        return [[block.tolist() for block in received] for received in buffers]

    for r, found in enumerate(run_in_threads(world_size, rank)):
        for number, received in enumerate(found):
            expected = [[] if q == r else [100.0 * number + q] * (1 + number * r) for q in range(world_size)]
            assert received == expected


def test_an_exchange_does_not_wait_for_the_others(run_in_threads: RunInThreads) -> None:
    """Rank 0 begins to send 4 MB and goes on, although rank 1 looks at it much later."""
    waits_s = 0.5

    def rank(transport: Transport) -> float:
        transport.barrier()
        if transport.rank == 1:
            time.sleep(waits_s)
        empty, block = torch.zeros(0), torch.full((1_000_000,), float(transport.rank))
        received = torch.zeros(1_000_000)
        started_s = time.perf_counter()
        blocks, buffers = (
            ([empty, block], [empty, received]) if transport.rank == 0 else ([block, empty], [received, empty])
        )
        pending = transport.start_exchange(blocks, buffers)
        took_s = time.perf_counter() - started_s
        pending.wait()
        assert bool((received == 1.0 - transport.rank).all())
        return took_s

    assert run_in_threads(2, rank)[0] < waits_s / 2


def test_broadcast_brings_the_source_to_all(run_in_threads: RunInThreads) -> None:
    def rank(transport: Transport) -> float:
        tensor = torch.tensor([float(transport.rank)])
        transport.broadcast(tensor, source=2)
        return tensor.item()

    assert run_in_threads(3, rank) == [2.0, 2.0, 2.0]


def test_bytes_are_payload_by_kind_and_what_the_ring_moves_is_labelled_modelled(run_in_threads: RunInThreads) -> None:
    def rank(transport: Transport) -> tuple[dict[str, int], dict[str, int]]:
        transport.all_reduce(torch.zeros(30))
        transport.all_gather(torch.zeros(transport.rank + 1, 5), [1, 2, 3], kind="evaluate")
        transport.exchange([torch.zeros(4, dtype=torch.float64)] * 3, [4] * 3)
        transport.barrier()
        return transport.take_bytes(), transport.take_bytes()

    for r, (first, second) in enumerate(run_in_threads(3, rank)):
        assert first == {
            "all_reduce": 120,
            "all_reduce_modelled": 160,  # 2 (p - 1) / p of the buffer
            "evaluate": (r + 1) * 5 * 4 * 2,
            "exchange": 2 * 32,
        }
        assert second == {}


def test_one_rank_alone_moves_nothing() -> None:
    transport = SoloTransport()
    transport.all_reduce(torch.ones(3))
    assert transport.take_bytes() == {}


def test_the_error_of_the_rank_that_failed_first_is_the_one_that_is_told(run_in_threads: RunInThreads) -> None:
    def rank(transport: Transport) -> None:
        if transport.rank == 1:
            raise ValueError("rank 1 broke")
        transport.barrier()

    started_s = time.perf_counter()
    with pytest.raises(ValueError, match="rank 1 broke"):
        run_in_threads(2, rank, timeout_s=3)
    assert time.perf_counter() - started_s < 30
