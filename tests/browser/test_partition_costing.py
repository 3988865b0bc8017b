"""Widths of several layers in the partition explorer, typed or set from Python, in JupyterLab."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from labkit import Notebook

CORA = """import workbench as wb
explorer = wb.PartitionExplorer(wb.datasets.load("cora", root={root!r}))
explorer"""
TABLE = "Predicted cost of each partition"


def label(notebook: Notebook, name: str) -> Any:
    return notebook.page.get_by_label(name, exact=True)


def has_widths(notebook: Notebook, widths: str) -> None:
    notebook.wait_js(f"() => document.querySelector('.wb-body').dataset.width === '{widths}'", 60)


@pytest.fixture
def cora(notebook: Notebook, data_root: Path) -> Notebook:
    notebook.open(CORA.format(root=str(data_root))).run_all()
    notebook.wait_js("() => document.querySelector('.pe-status')?.textContent.startsWith('Done')", 120)
    return notebook


def test_widths_of_layers_are_typed_refused_and_set_from_python(cora: Notebook) -> None:
    label(cora, "Layer widths").fill("256, 64")
    label(cora, "Layer widths").press("Enter")
    has_widths(cora, "256,64")
    assert cora.value("explorer.widths") == [256, 64]
    for text in ("layer 2, width 256", "952 KiB", "layer 3, width 64", "238 KiB", "1.16 MiB", "4 and 48"):
        assert text in label(cora, TABLE).inner_text()
    assert "Bytes of layer 3, width 64, float32" in label(cora, "Quality of METIS").inner_text()
    assert "3-layer GraphSAGE 1,433 → 256 → 64 → 7" in label(cora, "What it costs").inner_text()
    label(cora, "Select part 2").click()
    cora.wait_js("() => / in layer 2, .* in layer 3\\./.test(document.querySelector('.pe-say').textContent)")

    label(cora, "Layer widths").fill("256, wide")
    label(cora, "Layer widths").press("Enter")
    cora.find(".wb-error").wait_for()
    error = cora.find(".wb-error").inner_text()
    assert "widths: expected 1 to 16 widths of hidden layers" in error
    assert "got 'wide'" in error
    cora.wait_js("() => document.querySelector('[aria-label=\"Layer widths\"]').value === '256, 64'")
    assert cora.value("explorer.widths") == [256, 64]
    assert "layer 3, width 64" in label(cora, TABLE).inner_text()

    label(cora, "Exchanged width").select_option("16")
    has_widths(cora, "16")
    assert cora.find(".wb-error").count() == 0
    assert label(cora, "Layer widths").input_value() == "16"
    assert "layer 2, width" not in label(cora, TABLE).inner_text()

    cora.execute("explorer.widths, explorer.epochs = (32, 32, 8), 300")
    has_widths(cora, "32,32,8")
    assert label(cora, "Layer widths").input_value() == "32, 32, 8"
    cora.wait_js("() => document.querySelector('[aria-label=Epochs]').value === '300'")
    assert "Bytes in 300 epochs" in label(cora, TABLE).inner_text()


def test_the_field_keeps_the_focus_and_a_reload_its_value(cora: Notebook) -> None:
    label(cora, "Layer widths").fill("128,128,16")
    label(cora, "Layer widths").press("Enter")
    has_widths(cora, "128,128,16")
    assert cora.page.evaluate("() => document.activeElement.getAttribute('aria-label')") == "Layer widths"
    cora.reload()
    cora.wait_js("() => document.querySelector('[aria-label=\"Layer widths\"]')?.value === '128, 128, 16'", 60)
    cora.wait_js("() => document.querySelector('.pe-status')?.textContent.startsWith('Done')", 120)
    assert "layer 4, width 16" in label(cora, TABLE).inner_text()
    cora.page.set_viewport_size({"width": 1600, "height": 2600})
    for theme in ("light", "dark"):
        cora.set_theme(theme)
        cora.screenshot(f"partition-widths-{theme}", ".wb")
