"""RunComparison in JupyterLab: by each axis, to a value, files, both themes, narrow."""

from __future__ import annotations

import pytest
from labkit import Notebook
from test_training_dashboard import WIDGET_TESTS

WB = "section.wb"
SETUP = f"""import sys; sys.path.insert(0, {str(WIDGET_TESTS)!r})
from fake_run import FakeRun
from workbench.testing import event_logs
from workbench.testing.event_logs import Scenario
import workbench as wb
def run(name, **scenario):
    made = FakeRun(event_logs.healthy(Scenario(**scenario)), name=name)
    made.tell(100_000)
    return made
runs = [run("20261201-debian-sage-7f3a", epochs=8),
        run("20261201-debian-sage-9c11", epochs=12, batch_size=512, forward_s=0.1, backward_s=0.15),
        run("20261130-debian-gcn-full", epochs=20, trainers=1, samplers=0, steps_per_epoch=4, forward_s=1.5)]
comparison = wb.RunComparison(runs)"""


@pytest.fixture
def compared(notebook: Notebook) -> Notebook:
    notebook.open(SETUP, "comparison").run_all()
    notebook.wait_js(f"() => document.querySelector('{WB}')?.dataset.runs === '3'")
    return notebook


@pytest.mark.parametrize(("theme", "width"), [("light", 1400), ("dark", 1400), ("light", 840)])
def test_pictures(compared: Notebook, theme: str, width: int) -> None:
    compared.page.set_viewport_size({"width": width, "height": 1600})
    compared.set_theme(theme)
    wide = 2 if width > 1000 else 1
    columns = "getComputedStyle(document.querySelector('.cmp-charts')).gridTemplateColumns.split(' ').length"
    compared.wait_js(f"() => {columns} === {wide}")
    assert compared.find(".cmp-charts svg").count() == 2
    assert compared.screenshot(f"comparison-{theme}-{width}", WB).stat().st_size > 20_000


def test_axes_metric_and_value_are_chosen_with_the_keyboard(compared: Notebook) -> None:
    compared.page.get_by_role("radio", name="Epochs").focus()
    compared.page.keyboard.press("ArrowRight")
    compared.wait_js(f"() => document.querySelector('{WB}').dataset.axis === 'elapsed_s'")
    focused = "() => document.activeElement.textContent"
    assert compared.page.evaluate(focused) == "Seconds", "the focus stays on what was chosen"
    compared.page.get_by_label("Metric", exact=True).select_option("train_loss")
    compared.wait_js(f"() => document.querySelector('{WB}').dataset.metric === 'train_loss'")
    compared.page.get_by_label("Metric", exact=True).select_option("val_accuracy")
    reach = compared.page.get_by_label("Value to reach")
    reach.fill("0.818")
    reach.press("Enter")
    cells = "[...document.querySelectorAll('[aria-label=Runs] tbody tr')].map(row => row.cells[6].textContent)"
    compared.wait_js(f"() => {cells}[0] === 'never' && {cells}[1] !== 'never'")
    expected = compared.value("comparison.comparison.time_to('val_accuracy', 0.818)['elapsed_s'].isna().tolist()")
    assert [text == "never" for text in compared.page.evaluate(f"() => {cells}")] == expected


def test_files_are_saved_by_the_browser(compared: Notebook) -> None:
    for name, form in (("Save as CSV", "csv"), ("Save as Parquet", "parquet"), ("Save the pictures as PNG", "png")):
        with compared.page.expect_download() as caught:
            compared.page.get_by_role("button", name=name).click()
        data = caught.value.path().read_bytes()
        assert data.startswith({"csv": b"run,epoch,step", "parquet": b"PAR1", "png": b"\x89PNG"}[form])
        if form == "csv":
            assert len(data.splitlines()) == 1 + compared.value("len(comparison.comparison.history)")
        if form == "png":
            assert len(data) > 20_000


def test_a_reload_shows_the_same(compared: Notebook) -> None:
    compared.reload()
    compared.wait_js(f"() => document.querySelector('{WB}')?.dataset.runs === '3'")
    assert compared.find("[aria-label='Settings that differ'] tbody tr").count() == compared.value(
        "len(comparison.comparison.differences)"
    )
