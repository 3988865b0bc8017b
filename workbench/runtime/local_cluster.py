"""This user's local cluster, seen from outside: finding it, starting it, ending it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from workbench.core.errors import Findings, RunError
from workbench.runtime.cluster_files import ClusterFiles

START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 20.0
POLL_S = 0.02
WORKERS_PER_CORE = 8  # more of one kind would only wait for each other, half a gigabyte each


class _Detached(subprocess.Popen[bytes]):
    """A process that is meant to outlive this one."""

    def __del__(self, *_: Any) -> None:
        """Say nothing: Python would warn that it still runs."""


def check_room(trainers: int, samplers: int) -> None:
    """Refuse more local workers than this machine can hold, before anything starts.

    Raises
    ------
    InputError
        Where there would be more than ``WORKERS_PER_CORE`` of a kind for each core.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    findings = Findings("local cluster")
    for name, wanted in (("trainers", trainers), ("samplers", samplers)):
        if wanted > WORKERS_PER_CORE * cores:
            most = f"at most {WORKERS_PER_CORE * cores} on this machine ({WORKERS_PER_CORE} for each of {cores} cores)"
            findings.add(name, most, wanted, f"{name}={cores}, or connect(address) to a cluster of several machines")
    findings.raise_if_any()


def find_or_start(files: ClusterFiles, trainers: int, samplers: int, idle_s: float) -> dict[str, Any]:
    """Return what the cluster says of itself (address, process ids), after starting it where it does not live."""
    with files.starting():
        return files.read() or _start(files, trainers, samplers, idle_s)


def _start(files: ClusterFiles, trainers: int, samplers: int, idle_s: float) -> dict[str, Any]:
    """Start the detached process of the cluster and wait until it accepts clients."""
    files.clean()
    options = {"trainers": trainers, "samplers": samplers, "idle_s": idle_s, "started_s": time.time()}
    (files.folder / "options.json").write_text(json.dumps(options))
    with files.log("cluster").open("ab") as out:
        process = _Detached(
            [sys.executable, "-m", "workbench.runtime.cluster_process", str(files.folder)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # it must not hear of an interrupt of the kernel, nor end with it
            cwd=files.folder,
        )
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        record = files.read()
        if record is not None:
            threading.Thread(target=process.wait, name="workbench-reaper", daemon=True).start()
            return record
        time.sleep(POLL_S)
    process.kill()
    process.wait()
    tail = files.log("cluster").read_text(errors="replace")[-2000:]
    raise RunError(f"connect: the local cluster did not start. Its log, {files.log('cluster')}, ends:\n{tail}")


def stop_local(files: ClusterFiles | None = None) -> bool:
    """End this user's local cluster with all its runs; return whether there was one."""
    files = files or ClusterFiles.of_this_environment()
    with files.starting():
        record = files.read()
        if record is None:
            return False
        _signal(record["pid"], signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT_S
        while files.alive() and time.monotonic() < deadline:
            time.sleep(POLL_S)
        for pid in (record["pid"], *record["workers"].values(), record["zygote_pid"]):
            _signal(pid, signal.SIGKILL)
        files.clean()
    return True


def _signal(pid: int, number: int) -> None:
    """Signal a process of a cluster; one that is gone, or whose number is another's by now, is left alone."""
    with contextlib.suppress(OSError):
        if b"workbench.runtime" in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, number)
