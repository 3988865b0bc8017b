"""Scalars of a run, and what writers do with them; with the trackers' own packages where they are installed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.core.errors import MissingDependencyError
from workbench.core.events import Event
from workbench.dashboard.scalars import Scalar, ScalarStream
from workbench.dashboard.writers import WRITERS, send
from workbench.testing import event_log_extras as extras
from workbench.testing import event_logs
from workbench.testing.event_log_writer import config_of
from workbench.testing.event_logs import Scenario

LOG = extras.with_staleness(extras.with_cache(event_logs.healthy(Scenario(epochs=2))))


class ToldRun:
    """A run whose events are told by hand."""

    id = "20260101-000000-debian-0001"
    config = config_of(Scenario())

    def __init__(self, events: list[Event]) -> None:
        self.events, self.listener = events, None

    def subscribe(self, callback: Any, *, replay: bool = False) -> Any:
        assert replay
        callback(list(self.events))
        self.listener = callback
        return lambda: None


def scalars(events: list[Event]) -> list[Scalar]:
    return list(ScalarStream().take(events))


def test_a_step_is_told_once_with_the_loss_of_all_ranks() -> None:
    told = [scalar for scalar in scalars(LOG) if scalar.name == "step/train_loss"]
    assert [scalar.step for scalar in told] == list(range(1, 41))
    shares = [e.data for e in LOG if e.kind == "step_finished" and e.data["step"] == 7]
    assert told[6].value == pytest.approx(sum(share["loss"] for share in shares) / 2)
    names = {scalar.name for scalar in scalars(LOG)}
    assert {"bytes/gather", "phase_s/forward", "epoch/val_accuracy", "memory/trainer_0_bytes"} <= names
    assert {"staleness/halo_rank_1", "cache/hit_ratio_rank_0", "load/sampler_1_cpu_percent"} <= names


def test_events_in_pieces_give_the_same_scalars() -> None:
    stream = ScalarStream()
    assert [scalar for at in range(0, len(LOG), 13) for scalar in stream.take(LOG[at : at + 13])] == scalars(LOG)


def test_a_restart_tells_its_steps_again() -> None:
    steps = [s.step for s in scalars(event_logs.failure_with_restart()) if s.name == "step/duration_s"]
    assert steps == [*range(1, 92), *range(81, 161)]


@pytest.mark.parametrize("name", [entry.name for entry in WRITERS])
def test_a_missing_package_is_named_with_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [*sys.modules, name]:
        if module.partition(".")[0] == name:
            monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=rf"gnn-workbench\[{name}\]"):
        WRITERS.create(name).open("run", {})


class Kept:
    """A destination that keeps what it is given."""

    def __init__(self) -> None:
        self.scalars: list[Scalar] = []
        self.statuses: list[str] = []
        self.fails = False

    def write(self, scalars: Any) -> None:
        if self.fails:
            raise OSError("disk full")
        self.scalars += scalars

    def close(self, status: str) -> None:
        self.statuses.append(status)


def writer_of(kept: Kept) -> Any:
    return SimpleNamespace(open=lambda run_id, settings: kept)


def test_a_run_at_work_is_followed_to_its_end() -> None:
    kept, run = Kept(), ToldRun(LOG[:200])
    end = send(run, writer_of(kept))
    assert kept.scalars == scalars(LOG[:200])
    run.listener(LOG[200:])
    assert kept.scalars == scalars(LOG)
    assert kept.statuses == ["finished"]
    end()
    assert kept.statuses == ["finished"], "it is ended once"


def test_a_tracker_that_fails_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    kept = Kept()
    kept.fails = True
    run = ToldRun(LOG[:50])
    send(run, writer_of(kept))
    assert kept.statuses == ["failed"]
    run.listener(LOG[50:])
    assert "disk full" in caplog.text


def test_tensorboard_reads_what_was_written(tmp_path: Path) -> None:
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    send(ToldRun(LOG), "tensorboard", folder=str(tmp_path))
    read = accumulator.EventAccumulator(str(tmp_path / ToldRun.id), size_guidance={"scalars": 0})
    read.Reload()
    found = [(event.step, event.value) for event in read.Scalars("step/train_loss")]
    expected = [(s.step, pytest.approx(s.value, rel=1e-6)) for s in scalars(LOG) if s.name == "step/train_loss"]
    assert found == expected


def test_mlflow_reads_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tracking = pytest.importorskip("mlflow.tracking")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs more packages
    uri = (tmp_path / "mlruns").as_uri()
    send(ToldRun(LOG), "mlflow", tracking_uri=uri)
    client = tracking.MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("workbench")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED"
    assert run.data.params["strategy.batch_size"] == "1024"
    found = {metric.step: metric.value for metric in client.get_metric_history(run.info.run_id, "step/train_loss")}
    assert found == {s.step: s.value for s in scalars(LOG) if s.name == "step/train_loss"}


def test_wandb_keeps_an_offline_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_SILENT", "true")
    send(ToldRun(LOG), "wandb", folder=str(tmp_path))
    (file,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    assert file.stat().st_size > 10_000
    assert b"step/train_loss" in file.read_bytes()
