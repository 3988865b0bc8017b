"""Where the workbench keeps what outlives a kernel: runs, graphs, cluster files, compiled kernels, logs."""

from __future__ import annotations

import os
from pathlib import Path

from workbench.core.errors import Findings

HOME_FIX = "set WORKBENCH_HOME to a folder of yours on a disk with room"


def home() -> Path:
    """Return ``WORKBENCH_HOME`` (default ``~/.local/share/workbench``); it is not created."""
    return Path(os.environ.get("WORKBENCH_HOME", "~/.local/share/workbench")).expanduser()


def home_folder(name: str) -> Path:
    """Return a folder of the home (``runs``, ``graphs``, ``clusters``, ``logs``), created for its owner alone.

    Raises
    ------
    InputError
        Where it cannot be created.
    """
    folder = home() / name
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # a mode is that of the last folder alone
        folder.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        findings = Findings("home")
        findings.add("WORKBENCH_HOME", "a folder that can be made and written", f"{home()}: {error}", HOME_FIX)
        findings.raise_if_any()
    return folder
