"""The dashboard's panels in JupyterLab: chosen and arranged; looking back; replay."""

from __future__ import annotations

import pytest
from labkit import Notebook
from test_training_dashboard import STEP, WB, WIDGET_TESTS, button

SETUP = f"""import sys; sys.path.insert(0, {str(WIDGET_TESTS)!r})
from fake_run import FakeRun
from workbench.testing import event_log_extras as extras, event_logs
from workbench.testing.event_logs import Scenario
from workbench.widgets import TrainingDashboard
events = extras.with_prediction(extras.with_staleness(extras.with_cache({{log}})), all_reduce=2_337_232, gather=110e6)
run = FakeRun(events)
run.tell_until("step_finished", {{step}})
dashboard = TrainingDashboard(run)"""
OPENED = f"""() => {{ const panels = [...document.querySelectorAll('{WB} details.db-panel')];
  const were = panels.filter(panel => panel.open).length;
  for (const panel of panels) panel.open = true;
  return were === 11; }}"""
PANELS = f"(document.querySelector('{WB}')?.dataset.panels ?? '')"


def open_run(notebook: Notebook, *, log: str = "event_logs.straggler()", step: int = 92) -> Notebook:
    notebook.open(SETUP.format(log=log, step=step), "dashboard").run_all()
    notebook.wait_js(f"() => {STEP} > 0")
    return notebook


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 840, 1900])
def test_pictures(notebook: Notebook, theme: str, width: int) -> None:
    """Every panel draws without a fault at every width and in both themes, and nothing stands out of the widget."""
    notebook.page.set_viewport_size({"width": width, "height": 2600})
    open_run(notebook)
    notebook.set_theme(theme)
    notebook.wait_js(OPENED)  # again and again: a page that has become narrow folds its panels once more
    notebook.wait_js(f"() => document.querySelector('{WB} [data-panel=log]').getBoundingClientRect().height > 100")
    assert notebook.screenshot(f"panels-{theme}-{width}", WB).stat().st_size > 20_000
    over = f"""() => {{ const {{right}} = document.querySelector('{WB}').getBoundingClientRect();
      return [...document.querySelectorAll('{WB} .db-panel')].filter(n => n.getBoundingClientRect().right > right + 1)
        .map(n => n.dataset.panel); }}"""
    assert notebook.page.evaluate(over) == []


def test_panels_are_hidden_and_moved_and_python_and_a_reload_know(notebook: Notebook) -> None:
    open_run(notebook)
    opener = button(notebook, "Choose and arrange panels")
    opener.focus()
    notebook.page.keyboard.press("Enter")
    assert opener.get_attribute("aria-expanded") == "true"
    notebook.page.get_by_label("Panel Stragglers", exact=True).uncheck()
    notebook.wait_js(f"() => !{PANELS}.includes('stragglers')")
    notebook.wait_value("dashboard.layout_chosen.get('shown')", {"stragglers": False})
    button(notebook, "Move Last steps up").click()
    notebook.wait_js(f"() => {PANELS}.startsWith('loss metrics gantt throughput')")
    notebook.wait_value("dashboard.layout_chosen['order'][:3]", ["loss", "metrics", "gantt"])
    assert notebook.page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "Move Last steps up"
    assert "How late each rank is" not in notebook.value("dashboard.static_html()")
    notebook.page.keyboard.press("Escape")
    assert notebook.page.get_by_role("group", name="Panels").is_hidden()
    notebook.reload()
    notebook.wait_js(f"() => {PANELS}.startsWith('loss metrics gantt') && !{PANELS}.includes('stragglers')")
    button(notebook, "Choose and arrange panels").click()
    button(notebook, "Show the usual panels in their usual order").click()
    notebook.wait_value("dict(dashboard.layout_chosen)", {})
    notebook.wait_js(f"() => {PANELS}.startsWith('loss metrics throughput gantt') && {PANELS}.includes('stragglers')")


def test_panels_of_what_the_run_does_not_use_are_left_out_and_can_be_asked_for(notebook: Notebook) -> None:
    notebook.open(
        SETUP.format(log="event_logs.healthy()", step=3).replace("FakeRun(events)", "FakeRun(event_logs.healthy())"),
        "dashboard",
    ).run_all()
    notebook.wait_js(f"() => {STEP} > 0")
    assert "cache" not in notebook.page.evaluate(f"() => {PANELS}")
    button(notebook, "Choose and arrange panels").click()
    notebook.page.get_by_label("Panel Cache", exact=True).check()
    notebook.page.get_by_text("Every feature row is read where it lies").wait_for()


def test_looking_back_and_returning_while_the_run_goes_on(notebook: Notebook) -> None:
    open_run(notebook, log="event_logs.healthy()", step=60)
    now = notebook.page.evaluate(f"() => {STEP}")
    button(notebook, "Look at a moment of the run's past").click()
    slider = notebook.page.get_by_role("slider", name="Moment of the run")
    slider.focus()
    notebook.page.keyboard.press("Home")
    notebook.wait_js(f"() => {STEP} === 0")
    assert notebook.page.get_by_role("toolbar", name="Run controls").is_hidden()
    for _ in range(3):
        notebook.page.keyboard.press("PageUp")
    notebook.wait_js(f"() => {STEP} > 5 && {STEP} < {now}")
    notebook.wait_value(
        "dashboard._player.dashboard.view()['progress']['step']", notebook.page.evaluate(f"() => {STEP}")
    )
    notebook.execute("run.tell_until('step_finished', 70)")
    notebook.page.wait_for_timeout(600)
    assert notebook.page.evaluate(f"() => {STEP}") < now, "the past stays while the run goes on"
    button(notebook, "Back to the run as it is now").click()
    notebook.wait_js(f"() => {STEP} === 69")
    assert notebook.page.get_by_role("toolbar", name="Run controls").is_visible()


def test_replay_of_an_ended_run_plays_to_the_picture_that_it_ended_with(notebook: Notebook) -> None:
    cell = SETUP.format(log="event_logs.failure_with_restart()", step=3).replace(
        "dashboard = TrainingDashboard(run)", "run.tell(100_000)\ndashboard = TrainingDashboard.replay(run, speed=4)"
    )
    notebook.open(cell, "dashboard").run_all()
    notebook.wait_js(f"() => {STEP} > 2 && {STEP} < 150")
    button(notebook, "Pause the replay").click()
    notebook.wait_value("dashboard._player.playing", False)
    notebook.page.get_by_label("Speed of the replay").select_option("1024")
    notebook.wait_value("dashboard._player.speed", 1024.0)
    button(notebook, "Play the run's past").click()
    notebook.wait_js(f"() => document.querySelector('{WB}').dataset.status === 'finished' && {STEP} === 160", 60)
    notebook.wait_value("dashboard._player.playing", False)
    same = "dashboard._player.dashboard.delta(dashboard._dashboard.view()) is None"
    notebook.wait_value(same)
    notebook.reload()
    notebook.wait_js(f"() => {STEP} === 160")
