"""Where the workbench keeps what outlives a kernel: runs, graphs, cluster files, compiled kernels, logs."""

from __future__ import annotations

import os
from pathlib import Path


def home() -> Path:
    """Return ``WORKBENCH_HOME`` (default ``~/.local/share/workbench``); it is not created."""
    return Path(os.environ.get("WORKBENCH_HOME", "~/.local/share/workbench")).expanduser()


def home_folder(name: str) -> Path:
    """Return a folder of the home (``runs``, ``graphs``, ``clusters``, ``logs``), created for its owner alone."""
    folder = home() / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
