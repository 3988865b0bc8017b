"""Native code in a child process: whatever it does, the kernel lives.

A partitioner written in C may crash, hang with signals blocked, or return nonsense. It therefore runs in a
process of its own, started afresh (never forked from a process with threads) and killed with ``SIGKILL`` when
its deadline passes or its caller cancels. Arrays travel as ``.npy`` files in a private folder, which the child maps.

A child is a script that takes the folder as its argument, reads ``job.json`` (its options) and its arrays, and
writes ``result.json`` (with ``elapsed_s``, the seconds of the native call alone, and ``peak_bytes``, its peak resident
memory) and its result arrays. What all children do alike is in child_job.py, which imports nothing of the workbench.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.cancel import CancelSignal
from workbench.core.errors import Cancelled, RunError

POLL_S = 0.1  # how often a waiting caller looks whether it was cancelled
LOG_TAIL = 600  # characters of a failed child's output that its error shows


@dataclass(slots=True, kw_only=True)
class Watch:
    """What the caller of a partitioner holds: a way to cancel it, and what its children took, time and memory."""

    cancel: CancelSignal = field(default_factory=threading.Event)
    native_s: float = 0.0
    child_peak_bytes: int = 0  # peak resident memory of the largest child


_watch: ContextVar[Watch | None] = ContextVar("workbench_child_watch", default=None)


@contextlib.contextmanager
def watching(watch: Watch) -> Iterator[Watch]:
    """Let `watch` govern every child that is run inside the block, on this thread."""
    token = _watch.set(watch)
    try:
        yield watch
    finally:
        _watch.reset(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildJob:
    """What a child has to do.

    Parameters
    ----------
    what : str
        Its name in errors, as a person would say it (``"METIS"``).
    script : Path
        The script that is run.
    arrays : mapping of str to ndarray
        Its input, written as ``<name>.npy``.
    options : mapping
        Its options, JSON values.
    deadline_s : float
        Seconds after which it is killed.
    """

    what: str
    script: Path
    arrays: Mapping[str, np.ndarray]
    options: Mapping[str, Any]
    deadline_s: float


def run_child(job: ChildJob, outputs: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Run a job in a child process and return its output arrays.

    Raises
    ------
    RunError
        The child crashed, passed its deadline, failed, or left no readable result. The caller's process is unharmed.
    Cancelled
        The caller's :class:`Watch` was cancelled.
    """
    with tempfile.TemporaryDirectory(prefix="workbench-child-") as name:
        folder = Path(name)
        for key, array in job.arrays.items():
            np.save(folder / f"{key}.npy", array)
        (folder / "job.json").write_text(json.dumps(dict(job.options)))
        _run(job, folder)
        return _read_result(job, folder, outputs)


def _run(job: ChildJob, folder: Path) -> None:
    # -P: the folder of the script holds modules whose names are those of the standard library.
    command = [sys.executable, "-P", "-W", "ignore", str(job.script), str(folder)]
    with (folder / "output.txt").open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = _wait(job, process)
        finally:
            _kill(process)
    if code != 0:
        raise RunError(_failure(job, code, _tail(folder)))


def _wait(job: ChildJob, process: subprocess.Popen[bytes]) -> int:
    """Wait until the child ends, its deadline passes, or its caller cancels."""
    watch, end = _watch.get(), time.monotonic() + job.deadline_s
    while True:
        left = end - time.monotonic()
        if left <= 0:
            raise RunError(
                f"{job.what} did not finish within {job.deadline_s:g} s and was killed; this process is unharmed. "
                f"Fix: pass a larger deadline_s, fewer parts, or another method"
            )
        if watch is not None and watch.cancel.is_set():
            raise Cancelled(f"{job.what} was cancelled")
        try:
            return process.wait(timeout=min(POLL_S, left))
        except subprocess.TimeoutExpired:
            continue


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the child with everything it started, and collect it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _failure(job: ChildJob, code: int, tail: str) -> str:
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        hint = " (often the system's answer to a lack of memory)" if name == "SIGKILL" else ""
        text = f"{job.what} crashed with {name}{hint} in its child process; this process is unharmed."
    else:
        text = f"{job.what} failed in its child process (exit status {code})."
    return f"{text} Fix: try another method or number of parts" + (f"\nIts last output:\n{tail}" if tail else "")


def _tail(folder: Path) -> str:
    return (folder / "output.txt").read_bytes()[-LOG_TAIL:].decode(errors="replace").strip()


def _read_result(job: ChildJob, folder: Path, outputs: tuple[str, ...]) -> dict[str, np.ndarray]:
    try:
        record = json.loads((folder / "result.json").read_text())
        native_s, peak_bytes = float(record["elapsed_s"]), int(record.get("peak_bytes", 0))
        arrays = {key: np.load(folder / f"{key}.npy", allow_pickle=False) for key in outputs}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(
            f"{job.what} ended without a readable result ({type(error).__name__}: {error}). "
            f"Fix: try again, or another method" + (f"\nIts last output:\n{_tail(folder)}" if _tail(folder) else "")
        ) from error
    watch = _watch.get()
    if watch is not None:
        watch.native_s += native_s
        watch.child_peak_bytes = max(watch.child_peak_bytes, peak_bytes)
    return arrays
