"""The dashboard in JupyterLab, fed by a run that plays an invented log on a thread."""

from __future__ import annotations

from pathlib import Path

import pytest
from labkit import Notebook

WIDGET_TESTS = Path(__file__).resolve().parents[1] / "widgets"
SETUP = f"""import sys; sys.path.insert(0, {str(WIDGET_TESTS)!r})
from fake_run import FakeRun
from workbench.testing import event_logs
run = FakeRun(event_logs.{{log}})
run.tell_until("step_finished", {{step}})"""
WB = "section.wb"
STEP = f"Number(document.querySelector('{WB}')?.dataset.step ?? -1)"


def open_run(notebook: Notebook, *cells: str, log: str = "healthy()", step: int = 3) -> Notebook:
    notebook.open(SETUP.format(log=log, step=step), "run", *cells)
    return notebook


@pytest.fixture
def live(notebook: Notebook) -> Notebook:
    """A run that stands after its third step, on screen."""
    open_run(notebook).run_all()
    notebook.wait_js(f"() => {STEP} === 2")  # the third is told by one rank of two
    return notebook


def button(notebook: Notebook, name: str):
    return notebook.page.get_by_role("button", name=name, exact=True)


def test_it_moves_and_survives_a_reload_and_a_second_view(live: Notebook) -> None:
    live.execute("run.tell_until('step_finished', 30)")
    live.wait_js(f"() => {STEP} === 29")
    assert "epoch 2 of 8, step 9 of 20" in live.find(".db-figures").inner_text()
    live.save()
    live.execute("run.tell_until('step_finished', 41)")
    live.reload(save=False)
    live.wait_js(f"() => {STEP} === 40")
    assert live.value("len(run._listeners)") == 1
    live.add_cell("run")
    live.execute("run.tell_until('step_finished', 50)")
    live.wait_js(f"() => [...document.querySelectorAll('{WB}')].map(e => e.dataset.step).join() === '49,49'")
    assert live.value("len(run._listeners)") == 1, "two views of one dashboard"


def test_a_playing_run_is_drawn_a_few_times_a_second(live: Notebook) -> None:
    live.page.evaluate(f"""() => {{ window.seen = new Set();
      new MutationObserver(() => window.seen.add(document.querySelector('{WB}').dataset.step))
        .observe(document.querySelector('{WB}'), {{attributes: true, attributeFilter: ['data-step']}}); }}""")
    live.execute("import time\nfrom workbench.widgets.training_dashboard import dashboard_of\ndash = dashboard_of(run)")
    live.execute("begun, first = time.monotonic(), dash._seq\nrun.play(every_s=0.05, chunk=2)")
    live.wait_js(f"() => {STEP} >= 40", 60)
    assert live.page.evaluate("() => window.seen.size") >= 4
    assert live.value("(dash._seq - first) / (time.monotonic() - begun)") <= 4.1, "messages a second"
    assert live.page.evaluate(f"() => document.querySelector('{WB}').dataset.status") == "running"


def test_stop_asks_first_and_reaches_python_while_a_cell_blocks(notebook: Notebook) -> None:
    block = "import time\nend = time.monotonic() + 40\nwhile time.monotonic() < end and run.status != 'stopped':\n"
    block += "    time.sleep(0.05)\nprint('the run is', run.status)"
    open_run(notebook, block)
    notebook.start_all()
    notebook.wait_js(f"() => {STEP} === 2")
    button(notebook, "Stop the run, asks first").click()
    ask = notebook.page.get_by_role("alertdialog")
    assert "Stop at step 2? There is no checkpoint yet." in ask.inner_text()
    button(notebook, "Keep running").click()
    assert ask.is_hidden()
    assert notebook.page.evaluate("() => document.activeElement.textContent") == "Stop…"
    button(notebook, "Stop the run, asks first").click()
    button(notebook, "Save and stop").click()
    notebook.page.get_by_text("the run is stopped", exact=True).wait_for()
    assert notebook.value("[kind for kind, _ in run.controls]") == ["stop"]


def test_pause_and_resume_with_the_keyboard(live: Notebook) -> None:
    pause = live.find(".db-controls button").first
    pause.focus()
    live.page.keyboard.press("Enter")
    live.wait_value("run.status", "paused")
    live.wait_js("() => document.querySelector('.db-word').textContent === 'Paused'")
    assert pause.inner_text() == "Resume"
    pause.focus()
    live.page.keyboard.press("Enter")
    live.wait_value("run.status", "running")


def test_a_command_that_the_run_refuses_is_shown_inside(live: Notebook) -> None:
    live.execute("run.fail = 'its scheduler is gone'")
    button(live, "Save a checkpoint after this step").click()
    live.wait_js("() => document.querySelector('.db-answer').textContent.includes('its scheduler is gone')")


def test_at_the_end_the_picture_is_saved_in_the_notebook(live: Notebook) -> None:
    live.execute("run.tell(10_000)")
    live.find(".wb-static").wait_for()
    assert "Finished after 160 steps" in live.find(".wb-static").inner_text()
    assert live.find(".db-controls").count() == 0
    live.save()
    outputs = [output for cell in live.saved().cells for output in cell.get("outputs", [])]
    assert len(outputs) == 1
    assert sorted(outputs[0]["data"]) == ["text/html", "text/plain"]
    live.restart_kernel()
    live.reload()
    assert "Finished after 160 steps" in live.find(".wb-static").inner_text()


def test_after_a_reload_the_view_shows_the_end(live: Notebook) -> None:
    live.reload()
    live.wait_js(f"() => {STEP} === 2")
    live.execute("run.tell(10_000)")
    live.wait_js(f"() => document.querySelector('{WB}').dataset.status === 'finished'")
    assert live.find(".db-run").is_hidden()


def test_a_failure_and_its_restart(notebook: Notebook) -> None:
    open_run(notebook, log="failure_with_restart()", step=91).run_all()
    notebook.wait_js(f"() => {STEP} === 90")
    notebook.execute("run.tell_until('run_restarting'); run.tell(2)")
    notebook.wait_js(f"() => document.querySelector('{WB}').dataset.status === 'restarting'")
    verdict = notebook.find(".db-verdict").inner_text()
    assert "Rank 1 was lost near step 92" in verdict
    assert "the limit is the likely cause" in verdict
    assert "run again" in notebook.find(".db-figures").inner_text()
    assert notebook.find(".db-restart li").count() == 3
    notebook.execute("run.tell_until('step_finished', 85)")
    notebook.wait_js(f"() => {STEP} === 84")
    assert notebook.find(".db-restart").count() == 0


def test_a_restarted_kernel_leaves_the_last_picture_and_says_so(live: Notebook) -> None:
    live.restart_kernel()
    live.wait_js(f"() => document.querySelector('{WB}').dataset.state === 'disconnected'")
    assert "no kernel" in live.find(".db-status").inner_text()
    assert button(live, "Stop the run, asks first").is_disabled()


def test_panels_fold_on_a_narrow_page_and_the_log_has_a_filter(live: Notebook) -> None:
    live.execute("run.tell_until('step_finished', 45)")
    live.wait_js(f"() => {STEP} === 44")
    shown = live.page.get_by_label("Show events")
    shown.select_option("all")
    assert live.find(".db-log tbody tr").count() == 12
    live.page.set_viewport_size({"width": 760, "height": 1000})
    live.wait_js("() => document.querySelectorAll('details.db-panel[open]').length === 2")
    widest = f"() => document.querySelector('{WB}').scrollWidth <= document.querySelector('{WB}').clientWidth + 1"
    live.wait_js(widest)
    live.page.locator("details[data-panel=traffic] summary").click()
    live.find("details[data-panel=traffic] table").wait_for()


OTHER_PANEL = """from dataclasses import dataclass
from typing import ClassVar
from workbench.dashboard import PANELS, Panel
@PANELS.register("largest_batch")
@dataclass(frozen=True, slots=True, kw_only=True)
class LargestBatch(Panel):
    \"\"\"The largest batch so far.\"\"\"
    kinds: ClassVar[frozenset] = frozenset({"step_finished"})
    def initial(self):
        return 0
    def reduce(self, state, event):
        return max(state, event.data["num_nodes"])
    def view(self, state):
        rows = [{"num_nodes": state, "kind": "batch"}]
        return {"line": "by its nodes", "verdict": "One batch at a time", "rows": rows}"""


def test_a_panel_of_another_package_is_drawn_and_follows(notebook: Notebook) -> None:
    notebook.open(OTHER_PANEL, SETUP.format(log="healthy()", step=3), "run").run_all()
    panel = notebook.find("details[data-panel=largest_batch]")
    panel.wait_for()
    shown = panel.inner_text()
    assert all(words in shown for words in ("Largest batch", "by its nodes", "One batch at a time", "Num nodes"))
    notebook.execute("run.tell_until('step_finished', 30)")
    largest = "max(e.data['num_nodes'] for e in run.events if e.kind == 'step_finished')"
    cell = "document.querySelector('details[data-panel=largest_batch] td').textContent"
    notebook.wait_js(f"() => {cell} === '{notebook.value(largest):,}'")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures(notebook: Notebook, theme: str) -> None:
    """Both themes draw without a fault, and text stands out from what is behind it."""
    open_run(notebook, log="straggler()", step=92).run_all()
    notebook.set_theme(theme)
    notebook.wait_js(f"() => {STEP} === 91")
    colors = f"() => {{ const s = getComputedStyle(document.querySelector('{WB} .db-value')); return s.color; }}"
    channels = notebook.page.evaluate(colors).partition("(")[2].rstrip(")").split(",")[:3]
    brightness = sum(float(channel) for channel in channels) / 3
    assert (brightness > 128) == (theme == "dark")
    assert notebook.screenshot(f"dashboard-{theme}", WB).stat().st_size > 20_000
