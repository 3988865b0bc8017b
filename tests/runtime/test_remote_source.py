"""The ring between samplers and a trainer, with samplers as threads of this process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import RunError
from workbench.gather import Batch, BatchMaker, BatchPlan, epoch_requests
from workbench.runtime import remote_source
from workbench.runtime.rank_link import RankLink
from workbench.runtime.remote_source import RemoteSource
from workbench.runtime.sampler_task import serve_trainers


class Link(RankLink):
    """A rank's link that keeps what is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []

    def emit(self, kind: str, **data: Any) -> None:
        self.told.append((kind, data))

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.told]


@pytest.fixture(scope="module")
def plan(graph: wb.Graph) -> BatchPlan:
    sampler = {"name": "neighbor", "params": {"fanouts": [4, 3]}}
    return BatchPlan(folder=str(graph.store()), sampler=sampler, batch_size=8)


@pytest.fixture
def source(plan: BatchPlan) -> Iterator[RemoteSource]:
    source = RemoteSource(plan, Link(), "127.0.0.1", 2)
    yield source
    source.close()


def wanted(plan: BatchPlan) -> Iterator[Any]:
    return epoch_requests(epoch=1, rank=0, steps_per_epoch=BatchMaker(plan).steps_per_epoch)


def sampler(*addresses: dict[str, Any], index: int = 0) -> threading.Thread:
    thread = threading.Thread(target=serve_trainers, args=(list(addresses), index, "here"), daemon=True)
    thread.start()
    return thread


def copied(batch: Batch) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in batch.to_arrays().items() if name != "spans"}


def assert_equal_to_those_made_here(plan: BatchPlan, received: list[dict[str, np.ndarray]]) -> None:
    expected = [copied(BatchMaker(plan).answer(request)) for request in wanted(plan)]
    assert len(received) == len(expected)
    for ours, theirs in zip(received, expected, strict=True):
        assert ours.keys() == theirs.keys()
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.parametrize("num_samplers", [1, 2, 3])
def test_batches_come_in_order_and_equal_those_made_here(
    plan: BatchPlan, source: RemoteSource, num_samplers: int
) -> None:
    threads = [sampler(source.address, index=index) for index in range(num_samplers)]
    received = [copied(batch) for batch in source.batches(wanted(plan))]
    assert_equal_to_those_made_here(plan, received)
    source.close()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive(), "a sampler ends when the trainer hangs up"


def test_a_sampler_of_another_host_sends_the_same(plan: BatchPlan, source: RemoteSource) -> None:
    sampler({**source.address, "host_identity": "another host"})
    assert_equal_to_those_made_here(plan, [copied(batch) for batch in source.batches(wanted(plan))])


def test_one_sampler_serves_several_trainers(plan: BatchPlan) -> None:
    sources = [RemoteSource(plan, Link(), "127.0.0.1", 1) for _ in range(2)]
    sampler(*(one.address for one in sources))
    streams = [one.batches(wanted(plan)) for one in sources]
    received = [[copied(batch) for batch in stream] for stream in zip(*streams, strict=True)]
    assert all(np.array_equal(pair[0]["x"], pair[1]["x"]) for pair in received)
    for one in sources:
        one.close()


def test_the_requests_of_a_lost_sampler_are_served_by_another(plan: BatchPlan, source: RemoteSource) -> None:
    sampler(source.address, index=0)
    batches = source.batches(wanted(plan))
    received = [copied(next(batches))]
    victim = source._connections[0]
    sampler(source.address, index=1)
    victim.sock.shutdown(socket.SHUT_RDWR)
    received += [copied(batch) for batch in batches]
    assert_equal_to_those_made_here(plan, received)
    assert "sampler_lost" in source._link.kinds()


def test_without_any_sampler_the_rank_makes_its_batches_itself(
    plan: BatchPlan, source: RemoteSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_source, "ALONE_S", 0.0)
    assert_equal_to_those_made_here(plan, [copied(batch) for batch in source.batches(wanted(plan))])
    assert source.producer[0] == -1
    assert source._link.kinds() == ["log_written"]


def test_a_batch_that_cannot_be_made_is_told_where_it_would_have_come(plan: BatchPlan, source: RemoteSource) -> None:
    sampler(source.address)
    impossible = list(epoch_requests(epoch=1, rank=0, steps_per_epoch=10_000, first=9_999))
    with pytest.raises(RunError, match="step_in_epoch"):
        next(source.batches(iter(impossible)))


def test_who_does_not_know_the_token_gets_nothing(source: RemoteSource) -> None:
    with pytest.raises((EOFError, OSError)):
        serve_one({**source.address, "token": "guessed"})
    assert source._connections == []


def serve_one(address: dict[str, Any]) -> None:
    from workbench.runtime.sampler_task import _Trainer

    _Trainer(address, {"sampler": 0, "worker": "", "pid": 0})


def test_closing_wakes_who_waits(plan: BatchPlan, source: RemoteSource) -> None:
    threading.Timer(0.1, source.close).start()
    with pytest.raises(RunError, match="closed"):
        next(source.batches(wanted(plan)))
