"""Work done ahead by threads, handed out in order: what the loaders have instead of worker processes."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from workbench.core.errors import RunError

Item = TypeVar("Item")
Result = TypeVar("Result")


def ordered_map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    threads: int,
    ahead: int = 1,
    on_start: Callable[[int], object] | None = None,
    timeout_s: float = 0.0,
) -> Iterator[Result]:
    """Yield ``function(item)`` in the order of the items.

    Parameters
    ----------
    threads : int
        0: nothing is done ahead, and everything in the caller's thread.
    ahead : int
        How many items are in work or finished at most, beside the one that the caller has.
    on_start : callable, optional
        Called with 0, 1, ... in each thread before its first item.
    timeout_s : float
        How long the caller waits for one result; 0 = without end.

    Raises
    ------
    RunError
        If a result did not come within `timeout_s`. What `function` or `on_start` raises is raised where the result
        would have come.

    Notes
    -----
    The items are read by the caller's thread. A caller that leaves early does not wait: what has not begun is
    cancelled, what has is finished and dropped.
    """
    rest = iter(items)
    if threads == 0:
        yield from map(function, rest)
        return
    pool = ThreadPoolExecutor(threads, thread_name_prefix="workbench-loader")
    function = function if on_start is None else _begun_by(on_start, function)
    waiting: deque[Future[Result]] = deque()
    try:
        while True:
            missing = max(ahead, 1) - len(waiting)
            waiting.extend(pool.submit(function, item) for item in itertools.islice(rest, missing))
            if not waiting:
                return
            yield _result(waiting.popleft(), timeout_s)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _begun_by(on_start: Callable[[int], object], function: Callable[[Item], Result]) -> Callable[[Item], Result]:
    """Return `function` with `on_start` before a thread's first item: an error of its is raised as that item's.

    The pool's own initializer would hide it behind "the thread pool is not usable anymore".
    """
    numbers, own = itertools.count(), threading.local()  # next() is atomic: each thread draws a number of its own

    def work(item: Item) -> Result:
        if not hasattr(own, "has_begun"):
            on_start(next(numbers))
            own.has_begun = True
        return function(item)

    return work


def _result(future: Future[Result], timeout_s: float) -> Result:
    try:
        return future.result(timeout_s or None)
    except TimeoutError as error:
        if future.done():  # the work itself raised it
            raise
        text = f"no batch came within timeout={timeout_s:g} s. Fix: pass a longer timeout, or 0 to wait without end"
        raise RunError(text) from error
