"""TrainingDashboard over a run that plays an invented log; tests/browser looks at it in a page."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest
from conftest import wait_until
from fake_run import FakeRun

from workbench.core import display
from workbench.dashboard import Dashboard, patched
from workbench.testing import event_logs
from workbench.testing.event_logs import Scenario
from workbench.widgets import base, training_dashboard
from workbench.widgets.dashboard_outbox import BUDGET_BYTES, Outbox, size_of
from workbench.widgets.dashboard_static import static_html
from workbench.widgets.training_dashboard import RunPicture, TrainingDashboard, dashboard_of


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_dashboard, "TICK_S", 0.02)
    monkeypatch.setattr(training_dashboard, "LAST_LOOK_S", 0.02)


@pytest.fixture
def run() -> FakeRun:
    run = FakeRun(event_logs.failure_with_restart())
    run.tell_until("step_finished", 10)
    return run


def step_shown(dashboard: TrainingDashboard) -> int:
    return dashboard.snapshot()["view"]["progress"]["step"]


def test_it_shows_what_was_before_it_and_follows(run: FakeRun) -> None:
    dashboard = TrainingDashboard(run)
    assert step_shown(dashboard) == 9
    run.tell_until("step_finished", 30)
    wait_until(lambda: step_shown(dashboard) >= 29)
    dashboard.close()


def test_changes_add_up_to_the_whole_view(run: FakeRun, view_of: Any) -> None:
    dashboard = TrainingDashboard(run)
    shown = dashboard.snapshot()["view"]
    view = view_of(dashboard)
    run.tell_until("step_finished", 90)
    expected = Dashboard()
    expected.apply(run.events)
    wait_until(lambda: step_shown(dashboard) == expected.view()["progress"]["step"] and not dashboard._outbox.waiting)
    dashboard.close()
    assert view.of("delta")
    assert [m["from"] for m in view.of("delta")[1:]] == [m["to"] for m in view.of("delta")[:-1]]
    assert shown["progress"]["step"] == 9, "what was sent is not changed later"


@pytest.mark.parametrize("trainers", [2, 8])
def test_no_message_is_large_and_all_is_told_in_a_few(trainers: int) -> None:
    events = event_logs.healthy(Scenario(trainers=trainers, samplers=trainers, epochs=2, steps_per_epoch=60))
    dashboard = Dashboard()
    outbox = Outbox(dashboard)
    shown: Any = dict(outbox.sent)
    for start in range(0, len(events), 150):
        dashboard.apply(events[start : start + 150])
        change = outbox.take()
        assert size_of(change) < BUDGET_BYTES + 200
        shown = patched(shown, change)
    rounds = 0
    while outbox.waiting:
        shown, rounds = patched(shown, outbox.take()), rounds + 1
    assert rounds <= 4
    assert dashboard.delta(shown) is None


def test_nobody_listens_then_a_page_comes_back(run: FakeRun, view_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dashboard = TrainingDashboard(run)
    view = view_of(dashboard)
    monkeypatch.setattr(base, "LISTEN_S", 0.0)
    run.tell_until("step_finished", 60)
    wait_until(lambda: dashboard._behind)
    assert view.of("delta") == []
    monkeypatch.setattr(base, "LISTEN_S", 5.0)
    view.say("hello", have=0)
    wait_until(lambda: step_shown(dashboard) == 59)
    dashboard.close()


def test_commands_reach_the_run_and_refusals_the_view(run: FakeRun, view_of: Any) -> None:
    dashboard = TrainingDashboard(run)
    view = view_of(dashboard)
    view.say("command", id="1", name="control", arguments={"kind": "pause"})
    view.wait("done")
    assert [kind for kind, _ in run.controls] == ["pause"]
    run.fail = "its scheduler is gone"
    view.say("command", id="2", name="control", arguments={"kind": "stop"})
    assert view.wait("done", 2)[1]["error"] == "RuntimeError: its scheduler is gone"
    view.say("command", id="3", name="control", arguments={"kind": "explode"})
    assert "expected one of ['pause'" in view.wait("done", 3)[2]["error"]
    dashboard.close()


def test_the_end_leaves_a_picture_and_no_thread(run: FakeRun) -> None:
    class Handle:
        bundles: list[dict[str, str]] = []  # noqa: RUF012  # one handle, one test

        def update(self, bundle: dict[str, str], raw: bool) -> None:
            assert raw
            self.bundles.append(bundle)

    dashboard = TrainingDashboard(run)
    dashboard._display_handles.append(Handle())
    run.tell(10_000)
    wait_until(lambda: bool(Handle.bundles))
    wait_until(lambda: dashboard.comm is None)
    bundle = Handle.bundles[0]
    assert sorted(bundle) == ["text/html", "text/plain"]
    assert "Finished after 160 steps" in bundle["text/html"]
    assert run._listeners == []
    wait_until(lambda: not any(thread.name == "workbench-dashboard" for thread in threading.enumerate()))


def test_a_run_that_ended_is_a_picture_without_a_widget() -> None:
    run = FakeRun(event_logs.failed())
    run.tell(10_000)
    shown = dashboard_of(run)
    assert isinstance(shown, RunPicture)
    data, _ = shown._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" not in data
    assert "mat1 and mat2 shapes" in data["text/html"]
    assert "The run failed after step 12" in data["text/plain"]


def test_the_picture_needs_no_script_and_no_address_and_stays_small() -> None:
    run = FakeRun(event_logs.healthy())
    run.tell(10_000)
    picture = dashboard_of(run)._repr_mimebundle_()[0]["text/html"]
    assert "<script" not in picture
    assert set(re.findall(r"https?://[\w.]+", picture)) <= {"http://www.w3.org"}
    assert len(picture) < 100_000


def test_a_panel_of_another_package_is_in_the_picture() -> None:
    view = {
        "line": "3 steps old",
        "verdict": "Rows are <old>",
        "rows": [{"layer": 0, "mean_age": 2.5}, {"layer": 1, "mean_age": 3.25}],
        "num_rows": 1200,
        "points": [[1, 2]],
    }
    dashboard = Dashboard()
    dashboard.apply(event_logs.healthy(last_step=9))
    facts = {"name": "a", "status": "running", "control": True}
    html = static_html({**dashboard.view(), "stale_rows": view}, facts)
    for words in ("Stale rows", "3 steps old", "Rows are &lt;old&gt;", "Mean age", "3.25", "Num rows", "1,200"):
        assert words in html
    assert "Points" not in html, "arrays are not text"


def test_names_from_outside_are_text_in_the_picture() -> None:
    run = FakeRun(event_logs.failed(), name="<img src=x onerror=alert(1)>")
    run.tell(10_000)
    assert "<img" not in dashboard_of(run)._repr_mimebundle_()[0]["text/html"]


def test_in_a_notebook_a_run_shows_its_one_dashboard(run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    assert display.render_run(run) is None, "elsewhere it shows itself as text"
    monkeypatch.setattr(display, "_in_notebook", lambda: True)
    first = display.render_run(run)
    assert isinstance(first, TrainingDashboard)
    assert display.render_run(run) is first
    first.close()
    second = display.render_run(run)
    assert second is not first
    second.close()


@pytest.mark.parametrize("name", ["healthy", "straggler", "failure_with_restart", "stopped", "failed"])
def test_every_kind_of_run_has_a_picture_and_words(name: str) -> None:
    run = FakeRun(getattr(event_logs, name)())
    run.tell(10_000)
    picture = RunPicture(run)._repr_mimebundle_()[0]
    assert picture["text/html"].count("<svg") == 5
    assert picture["text/plain"].startswith("Run debian-sage-7f3a: ")


def test_a_run_that_has_told_nothing_has_a_picture() -> None:
    assert "no step finished yet" in RunPicture(FakeRun([]))._repr_mimebundle_()[0]["text/html"].lower()
