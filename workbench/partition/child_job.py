"""What every child script does: read its folder, and write its result (see child.py for the protocol).

Children run as scripts from the folder of this module and import it by its bare name; it imports NumPy alone, so that
they start in a fraction of a second.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


def die_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, so that a killed kernel leaves nothing behind."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig, sigkill = 1, 9
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, sigkill)


def peak_bytes() -> int:
    """Return the peak resident memory of this program; 0 where the system does not tell.

    ``getrusage`` would also count the process that this one was started from.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:")), 0)


def run(work: Callable[[dict[str, Any], Arrays], Callable[[], Arrays]]) -> None:
    """Run a child: `work` takes the job and its arrays and returns the native call, which is timed alone."""
    die_with_parent()
    folder = Path(sys.argv[1])
    job: dict[str, Any] = json.loads((folder / "job.json").read_text())
    call = work(job, {path.stem: np.load(path, mmap_mode="r") for path in folder.glob("*.npy")})
    start = time.perf_counter()
    results = call()
    elapsed_s = time.perf_counter() - start
    for name, array in results.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "result.json").write_text(json.dumps({"elapsed_s": elapsed_s, "peak_bytes": peak_bytes()}))
