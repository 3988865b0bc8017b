"""When nobody on this machine had to wait for a core: which moments of a busy machine say what an idle one does."""

from __future__ import annotations

import os
import statistics
import threading
import time
from pathlib import Path

_EVERY_S = 0.02
_STAT = Path("/proc/stat")  # Linux


class Watch:
    """Notes, every 20 ms, how many threads of this machine want a core; a context manager."""

    def __init__(self) -> None:
        self._noted: list[tuple[float, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(_EVERY_S):
            self._noted.append((time.time(), running() - 1))  # this thread wants one too

    def was_quiet(self, start_s: float, end_s: float) -> bool:
        """Say whether, from one Unix time to another, no more threads ran than there are cores: nine times in ten."""
        found = [count <= (os.cpu_count() or 1) for at, count in self._noted if start_s <= at <= end_s]
        return bool(found) and statistics.mean(found) >= 0.9


def running() -> int:
    """Return how many threads of the machine run or want to."""
    for line in _STAT.read_text().splitlines():
        name, _, count = line.partition(" ")
        if name == "procs_running":
            return int(count)
    raise OSError(f"{_STAT}: expected a line procs_running; got none. Fix: run this on Linux")
