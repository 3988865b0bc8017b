"""Room for what a kernel writes when how much that is shows only at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def written(kernel: Callable[..., int], *, room_for: int, kinds: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arrays that a kernel wrote, cut to their length.

    Parameters
    ----------
    kernel : callable
        ``kernel(*arrays) -> count``: writes what the arrays hold and returns how much there was. It is run again with
        enough room where they were too short.
    room_for : int
        The length to begin with: a guess costs a second run where it is too small, and memory where it is too large.
    kinds : sequence of dtypes
        One an array.
    """
    arrays = tuple(np.empty(room_for, kind) for kind in kinds)
    count = kernel(*arrays)
    if count > room_for:
        arrays = tuple(np.empty(count, kind) for kind in kinds)
        kernel(*arrays)
    return tuple(array[:count] for array in arrays)
