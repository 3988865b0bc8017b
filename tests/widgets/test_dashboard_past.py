"""Looking back, replay and the arrangement of panels, as the kernel does them; tests/browser looks at the page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import wait_until
from fake_run import FakeRun

from workbench.core.errors import InputError
from workbench.core.events import encode_line
from workbench.dashboard import Dashboard
from workbench.testing import event_logs
from workbench.widgets import training_dashboard
from workbench.widgets.dashboard_layout import check_layout, shown_panels
from workbench.widgets.training_dashboard import TrainingDashboard

LOG = event_logs.failure_with_restart()


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_dashboard, "TICK_S", 0.02)
    monkeypatch.setattr(training_dashboard, "LAST_LOOK_S", 0.02)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "20260101-000000-copied-0001"
    folder.mkdir()
    (folder / "events.log").write_bytes(b"".join(map(encode_line, LOG)))
    return folder


def as_json(view: Any) -> str:
    return json.dumps(view, default=lambda v: v.tolist() if isinstance(v, np.ndarray) else dict(v), sort_keys=True)


def whole() -> str:
    dashboard = Dashboard()
    dashboard.apply(LOG)
    return as_json(dashboard.view())


def test_a_folder_is_replayed_to_the_picture_that_the_run_ended_with(folder: Path) -> None:
    dashboard = TrainingDashboard.replay(folder, speed=5_000)
    wait_until(lambda: not dashboard._player.playing and as_json(dashboard.snapshot()["view"]) == whole())
    facts = dashboard.snapshot()["run"]
    assert (facts["name"], facts["status"], facts["control"]) == (folder.name, "finished", False)
    assert facts["player"]["position_s"] == pytest.approx(LOG[-1].time_s - LOG[0].time_s, abs=0.01)
    assert "Finished after 160 steps" in dashboard.static_html()
    dashboard.close()


def test_a_moment_shows_what_was_known_then(folder: Path) -> None:
    dashboard = TrainingDashboard.replay(folder, speed=1)
    dashboard._play("pause")
    lost = next(event for event in LOG if event.kind == "rank_failed")
    dashboard._play("seek", position_s=lost.time_s - LOG[0].time_s)
    view = dashboard.snapshot()["view"]
    assert "Rank 1 was lost near step 92" in view["verdict"]["what"]
    assert dashboard.snapshot()["run"]["status"] == "restarting", "told at the same moment"
    dashboard._play("seek", position_s=-5.0)
    assert dashboard.snapshot()["view"]["progress"]["status"] == "pending"
    dashboard._play("seek", position_s=1e9)
    assert as_json(dashboard.snapshot()["view"]) == whole()
    dashboard.close()


def test_the_past_of_a_run_at_work_stands_while_it_goes_on(view_of: Any) -> None:
    run = FakeRun(LOG)
    run.tell_until("step_finished", 40)
    dashboard = TrainingDashboard(run)
    view = view_of(dashboard)
    view.say("command", id="1", name="play", arguments={"action": "open"})
    view.wait("done")
    view.say("command", id="2", name="play", arguments={"action": "seek", "position_s": 20.0})
    view.wait("done", 2)
    then = dashboard.snapshot()["view"]["progress"]["step"]
    assert 0 < then < 39
    run.tell_until("step_finished", 60)
    wait_until(lambda: dashboard._dashboard.view()["progress"]["step"] == 59)
    assert dashboard.snapshot()["view"]["progress"]["step"] == then
    assert run.controls == []
    view.say("command", id="3", name="play", arguments={"action": "live"})
    view.wait("done", 3)
    assert dashboard.snapshot()["view"]["progress"]["step"] == 59
    assert dashboard.snapshot()["run"]["control"]
    dashboard.close()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"action": "fly"}, "expected one of ['open'"),
        ({"action": "speed", "speed": 0}, "pass speed=10"),
        ({"action": "speed", "speed": "fast"}, "pass speed=10"),
    ],
)
def test_what_a_player_does_not_do_is_refused(arguments: Any, words: str, view_of: Any, folder: Path) -> None:
    dashboard = TrainingDashboard.replay(folder)
    view = view_of(dashboard)
    view.say("command", id="1", name="play", arguments=arguments)
    assert words in view.wait("done")[0]["error"]
    dashboard.close()


def test_replay_says_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the folder of a run"):
        TrainingDashboard.replay(tmp_path)
    with pytest.raises(InputError, match="speed"):
        TrainingDashboard.replay(tmp_path, speed=-1)
    with pytest.raises(InputError, match="pass what"):
        TrainingDashboard.replay(42)  # type: ignore[arg-type]


def test_a_log_that_is_long_to_read_is_shown_from_its_beginning(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_dashboard, "READ_AT_ONCE_S", 0.0)
    dashboard = TrainingDashboard.replay(folder, speed=5_000)
    wait_until(lambda: dashboard._reading.share is None and as_json(dashboard.snapshot()["view"]) == whole())
    dashboard.close()


def test_panels_are_arranged_and_the_picture_follows(view_of: Any) -> None:
    run = FakeRun(LOG)
    run.tell(100)
    dashboard = TrainingDashboard(run)
    view = view_of(dashboard)
    layout = {"order": ["log", "loss"], "shown": {"gantt": False, "cache": True}}
    view.say("command", id="1", name="arrange", arguments={"layout": layout})
    view.wait("done")
    assert dashboard.snapshot()["layout"] == layout
    assert view.of("delta")[-1]["body"] == {"layout": layout}
    picture = dashboard.static_html()
    assert "Last steps" not in picture
    assert picture.index("<b>Events</b>") < picture.index("<b>Training loss</b>") < picture.index("<b>Cache</b>")
    view.say("command", id="2", name="arrange", arguments={"layout": {"order": ["nothing"]}})
    assert "names among" in view.wait("done", 2)[1]["error"]
    view.say("command", id="3", name="arrange", arguments={"layout": "wide"})
    assert "send such a one" in view.wait("done", 3)[2]["error"]
    dashboard.close()


def test_panels_that_a_run_does_not_use_are_left_out_unless_chosen() -> None:
    views: Any = {"progress": {}, "cache": {"used": False}, "loss": {}, "strange": {}, "log": {}}
    assert shown_panels(views, {}) == ["loss", "strange", "log"]
    assert shown_panels(views, {"shown": {"cache": True, "loss": False}}) == ["cache", "strange", "log"]
    assert check_layout({"order": ["log", "log"]}, views) == {"order": ["log"]}
