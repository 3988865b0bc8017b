"""Breaking things: waits for the moment of a fault, breaks what it names, and says when that was."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable

from benchmarks.chaos.arena import EPOCHS, Arena, losses_of
from benchmarks.chaos.plan import STARTING_SHARE, Fault
from workbench.core.events import of_kind
from workbench.runtime.run import Run

STARTING_S = 0.6
STEPS = EPOCHS * 5


class TooLateError(Exception):
    """The run had ended before the fault came."""


def wait_for_moment(run: Run, fault: Fault) -> None:
    """Wait until the run has come as far as the fault says."""
    if fault.when < STARTING_SHARE:
        time.sleep(fault.when / STARTING_SHARE * STARTING_S)
        return
    wanted = int((fault.when - STARTING_SHARE) / (1 - STARTING_SHARE) * 0.9 * STEPS)
    while max((step for step, _ in losses_of(run)), default=0) < wanted:
        if run.has_ended:
            raise TooLateError
        time.sleep(0.02)
    time.sleep(fault.jitter_s)


def inject(arena: Arena, run: Run, fault: Fault) -> float:
    """Break what a fault names; return when (Unix)."""
    if run.has_ended:
        raise TooLateError
    return _HOW[fault.kind](arena, run, fault)


def _kill(pid: int, number: int = signal.SIGKILL) -> float:
    now_s = time.time()
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        raise TooLateError from None
    return now_s


def pid_of_rank(arena: Arena, run: Run, rank: int) -> int:
    """Return the process of a rank; while none has told its own, of any."""
    deadline = time.monotonic() + 20.0
    while time.monotonic() < deadline and not run.has_ended:
        starts = list(of_kind(run.events, "gang_starting"))
        ready = [e for e in of_kind(run.events, "rank_ready") if e.rank == rank]
        if ready and ready[-1].generation == starts[-1].generation:
            return int(ready[-1].data["pid"])
        if any_rank := arena.ranks():
            return random.choice(any_rank).pid
        time.sleep(0.01)
    raise TooLateError


def _on_rank(number: int) -> Callable[[Arena, Run, Fault], float]:
    return lambda arena, run, fault: _kill(pid_of_rank(arena, run, fault.rank), number)


def _worker(arena: Arena, run: Run, fault: Fault) -> float:
    starts = list(of_kind(run.events, "gang_starting"))
    name = starts[-1].data["workers"][fault.rank]["worker"] if starts else f"trainer{fault.rank}"
    return _kill(arena.record()["workers"][name])


def _sampler(arena: Arena, run: Run, fault: Fault) -> float:
    started = [event.data["pid"] for event in of_kind(run.events, "sampler_started")]
    return _kill(started[-1] if started else arena.record()["workers"][f"sampler{fault.rank}"])


def _scheduler(arena: Arena, run: Run, fault: Fault) -> float:
    return _kill(arena.record()["pid"])


def _zygote(arena: Arena, run: Run, fault: Fault) -> float:
    parents = {rank.ppid() for rank in arena.ranks()}
    if not parents:
        raise TooLateError
    return _kill(parents.pop())


def trip(arena: Arena, run: Run, fault: Fault, action: str = "") -> float:
    """Lay the wire and wait until the rank has run into it."""
    tripped = arena.wire / "tripped"
    tripped.unlink(missing_ok=True)
    temporary = arena.wire / "tmp"
    temporary.write_text(action or fault.kind)
    wire = temporary.rename(arena.wire / f"trip.{fault.rank}")
    while not tripped.exists():
        if run.has_ended:
            wire.unlink(missing_ok=True)
            raise TooLateError
        time.sleep(0.005)
    return tripped.stat().st_ctime


def _twice(arena: Arena, run: Run, fault: Fault) -> float:
    trip(arena, run, fault)
    while not list(of_kind(run.events, "run_restarting")) and not run.has_ended:
        time.sleep(0.01)
    return trip(arena, run, fault)


def _full_disk(arena: Arena, run: Run, fault: Fault) -> float:
    if not arena.is_mounted:
        raise RuntimeError("disk_full needs a home that is mounted on its own: run as root, or leave the kind out")
    now_s = time.time()
    arena.fill()
    return now_s


_HOW: dict[str, Callable[[Arena, Run, Fault], float]] = {
    "trainer_killed": _on_rank(signal.SIGKILL),
    "rank_stopped": _on_rank(signal.SIGSTOP),
    "worker_killed": _worker,
    "sampler_killed": _sampler,
    "scheduler_killed": _scheduler,
    "zygote_killed": _zygote,
    "rank_hangs": trip,
    "rank_raises": trip,
    "memory_once": trip,
    "memory_twice": _twice,
    "nan_loss": trip,
    "disk_full": _full_disk,
    "kernel_killed": lambda arena, run, fault: time.time(),  # the driver kills it
}
