"""What is derived from a graph's arrays once a process: checked columns, degrees, probabilities, clusters."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from numpy.typing import NDArray

T = TypeVar("T")


class DerivedCache:
    """Keeps what was computed from an array for as long as that array lives; all threads share it."""

    def __init__(self) -> None:
        self._kept: dict[int, dict[Hashable, Any]] = {}
        self._lock = threading.RLock()

    def get(self, array: NDArray[Any], key: Hashable, compute: Callable[[], T]) -> T:
        """Return what `compute` returned for this array and key, calling it the first time."""
        with self._lock:
            if id(array) not in self._kept:
                self._kept[id(array)] = {}
                weakref.finalize(array, self._kept.pop, id(array), None)
            kept = self._kept[id(array)]
            if key not in kept:
                kept[key] = compute()
            return kept[key]  # type: ignore[no-any-return]

    def __len__(self) -> int:
        return len(self._kept)


DERIVED = DerivedCache()
