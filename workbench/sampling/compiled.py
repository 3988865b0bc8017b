"""Compiled functions: made on first use, for declared types only, cached under the workbench's home.

``numba.njit`` with signatures compiles when a module is imported, without them once for every new kind of array
(writable, read-only ...). A :class:`Kernel` compiles its declared signatures when it is first called, and no others:
a writable array is passed where a read-only one was declared, so a memory-mapped graph uses the same machine code.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import types

from workbench.core.errors import InputError
from workbench.core.home import home_folder

logger = logging.getLogger(__name__)
_lock = threading.RLock()
_told = False


def frozen(kind: Any) -> Any:
    """Return the type of a contiguous read-only vector of `kind`."""
    return types.Array(kind, 1, "C", readonly=True)


def vector(kind: Any) -> Any:
    """Return the type of a contiguous writable vector of `kind`."""
    return types.Array(kind, 1, "C")


class Kernel:
    """A function that is compiled without the GIL and without fast maths, once per declared signature.

    Parameters
    ----------
    function : callable
        What Numba compiles; `python` keeps it as it was.
    signatures : sequence of tuples of Numba types
        Every combination of argument types that will be passed.
    """

    def __init__(self, function: Callable[..., Any], signatures: list[tuple[Any, ...]]) -> None:
        functools.update_wrapper(self, function)
        self.python = function
        self.signatures = signatures
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *args: Any) -> Any:
        return (self._compiled or self.compile())(*args)

    def compile(self) -> Callable[..., Any]:
        """Compile, or load from the cache, and return the dispatcher; later calls return it at once."""
        with _lock:
            if self._compiled is None:
                self._compiled = self._build()
            return self._compiled

    def _build(self) -> Callable[..., Any]:
        dispatcher = numba.njit(nogil=True)(self.python)
        if not _enable_cache(dispatcher):
            _tell_once(self.python.__name__)
        for signature in self.signatures:
            dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher  # type: ignore[no-any-return]


def _tell_once(name: str) -> None:
    """Say that someone has to wait: aloud for the first function of a process, quietly for the others."""
    global _told
    level, _told = (logging.INFO if _told else logging.WARNING), True
    logger.log(level, "Compiling %s and what belongs to it: a few seconds, once on a machine", name)


def kernel(*signatures: tuple[Any, ...]) -> Callable[[Callable[..., Any]], Kernel]:
    """Return a decorator that makes a :class:`Kernel` of a function."""
    return lambda function: Kernel(function, list(signatures))


def _enable_cache(dispatcher: Any) -> bool:
    """Cache a dispatcher under the home; say whether something is cached already.

    Numba reads its cache folder from a global when caching is enabled for a function: the global is set for
    just that moment, so that functions of the user's keep their own cache.
    """
    before = numba.config.CACHE_DIR
    try:
        numba.config.CACHE_DIR = str(home_folder("numba"))
        dispatcher.enable_caching()
    except (OSError, RuntimeError, InputError) as error:
        logger.warning("Compiled kernels are not kept: %s", error)
        return False
    finally:
        numba.config.CACHE_DIR = before
    name = dispatcher.py_func.__qualname__
    return any(Path(dispatcher.stats.cache_path).glob(f"*.{name}-*.nbi"))
