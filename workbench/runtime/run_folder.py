"""The folder of a run: written before the run begins, readable when nothing of it lives any more."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import secrets
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.core.config import RunConfig
from workbench.core.errors import Findings, RunError
from workbench.core.events import Event
from workbench.core.home import home_folder
from workbench.runtime.event_log import read_log, scan_log
from workbench.runtime.run_report import MILESTONES


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """Where everything of a run lies; for its owner alone."""

    path: Path

    @classmethod
    def create(cls, config: RunConfig, summary: str = "") -> RunFolder:
        """Make the folder of a new run, with its configuration; its name begins with the time, for lists in order.

        Raises
        ------
        RunError
            Where the disk is full or read-only; nothing stays of the folder.
        """
        label = config.name or config.model.name
        run_id = f"{time.strftime('%Y%m%d-%H%M%S')}-{_slug(label)}-{secrets.token_hex(2)}"
        folder = cls(path=home_folder("runs") / run_id)
        record = {"id": run_id, "summary": summary, "config": config.to_json()}
        try:
            folder.path.mkdir(mode=0o700)
            for name in ("checkpoints", "logs"):
                (folder.path / name).mkdir(mode=0o700)
            _write(folder.path / "config.json", json.dumps(record, indent=1).encode())
        except OSError as error:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise RunError(
                f"launch: the run's folder cannot be written: {error.strerror}: {folder.path}. Nothing was started. "
                "Fix: free space there (python -m workbench clean), or set WORKBENCH_HOME to another disk"
            ) from error
        return folder

    @classmethod
    def find(cls, run_id: str) -> RunFolder:
        """Return the folder of a run by its id, or by a beginning of it that is unique."""
        runs = home_folder("runs")
        names = sorted(path.name for path in runs.iterdir() if (path / "config.json").is_file())
        hits = [name for name in names if name == run_id] or [name for name in names if name.startswith(run_id)]
        if len(hits) != 1 or not run_id:
            findings = Findings("attach")
            known = ", ".join(hits or names[-5:]) or "no run at all"
            findings.add("run_id", "the id of one run", repr(run_id), f"in {runs} there is: {known}")
            findings.raise_if_any()
        return cls(path=runs / hits[0])

    @property
    def id(self) -> str:
        return self.path.name

    @property
    def record(self) -> dict[str, Any]:
        """Return ``config.json``: id, summary, configuration."""
        record: dict[str, Any] = json.loads((self.path / "config.json").read_text())
        return record

    @property
    def config(self) -> RunConfig:
        return RunConfig.from_json(self.record["config"])

    @property
    def log(self) -> Path:
        return self.path / "events.log"

    def events(self) -> list[Event]:
        """Return every event on disk, in order."""
        return read_log(self.log)

    def milestones(self) -> list[Event]:
        """Return the events on disk that tell how far the run came and how it fares, in order."""
        return list(scan_log(self.log, MILESTONES))

    @property
    def checkpoint_steps(self) -> list[int]:
        """Return the global steps of the complete checkpoints, ascending."""
        return sorted(int(path.stem.rpartition("step")[2]) for path in (self.path / "checkpoints").glob("*_step*.pt"))

    def note_cluster(self, address: str) -> None:
        """Write down which scheduler supervises the run."""
        _write(self.path / "cluster.json", json.dumps({"address": address}).encode())

    def keep_module(self, module: Any) -> None:
        """Save a user's module for the ranks, and the source of its class as text for readers, where it can be had.

        Raises
        ------
        InputError
            Where the module cannot travel; the folder is removed then.
        """
        from workbench.models import save_module

        try:
            save_module(module, self.path)
        except BaseException:
            shutil.rmtree(self.path)
            raise
        with contextlib.suppress(OSError, TypeError):
            _write(self.path / "model_source.txt", inspect.getsource(type(module)).encode())

    @property
    def cluster(self) -> Mapping[str, Any]:
        try:
            record: dict[str, Any] = json.loads((self.path / "cluster.json").read_text())
        except FileNotFoundError:
            return {}
        return record


def all_runs() -> list[RunFolder]:
    """Return the folders of all runs of this home, oldest first."""
    return [RunFolder(path=path) for path in sorted(home_folder("runs").iterdir()) if (path / "config.json").is_file()]


def _slug(text: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in text.lower())[:24].strip("-") or "run"


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.tmp")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
    temporary.replace(path)
