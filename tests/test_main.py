"""The commands of ``python -m workbench``, as far as they need no cluster."""

from __future__ import annotations

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
