"""The quickstart in JupyterLab, as a person runs it: watch, reload, stop, restart, attach."""

from __future__ import annotations

from pathlib import Path

import pytest
from labkit import Notebook

QUICKSTART = Path(__file__).resolve().parents[2] / "notebooks" / "00_quickstart.ipynb"
DASHBOARD = "section[aria-label='Training dashboard'][data-step]"
STEP = f'Math.max(-1, ...[...document.querySelectorAll("{DASHBOARD}")].map(element => Number(element.dataset.step)))'
AWAITING = """() => [...document.querySelectorAll('.jp-CodeCell')].find(cell => cell.textContent.includes('await run'))
  .querySelector('.jp-InputPrompt').textContent"""


def wait_step(notebook: Notebook, least: int, timeout_s: float = 240) -> int:
    """Wait until some dashboard shows a step; a cell that raises ends the wait."""
    failed = "document.querySelector('[data-mime-type=\"application/vnd.jupyter.error\"]')"
    notebook.wait_js(f"() => {STEP} >= {least} || {failed}", timeout_s)
    assert notebook.errors() == []
    return int(notebook.page.evaluate(f"() => {STEP}"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_quickstart_is_watched_reloaded_stopped_and_attached_again(notebook: Notebook) -> None:
    notebook.open(path=QUICKSTART)
    notebook.start_all()

    first = wait_step(notebook, 1)
    seen = wait_step(notebook, first + 2)
    assert notebook.page.evaluate(AWAITING) == "[*]:", "the cell that awaits the run is still at it"
    notebook.screenshot("quickstart-running", DASHBOARD)

    notebook.reload()
    back = wait_step(notebook, seen)
    wait_step(notebook, back + 1)

    dashboard = notebook.find(DASHBOARD).first
    dashboard.get_by_role("button", name="Stop the run, asks first").click()
    dashboard.get_by_role("button", name="Save and stop").click()
    assert notebook.value("run.status") == "stopped"
    stopped_at = notebook.value("[event.data['step'] for event in run.events if event.kind == 'run_stopped']")
    assert stopped_at[0] >= back
    run_id, num_events = notebook.value("[run.id, len(run.events)]")

    notebook.restart_kernel()
    notebook.add_cell(f"import workbench as wb\nagain = wb.attach({run_id!r})\nagain")
    assert notebook.value("[again.status, len(again.events)]") == ["stopped", num_events]
    picture = notebook.find(".jp-Cell:last-child .jp-OutputArea-output").last
    assert run_id in picture.inner_text()
    notebook.screenshot("quickstart-attached")
