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
