"""Sources of batches: where a training loop gets them from, in order and ahead of time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Protocol, final

from workbench.core.errors import RunError
from workbench.gather.batch import Batch
from workbench.gather.plan import BatchMaker, BatchPlan, BatchRequest


class BatchSource(Protocol):
    """Answers requests with batches, in their order, made ahead by whoever is behind it."""

    @property
    def slots(self) -> int:
        """Return how many batches may wait at most."""

    @property
    def filled(self) -> int:
        """Return how many batches wait now."""

    def batches(self, requests: Iterable[BatchRequest]) -> Iterator[Batch]:
        """Begin to answer requests, and return the batches in order; the requests may be read ahead of time."""

    def close(self) -> None:
        """End all work at once; safe to call twice."""


@final
class LocalSource:
    """Makes batches in a background thread of this process (``samplers=0``).

    Parameters
    ----------
    plan : BatchPlan or BatchMaker
    slots : int
        How many finished batches may wait: the memory it may take.
    """

    def __init__(self, plan: BatchPlan | BatchMaker, slots: int = 4) -> None:
        assert slots >= 1, "a source needs a slot"
        self.maker = plan if isinstance(plan, BatchMaker) else BatchMaker(plan)
        self._slots = slots
        self._stream: _Stream | None = None
        self._closed = False

    @property
    def slots(self) -> int:
        return self._slots

    @property
    def filled(self) -> int:
        return 0 if self._stream is None else self._stream.filled

    def batches(self, requests: Iterable[BatchRequest]) -> Iterator[Batch]:
        """Begin to make batches, and return them in order.

        An error while a batch is made is raised, with its traceback, where that batch would have come. What an
        earlier call has not delivered yet is dropped.

        Raises
        ------
        RunError
            If the source is closed, also while a batch is waited for.
        """
        if self._closed:
            raise RunError("the source of batches is closed. Fix: make a new LocalSource")
        self._end_stream()
        self._stream = _Stream(self.maker, requests, self._slots)
        return self._stream

    def close(self) -> None:
        """End the thread (a batch in the making is finished and dropped); safe to call twice."""
        self._closed = True
        self._end_stream()

    def _end_stream(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def __enter__(self) -> LocalSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@final
class _Stream:
    """The batches of one call: a thread on one side of a bounded queue, an iterator on the other."""

    def __init__(self, maker: BatchMaker, requests: Iterable[BatchRequest], slots: int) -> None:
        self._maker, self._requests, self._slots = maker, requests, slots
        self._ready: deque[Batch | BaseException] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._done = False
        self._thread = threading.Thread(target=self._work, name="workbench-batches", daemon=True)
        self._thread.start()

    @property
    def filled(self) -> int:
        return len(self._ready)

    def _work(self) -> None:
        try:
            for request in self._requests:
                if not self._wait_for_slot():
                    return
                self._put(self._maker.answer(request))
        except BaseException as error:  # handed to the consumer, whatever it is
            self._put(error)
        finally:
            with self._changed:
                self._done = True
                self._changed.notify_all()

    def _wait_for_slot(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or len(self._ready) < self._slots)
            return not self._closed

    def _put(self, item: Batch | BaseException) -> None:
        with self._changed:
            if not self._closed:
                self._ready.append(item)
                self._changed.notify_all()

    def __iter__(self) -> _Stream:
        return self

    def __next__(self) -> Batch:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._ready or self._done)
            if self._closed:
                raise RunError("the source of batches was closed while a batch was waited for")
            if not self._ready:
                self._thread.join()
                raise StopIteration
            item = self._ready.popleft()
            self._changed.notify_all()
        if isinstance(item, BaseException):
            raise item
        return item

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._ready.clear()
            self._changed.notify_all()
        if threading.current_thread() is not self._thread:
            self._thread.join()
