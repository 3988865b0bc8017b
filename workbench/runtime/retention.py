"""Which runs may go to make room. Nothing is removed that was not asked for by name of the command and a yes."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass

from workbench.runtime.run_folder import RunFolder, all_runs
from workbench.runtime.run_list import is_at_work

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Removable:
    """A run that may go.

    Parameters
    ----------
    folder : RunFolder
    num_bytes : int
        On disk.
    age_s : float
        Since the last sign of it, in seconds.
    """

    folder: RunFolder
    num_bytes: int
    age_s: float


def removable(*, keep: int, older_than_s: float) -> tuple[Removable, ...]:
    """Return the runs that have ended, are not among the newest `keep`, and are older than that; the oldest first."""
    candidates = all_runs()[: -keep or None]
    now, found = time.time(), []
    for folder in candidates:
        age_s = now - _last_sign_s(folder)
        if age_s >= older_than_s and not is_at_work(folder):
            found.append(Removable(folder=folder, num_bytes=_num_bytes(folder), age_s=age_s))
    return tuple(found)


def remove(runs: Sequence[Removable]) -> int:
    """Delete the folders of these runs, and return how many bytes that gives back."""
    for run in runs:
        shutil.rmtree(run.folder.path)
    return sum(run.num_bytes for run in runs)


def _last_sign_s(folder: RunFolder) -> float:
    return max(path.stat().st_mtime for path in (folder.path / "config.json", folder.log) if path.exists())


def _num_bytes(folder: RunFolder) -> int:
    return sum(path.stat().st_size for path in folder.path.rglob("*") if path.is_file() and not path.is_symlink())
