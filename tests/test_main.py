"""The commands of ``python -m workbench``, as far as they need no cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.__main__ import main


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))


def test_doctor_prints_its_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    assert "this machine: ready" in capsys.readouterr().out


def test_runs_of_an_empty_home(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs"]) == 0
    assert capsys.readouterr().out == "no run yet\n"


def test_stop_without_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stop"]) == 0
    assert "no local cluster" in capsys.readouterr().out


def test_a_run_that_is_not_there_is_told_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stop", "nosuch"]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("attach: 1 problem found")
    assert not told.out


def test_a_reader_that_has_seen_enough_ends_it_in_silence() -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "workbench", "runs"]
    ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("place", ["file/home", "/proc/nosuch"])
def test_a_home_that_cannot_be_is_an_error(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / place))
    assert main(["runs"]) == 2
    assert "WORKBENCH_HOME: expected a folder" in capsys.readouterr().err
    assert main(["doctor"]) == 1
    assert "✗ WORKBENCH_HOME" in capsys.readouterr().out
