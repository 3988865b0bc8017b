"""What the memory gives: independent random reads of one array, the limit of every sampler."""

from __future__ import annotations

import time
from typing import Any

import numba
import numpy as np

NUM_READS = 4_000_000


@numba.njit(nogil=True, cache=True)
def _read(array: Any, places: Any) -> int:
    total = 0
    for place in places:
        total += array[place]
    return total


def reads_per_s(array: Any) -> float:
    """Return how many entries of `array` one thread reads a second, at random places."""
    places = np.random.default_rng(0).integers(0, len(array), NUM_READS)
    _read(array, places[:1])
    start = time.perf_counter()
    _read(array, places)
    return NUM_READS / (time.perf_counter() - start)
