"""The base of all widgets in JupyterLab: snapshot, deltas, questions, commands, reload, second view, freeze."""

from __future__ import annotations

from pathlib import Path

import pytest
from labkit import Notebook

HERE = Path(__file__).resolve().parent
SETUP = f"""import sys; sys.path.insert(0, {str(HERE.parent / "widgets")!r})
from demo_widget import Demo
demo = Demo()
_ = demo.add(2)"""
BLOCK = """import time
end = time.monotonic() + 20
while time.monotonic() < end and not demo.stopped.is_set():
    {wait}
print("stopped in time:", demo.stopped.is_set())"""
TOTAL = ".wb .demo-total"


@pytest.fixture
def demo(notebook: Notebook) -> Notebook:
    notebook.open(SETUP, "demo").run_all()
    notebook.find(TOTAL).wait_for()
    return notebook


def wait_total(notebook: Notebook, text: str, selector: str = TOTAL) -> None:
    notebook.wait_js(f"() => [...document.querySelectorAll({selector!r})].every(e => e.textContent === {text!r})")


def test_deltas_arrive_and_a_reload_shows_the_current_state(demo: Notebook) -> None:
    wait_total(demo, "total 2")
    demo.execute("demo.add(3)")
    wait_total(demo, "total 5")
    demo.save()
    demo.execute("demo.add(4)")
    demo.reload(save=False)
    demo.find(TOTAL).wait_for()
    wait_total(demo, "total 9")
    demo.execute("demo.add(1)")
    wait_total(demo, "total 10")


def test_a_second_view_stays_in_step(demo: Notebook) -> None:
    demo.add_cell("demo")
    demo.execute("demo.add(5)")
    wait_total(demo, "total 7")
    assert demo.find(TOTAL).count() == 2


def test_a_question_is_answered_with_arrays_and_an_error_is_shown_inside(demo: Notebook) -> None:
    field = demo.find("input[aria-label=Count]")
    field.fill("5")
    field.press("Enter")
    demo.wait_js("() => document.querySelector('.demo-answer').textContent === 'sum 10, last 16'")
    field.fill("-1")
    field.press("Enter")
    demo.find(".wb-error").wait_for()
    assert "expected n >= 0; got -1" in demo.find(".wb-error").inner_text()


def test_a_newer_question_and_cancel_end_the_older_one(demo: Notebook) -> None:
    field = demo.find("input[aria-label=Count]")
    field.fill("500000")
    field.press("Enter")
    demo.wait_js("() => /of 500000/.test(document.querySelector('.wb-busy').textContent)")
    field.fill("4")
    field.press("Enter")
    demo.wait_js("() => document.querySelector('.demo-answer').textContent === 'sum 6, last 9'")
    demo.wait_value("demo.cancelled", [500000])
    field.fill("400000")
    field.press("Enter")
    demo.wait_js("() => /of 400000/.test(document.querySelector('.wb-busy').textContent)")
    demo.page.get_by_role("button", name="Cancel").click()
    demo.wait_value("demo.cancelled", [500000, 400000])
    assert demo.find(".wb-busy").is_hidden()


@pytest.mark.parametrize("wait", ["time.sleep(0.05)", "sum(range(1000))"])
def test_a_command_is_obeyed_while_a_cell_blocks(notebook: Notebook, wait: str) -> None:
    """Also when the widget was made just before: all three cells are sent at once."""
    notebook.open(SETUP, "demo", BLOCK.format(wait=wait))
    notebook.start_all()
    notebook.page.get_by_role("button", name="Stop the demo").click()
    notebook.page.get_by_text("stopped in time: True", exact=True).wait_for()
    notebook.wait_js("() => document.querySelector('.demo-answer').textContent === 'stopped'")


def test_nothing_is_sent_when_nobody_listens_and_nothing_is_missed(demo: Notebook) -> None:
    demo.save()
    demo.execute(
        "import threading, time\nsent = []\n"
        "def work():\n    for _ in range(60):\n        sent.append(demo.add(1))\n        time.sleep(0.25)\n"
        "threading.Thread(target=work).start()"
    )
    demo.page.goto("about:blank")
    demo.page.wait_for_timeout(7500)
    demo.reload(save=False)
    demo.wait_value("len(sent)", 60)
    assert demo.value("[sent[0], False in sent]") == [True, True]
    wait_total(demo, "total 62")


def test_a_restarted_kernel_is_noticed(demo: Notebook) -> None:
    demo.restart_kernel()
    demo.wait_js("() => document.querySelector('.wb').dataset.state === 'disconnected'")
    assert "kernel was restarted" in demo.find(".wb-notice").inner_text()


def test_freeze_replaces_the_view_by_a_picture_that_is_saved(demo: Notebook) -> None:
    demo.add_cell("demo.freeze()")
    demo.find(".demo-static").wait_for()
    assert demo.find(TOTAL).count() == 0
    demo.save()
    outputs = [output for cell in demo.saved().cells for output in cell.get("outputs", [])]
    assert [output["data"].get("text/plain") for output in outputs] == ["Demo of 1 numbers"]
    assert "application/vnd.jupyter.widget-view+json" not in outputs[0]["data"]
