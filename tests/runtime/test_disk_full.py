"""A full disk: nothing half-written, no event lost, and a person is told. `make chaos` fills a real one."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.core.errors import RunError
from workbench.core.events import Event, decode_log
from workbench.core.home import home_folder
from workbench.runtime import run_folder, run_manager
from workbench.runtime.event_log import EventLog, read_log
from workbench.runtime.function_call import function_config
from workbench.runtime.run_folder import RunFolder
from workbench.runtime.run_manager import RunManager
from workbench.runtime.run_records import EndRun, Status
from workbench.runtime.supervised_run import SupervisedRun
from workbench.testing.run_replay import Replay


def full(*_: Any) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


def told(text: str) -> Event:
    return Event(kind="log_written", time_s=1.5, data={"level": "info", "text": text})


def test_a_launch_says_so_before_anything_starts_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    monkeypatch.setattr(run_folder, "_write", full)
    with pytest.raises(RunError) as caught:
        RunFolder.create(function_config("f", trainers=1, threads_per_trainer=1))
    for part in ("No space left on device", str(tmp_path), "Nothing was started", "WORKBENCH_HOME"):
        assert part in str(caught.value)
    assert list(home_folder("runs").iterdir()) == []


class Supervised:
    """A run under a run manager whose scheduler is a list of what it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.later: list[tuple[Any, ...]] = []
        self.lines = b""
        loop = SimpleNamespace(
            call_later=lambda _, *what: self.later.append(what), add_callback=lambda *what: self.later.append(what)
        )
        self.manager = RunManager()
        self.manager._runs, self.manager._ready, self.manager._unfit = {}, set(), {}
        self.manager._scheduler = SimpleNamespace(
            loop=loop,
            log_event=self._hear,
            _broker=SimpleNamespace(truncate=lambda _: None),
            worker_send=lambda *_: None,
        )
        replay = Replay()
        replay.run_to_step(1)
        self.run = SupervisedRun("r", folder, {}, {}, replay.state, EventLog(folder / "events.log"))
        self.manager._runs["r"] = self.run

    def _hear(self, _: str, lines: bytes) -> None:
        self.lines += lines

    def say(self, text: str) -> None:
        self.manager._publish(self.run, [told(text)])

    def a_second_later(self) -> None:
        later, self.later = self.later, []
        for function, *arguments in later:
            if function == self.manager._retry_log:
                function(*arguments)

    @property
    def texts(self) -> list[str]:
        return [event.data.get("text", event.kind) for event in decode_log(self.lines)[0]]


def test_events_wait_a_person_is_told_once_and_all_is_written_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervised, pwrite = Supervised(tmp_path), os.pwrite
    supervised.say("a")
    monkeypatch.setattr(os, "pwrite", full)
    supervised.say("b")
    supervised.a_second_later()
    supervised.say("c")
    assert [text[:40] for text in supervised.texts] == ["a", "b", "the event log cannot be written: No spac", "c"]
    assert [event.seq for event in read_log(tmp_path / "events.log")] == [1]
    supervised.run.state = supervised.run.state.with_(status=Status.FAILED)
    supervised.manager._execute(supervised.run, EndRun())
    monkeypatch.setattr(os, "pwrite", pwrite)
    supervised.a_second_later()
    assert (tmp_path / "events.log").read_bytes() == supervised.lines, "also what was told after the end of the run"
    assert supervised.run.log._fd == -1, "then it is closed"
    supervised.a_second_later()


def test_a_run_that_tells_more_than_memory_should_hold_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_manager, "MAX_WAITING_BYTES", 2000)
    monkeypatch.setattr(os, "pwrite", full)
    supervised = Supervised(tmp_path)
    supervised.say("x" * 1000)
    supervised.a_second_later()
    assert "run_stopping" not in supervised.texts
    supervised.say("y" * 1000)
    supervised.a_second_later()
    assert "run_stopping" in supervised.texts
    stopping = [event for event in decode_log(supervised.lines)[0] if event.kind == "run_stopping"]
    assert "disk is full" in stopping[0].data["by"]
    supervised.run.log.close()
