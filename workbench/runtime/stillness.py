"""Whether the code of a rank stands still: no CPU time, no other line, and not in a place where ranks wait.

A rank that computes, waits for the others, for samplers, for the disk or for its device does not stand still. One that
waits for a lock that nobody releases, for a socket or in ``time.sleep`` does.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from dataclasses import dataclass
from types import FrameType
from typing import Any

LOOK_EVERY_S = 1.0
TOLD_FROM_S = 3.0
CPU_RATIO = 0.02  # of a core; less is no work, but what idle clients and clocks take
_WAITING = frozenset({"workbench", "torch"})  # collectives, rings, checkpoints, pauses; kernels of a device


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """Where a thread stands still, and for how long, in seconds."""

    seconds: float
    where: str
    traceback: str


class Stillness:
    """Looks at a thread once a second; always from the same other thread.

    Parameters
    ----------
    thread : threading.Thread
        The one that trains.
    """

    def __init__(self, thread: threading.Thread) -> None:
        self._thread = thread
        self._place: Any = None
        self._next_s = 0.0
        self._since_s = self._looked_s = time.monotonic()
        self._cpu_s = 0.0

    def moved(self) -> None:
        """Note that the thread has told something."""
        self._place = None

    def look(self) -> Stand | None:
        """Return where the thread stands still, once it has for some seconds; None while it moves, or too early."""
        now_s = time.monotonic()
        if now_s < self._next_s or self._thread.ident is None:
            return None
        frame = sys._current_frames().get(self._thread.ident)
        # All threads but the one that looks: kernels compute on others while the one that trains waits for them.
        cpu_s = time.process_time() - time.thread_time()
        place = _place_of(frame)
        works = cpu_s - self._cpu_s > CPU_RATIO * (now_s - self._looked_s)
        if works or place is None or place != self._place:
            self._since_s = now_s
        self._place, self._cpu_s, self._looked_s, self._next_s = place, cpu_s, now_s, now_s + LOOK_EVERY_S
        seconds = now_s - self._since_s
        if frame is None or place is None or seconds < TOLD_FROM_S:
            return None
        return Stand(seconds=seconds, where=_words(frame), traceback="".join(traceback.format_stack(frame))[-16000:])


def _place_of(frame: FrameType | None) -> tuple[int, int] | None:
    """Return the instruction at which a thread is, or None where it may rightly be for long."""
    caller = _outside_library(frame)
    if frame is None or caller is None or _module(caller).partition(".")[0] in _WAITING:
        return None
    return id(frame), frame.f_lasti


def _outside_library(frame: FrameType | None) -> FrameType | None:
    """Return the innermost frame that is not of Python's own library: whose wait it is."""
    while frame is not None and _module(frame).partition(".")[0] in sys.stdlib_module_names:
        frame = frame.f_back
    return frame


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _words(frame: FrameType) -> str:
    caller = _outside_library(frame) or frame
    return f"{caller.f_code.co_name} ({caller.f_code.co_filename}:{caller.f_lineno})"
