"""RunComparison as the kernel does it, and its files; tests/browser looks at the page."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import wait_until
from fake_run import FakeRun

import workbench as wb
from workbench.core.errors import InputError
from workbench.core.events import encode_line
from workbench.testing import event_logs
from workbench.testing.event_logs import Scenario
from workbench.widgets import run_comparison
from workbench.widgets.run_comparison import RunComparison


def run(name: str, *, epochs: int = 4, **scenario: Any) -> FakeRun:
    made = FakeRun(event_logs.healthy(Scenario(epochs=epochs, **scenario)), name=name)
    made.tell(10_000)
    return made


@pytest.fixture
def runs() -> list[FakeRun]:
    return [run("first"), run("second", epochs=6, batch_size=512, forward_s=0.1, backward_s=0.1)]


def test_it_shows_curves_tables_and_what_differs(runs: list[FakeRun]) -> None:
    shown = RunComparison(runs).snapshot()
    assert [entry["run"] for entry in shown["runs"]] == ["first", "second"]
    assert shown["metrics"][0] == {"name": "val_accuracy", "title": "Validation accuracy", "lower": False}
    points = shown["runs"][1]["points"]["val_accuracy"]
    assert points.shape == (6, 5)
    assert points[:, 0].tolist() == [20, 40, 60, 80, 100, 120]
    assert (np.diff(points[:, 3]) > 0).all(), "bytes add up"
    assert {row["setting"]: (row["first"], row["second"]) for row in shown["differences"]} == {
        "strategy.batch_size": ("1024", "512"),
        "epochs": ("4", "6"),
    }
    assert json.dumps(shown["rows"])
    assert "second" in shown["verdicts"]["val_accuracy"]


def test_a_value_to_reach_is_answered_and_a_bad_one_refused(runs: list[FakeRun], view_of: Any) -> None:
    view = view_of(RunComparison(runs))
    view.say("ask", id="1", question="reached", arguments={"metric": "val_accuracy", "target": 0.79})
    rows = view.wait("answer")[0]["body"]["rows"]
    assert rows[0]["reached"] is None, "four epochs come to 0.787"
    assert rows[1]["reached"]["epoch"] == 5
    view.say("ask", id="2", question="reached", arguments={"metric": "val_f1", "target": 0.5})
    assert "one of ['val_accuracy'" in view.wait("answer", 2)[1]["error"]


def test_files_hold_the_history(runs: list[FakeRun], tmp_path: Path, view_of: Any) -> None:
    comparison = RunComparison(runs)
    expected = comparison.comparison.history
    assert len(expected) == 10
    pd.testing.assert_frame_equal(pd.read_csv(comparison.export(tmp_path / "all.csv")), expected)
    pd.testing.assert_frame_equal(pd.read_parquet(comparison.export(tmp_path / "all.parquet")), expected)
    page = comparison.export(str(tmp_path / "all.html")).read_text()
    assert page.startswith("<!doctype html>")
    assert page.count("<svg") == 2
    assert "<script" not in page
    with pytest.raises(InputError, match="PNG"):
        comparison.export(tmp_path / "all.png")
    view = view_of(comparison)
    view.say("ask", id="1", question="file", arguments={"form": "parquet"})
    view.wait("answer")
    content, buffers = next(sent for sent in view.sent if sent[0]["k"] == "answer")
    assert content["body"]["name"] == "runs.parquet"
    pd.testing.assert_frame_equal(pd.read_parquet(io.BytesIO(bytes(buffers[0]))), expected)


def test_it_moves_on_with_a_run_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_comparison, "LOOK_EVERY_S", 0.02)
    live = FakeRun(event_logs.healthy(Scenario(epochs=4)), name="live")
    live.tell_until("epoch_finished")
    comparison = RunComparison([live, run("done")])
    assert len(comparison.snapshot()["runs"][0]["points"]["val_accuracy"]) == 1
    live.tell(10_000)
    wait_until(lambda: len(comparison.snapshot()["runs"][0]["points"]["val_accuracy"]) == 4)
    wait_until(lambda: comparison.snapshot()["runs"][0]["status"] == "finished")
    comparison.close()


def test_folders_and_ids_are_runs_too_and_each_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    folder = tmp_path / "runs" / "20260101-000000-copied-0001"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "events.log").write_bytes(b"".join(map(encode_line, event_logs.healthy(Scenario(epochs=2)))))
    comparison = wb.compare([folder, str(folder), "20260101"])
    assert [record.id for record in comparison.records] == [folder.name]
    assert comparison.records[0].status == "finished"
    assert comparison.records[0].config["strategy"]["name"] == "mini_batch"
    assert len(comparison.history) == 2
    assert f"{comparison.time_to()['val_accuracy'][0]:.6f}" in comparison._repr_html_()


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(InputError, match="at least one run"):
        wb.compare([])
    with pytest.raises(InputError, match="ids that wb"):
        wb.RunComparison([3])
    with pytest.raises(InputError, match="pass a list"):
        wb.compare(7)


def test_runs_without_an_epoch_are_shown_as_such() -> None:
    fresh = FakeRun(event_logs.healthy(Scenario(epochs=1), last_step=3), name="fresh")
    fresh.tell(10_000)
    comparison = RunComparison([fresh])
    assert comparison.snapshot()["metrics"] == []
    assert "No epoch is finished yet" in comparison.static_html()
    assert "No epoch is finished yet" in comparison.text_summary()
    comparison.close()


def test_a_long_curve_is_thinned_for_the_view_alone() -> None:
    long = run("long", epochs=1500, steps_per_epoch=1, trainers=1, samplers=0)
    comparison = RunComparison([long])
    points = comparison.snapshot()["runs"][0]["points"]["val_accuracy"]
    assert len(points) <= 513
    assert (points[0, 1], points[-1, 1]) == (1, 1500)
    assert len(comparison.comparison.history) == 1500
