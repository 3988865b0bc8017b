"""The one way in which kernels are compiled: Numba, without the GIL, cached on disk."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba
import numpy as np

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile a kernel on its first call; it runs without the GIL, and the compiled code is kept on disk."""
    return cast("F", numba.njit(nogil=True, cache=True)(function))


def read_only(array: np.ndarray) -> np.ndarray:
    """Return a read-only view: what kernels are given, since a memory map is one and each kind is compiled apart."""
    view = array.view()
    view.flags.writeable = False
    return view
