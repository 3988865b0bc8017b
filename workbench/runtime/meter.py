"""Memory and load of the process itself, as ``resources_measured`` tells it."""

from __future__ import annotations

import time
from typing import Any

import psutil

from workbench.runtime.gpu_meter import read_gpu

MEASURE_EVERY_S = 2.0


class Meter:
    """Measures at most every two seconds."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._next_s = 0.0
        self._clock_s, self._cpu_s = time.monotonic(), time.process_time()

    def read(self) -> dict[str, Any]:
        """Return ``rss_bytes``, ``cpu_percent`` (of a core, since the last reading) and ``gpu``; empty if too early."""
        now_s = time.monotonic()
        if now_s < self._next_s:
            return {}
        cpu_s, elapsed_s = time.process_time() - self._cpu_s, now_s - self._clock_s
        self._clock_s, self._cpu_s, self._next_s = now_s, time.process_time(), now_s + MEASURE_EVERY_S
        percent = 100 * cpu_s / elapsed_s if elapsed_s > 0 else 0.0
        return {"rss_bytes": self._process.memory_info().rss, "cpu_percent": round(percent, 1), "gpu": read_gpu()}
