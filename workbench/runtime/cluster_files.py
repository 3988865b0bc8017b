"""The files of this user's local cluster: one folder for each virtual environment and version of the workbench.

``lock`` is held by the cluster's process for as long as it lives, so that a lock that can be taken means that whatever
else lies there is stale. ``cluster.json`` appears, whole, when the cluster accepts clients.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench import __version__
from workbench.core.home import home_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFiles:
    """Where a local cluster keeps its files."""

    folder: Path

    @classmethod
    def of_this_environment(cls) -> ClusterFiles:
        """Return the files of the cluster that belongs to this virtual environment and version."""
        key = hashlib.blake2b(f"{sys.prefix}\n{__version__}".encode(), digest_size=4).hexdigest()
        folder = home_folder("clusters") / f"{__version__}-{key}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return cls(folder=folder)

    @property
    def key(self) -> str:
        """Return a name of this cluster that is short and the same in all its processes."""
        return hashlib.blake2b(str(self.folder.resolve()).encode(), digest_size=6).hexdigest()

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def alive(self) -> bool:
        """Say whether a process holds the cluster's lock."""
        with (self.folder / "lock").open("a") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def hold_lock(self) -> int | None:
        """Take the cluster's lock for the life of this process; None where another has it."""
        descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    @contextlib.contextmanager
    def starting(self) -> Iterator[None]:
        """Let one process at a time start or stop the cluster."""
        with (self.folder / "start.lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def read(self) -> dict[str, Any] | None:
        """Return what a live cluster says of itself, or None: a dead one's file is not believed."""
        try:
            record: dict[str, Any] = json.loads((self.folder / "cluster.json").read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None
        return record if self.alive() else None

    def write(self, record: dict[str, Any]) -> None:
        """Publish the cluster's address and processes, whole or not at all."""
        temporary = self.folder / "cluster.json.tmp"
        temporary.write_text(json.dumps(record, indent=1))
        temporary.chmod(0o600)
        temporary.replace(self.folder / "cluster.json")

    def clean(self) -> None:
        """Remove what a dead cluster left; its logs stay until the next start."""
        (self.folder / "cluster.json").unlink(missing_ok=True)
        shutil.rmtree(self.folder / "scratch", ignore_errors=True)
        for log in self.folder.glob("*.log"):
            log.unlink(missing_ok=True)
