"""Working memory of the samplers: 8 or 16 bytes a node, used again for every batch, one thread at a time."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

LAST_TAG = 2**31 - 1  # a tag is the high half of a signed 64-bit slot


class Scratch:
    """The slots of one thread: which nodes the current batch has, and under which local id.

    A slot holds ``tag << 32 | local id`` and counts only where its tag is the batch's own, so that a new batch
    costs nothing; after two thousand million batches the slots are cleared once. A second set, `marks`, under tags of
    its own, serves methods that look at more nodes than they keep.
    """

    def __init__(self, num_nodes: int) -> None:
        self.slots: NDArray[np.int64] = np.zeros(num_nodes, np.int64)
        self._marks: NDArray[np.int64] | None = None
        self._tag = 0
        self._mark = 0

    @property
    def num_nodes(self) -> int:
        return len(self.slots)

    @property
    def marks(self) -> NDArray[np.int64]:
        """Return the second set of slots, made when it is first asked for."""
        if self._marks is None:
            self._marks = np.zeros(self.num_nodes, np.int64)
        return self._marks

    @property
    def nbytes(self) -> int:
        """Return the bytes that it takes: at most 16 a node."""
        return self.slots.nbytes + (0 if self._marks is None else self._marks.nbytes)

    def next_tag(self) -> int:
        """Begin a batch: return a tag that no slot bears."""
        if self._tag >= LAST_TAG:
            self.slots[:] = 0
            self._tag = 0
        self._tag += 1
        return self._tag

    def next_mark(self) -> int:
        """Begin a pass over the marks: return a tag that none of them bears."""
        if self._mark >= LAST_TAG:
            self.marks[:] = 0
            self._mark = 0
        self._mark += 1
        return self._mark


class ScratchPool:
    """Lends scratch to threads and keeps what comes back, at most one a core, the last used first.

    Memory is bounded: at most 16 bytes a node for each batch that is being sampled at this moment, and for each kept.
    """

    def __init__(self, capacity: int | None = None) -> None:
        self.capacity = capacity or os.cpu_count() or 1
        self._idle: list[Scratch] = []
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def borrow(self, num_nodes: int) -> Iterator[Scratch]:
        """Lend scratch for a graph of `num_nodes` nodes while the block runs."""
        scratch = self._take(num_nodes) or Scratch(num_nodes)
        try:
            yield scratch
        finally:
            with self._lock:
                self._idle.append(scratch)
                del self._idle[: -self.capacity]

    def _take(self, num_nodes: int) -> Scratch | None:
        with self._lock:
            for position in reversed(range(len(self._idle))):
                if self._idle[position].num_nodes == num_nodes:
                    return self._idle.pop(position)
        return None

    @property
    def nbytes(self) -> int:
        """Return the bytes that are kept while nothing is lent."""
        with self._lock:
            return sum(scratch.nbytes for scratch in self._idle)


POOL = ScratchPool()
