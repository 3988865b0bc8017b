"""Peak memory of a piece of work, as the operating system counts it."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

SAMPLE_S = 0.01


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


class MemoryMeter:
    """Measures by how much this process grows inside a ``with`` block: ``meter.growth_bytes``.

    A thread looks every 10 ms, so a peak shorter than that may be missed, and what other threads take meanwhile is
    counted too. Compiled kernels release the GIL and are seen while they run.
    """

    def __init__(self) -> None:
        self._start = self._peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="workbench-memory", daemon=True)

    @property
    def growth_bytes(self) -> int:
        return max(0, self._peak - self._start)

    def _look(self) -> None:
        self._peak = max(self._peak, resident_bytes())

    def _watch(self) -> None:
        while not self._done.wait(SAMPLE_S):
            self._look()

    def __enter__(self) -> Self:
        self._start = self._peak = resident_bytes()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._look()
        self._done.set()
        self._thread.join()
