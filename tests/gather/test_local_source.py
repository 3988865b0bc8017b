"""The background thread: in order, ahead but bounded, honest about errors, and gone when closed."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterator

import pytest

from workbench.core.errors import RunError
from workbench.gather import BatchMaker, BatchPlan, BatchRequest, LocalSource, epoch_requests

Plans = Callable[..., BatchPlan]


def requests_of(count: int, rank: int = 0) -> Iterator[BatchRequest]:
    return epoch_requests(epoch=1, rank=rank, steps_per_epoch=count)


def wait_until(holds: Callable[[], bool], timeout_s: float = 10) -> None:
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "workbench-batches"]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert threads() == []


def test_batches_come_in_order_and_are_those_of_the_maker(make_plan: Plans) -> None:
    maker = BatchMaker(make_plan())
    with LocalSource(make_plan(), slots=3) as source:
        batches = list(source.batches(requests_of(10)))
        assert [batch.step for batch in batches] == list(range(1, 11))
        for batch in batches:
            assert batch.edge_ids.tobytes() == maker.make(epoch=1, step=batch.step, rank=0).edge_ids.tobytes()
        assert threads() == [], "the thread ends with the requests"
        assert [batch.step for batch in source.batches(requests_of(10))][-1] == 10


def test_the_thread_works_ahead_as_far_as_there_are_slots(make_plan: Plans) -> None:
    taken = []

    def counted() -> Iterator[BatchRequest]:
        for request in requests_of(10):
            taken.append(request.step)
            yield request

    with LocalSource(make_plan(), slots=3) as source:
        assert (source.slots, source.filled) == (3, 0)
        batches = source.batches(counted())
        wait_until(lambda: source.filled == 3)
        time.sleep(0.05)
        assert source.filled == 3
        assert len(taken) <= 4, "three are made, one is waiting for a slot"
        assert next(batches).step == 1
        wait_until(lambda: source.filled == 3)
        assert len(taken) <= 5


def test_an_error_comes_where_the_batch_would_have_with_its_traceback(make_plan: Plans) -> None:
    maker = BatchMaker(make_plan())
    real = maker.store.gather

    class Failing:
        calls = 0

        def gather(self, ids: object) -> object:
            self.calls += 1
            if self.calls == 3:
                raise OSError("the disk is gone")
            return real(ids)  # type: ignore[arg-type]

    maker.store = Failing()  # type: ignore[assignment]
    with LocalSource(maker) as source:
        batches = source.batches(requests_of(10))
        assert [next(batches).step, next(batches).step] == [1, 2]
        with pytest.raises(OSError, match="the disk is gone") as caught:
            next(batches)
        frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert frames[-1] == "gather"
        assert "make" in frames
        with pytest.raises(StopIteration):
            next(batches)


def test_an_error_of_the_requests_reaches_the_consumer(make_plan: Plans) -> None:
    with LocalSource(make_plan()) as source:
        batches = source.batches(1 // zero for zero in [0])
        with pytest.raises(ZeroDivisionError):
            next(batches)


def test_close_ends_the_thread_at_once_and_may_come_twice(make_plan: Plans) -> None:
    source = LocalSource(make_plan(), slots=2)
    batches = source.batches(epoch_requests(epoch=1, rank=0, steps_per_epoch=10))
    wait_until(lambda: source.filled == 2)
    start = time.monotonic()
    source.close()
    assert time.monotonic() - start < 2
    assert threads() == []
    assert source.filled == 0
    source.close()
    for again in (lambda: next(batches), lambda: source.batches(requests_of(3))):
        with pytest.raises(RunError, match="closed"):
            again()


def test_close_wakes_a_consumer_that_waits(make_plan: Plans) -> None:
    blocked, told = threading.Event(), list[str]()

    def endless() -> Iterator[BatchRequest]:
        blocked.wait()
        yield from ()

    source = LocalSource(make_plan())
    batches = source.batches(endless())

    def consume() -> None:
        try:
            next(batches)
        except RunError as error:
            told.append(str(error))

    consumer = threading.Thread(target=consume)
    consumer.start()
    closer = threading.Thread(target=source.close)
    closer.start()
    consumer.join(5)
    assert "closed" in told[0]
    blocked.set()
    closer.join(5)
    assert not closer.is_alive()


def test_a_second_call_drops_what_the_first_has_not_delivered(make_plan: Plans) -> None:
    with LocalSource(make_plan(world_size=2), slots=2) as source:
        first = source.batches(requests_of(5))
        next(first)
        second = source.batches(requests_of(5, rank=1))
        assert [batch.rank for batch in second] == [1] * 5
        with pytest.raises(RunError):
            next(first)
