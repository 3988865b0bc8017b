"""Several numbers of parts side by side in JupyterLab, and two views of one explorer that look at different places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from labkit import Notebook

CORA = """import workbench as wb
explorer = wb.PartitionExplorer(wb.datasets.load("cora", root={root!r}), num_parts=(2, 4, 8), methods="metis")
explorer"""
BODY = "document.querySelector('.wb-body').dataset"
DONE = "() => document.querySelector('.pe-status')?.textContent.startsWith('Done')"
SLOW_EDGES = """import time
import workbench as wb
from workbench.widgets import partition_explorer
pack_edges = partition_explorer.pack_edges
def later(*args):
    time.sleep(0.5)
    return pack_edges(*args)
partition_explorer.pack_edges = later
explorer = wb.PartitionExplorer(wb.datasets.load('debian'), num_parts=4, methods=('hash', 'random'))
explorer._is_ready.wait(60)
while explorer._queues_beside["map"]._thread is not None:
    time.sleep(0.01)"""


def columns(notebook: Notebook, pattern: str) -> None:
    notebook.wait_js(f"() => {pattern}.test({BODY}.columns)", 60)


def label(notebook: Notebook, name: str) -> Any:
    return notebook.page.get_by_label(name, exact=True)


def pictures(notebook: Notebook) -> list[str]:
    drawn: list[str] = notebook.find(".pe-base").evaluate_all("all => all.map(canvas => canvas.toDataURL())")
    return drawn


@pytest.fixture
def cora(notebook: Notebook, data_root: Path) -> Notebook:
    notebook.open(CORA.format(root=str(data_root))).run_all()
    notebook.wait_js(DONE, 120)
    return notebook


def test_numbers_of_parts_are_compared_and_named_everywhere(cora: Notebook) -> None:
    columns(cora, "/^metis:2:\\d+ metis:4:324 metis:8:\\d+$/")
    assert cora.value("list(map(list, explorer.partitions))") == [["metis", 2], ["metis", 4], ["metis", 8]]
    lead = cora.find(".pe-lead").inner_text()
    assert "of the edges in 2 parts, 6.1% in 4 and" in lead
    assert "in 8: a layer exchanges" in lead
    assert "against METIS in 2 parts" in label(cora, "Quality of METIS, 8 parts").inner_text()
    assert "METIS in 8 instead of 2 parts" in cora.find(".pe-verdict").inner_text()
    costs = label(cora, "Predicted cost of each partition").inner_text()
    assert all(f"METIS, {count} parts" in costs for count in (2, 4, 8))
    for count in (2, 4, 8):
        cora.page.get_by_role("img", name=f"Traffic matrix of METIS, {count} parts").wait_for()
        cora.page.get_by_role("img", name=f"Balance of METIS, {count} parts").wait_for()


def test_maps_of_several_numbers_of_parts_are_linked(cora: Notebook) -> None:
    before = pictures(cora)
    assert len(set(before)) == 3
    label(cora, "Zoom in").click()
    assert all(new != old for new, old in zip(pictures(cora), before, strict=True))
    label(cora, "Reset the view").click()
    assert pictures(cora) == before
    x, y = cora.value("explorer._results._layout.positions[1358].tolist()")
    over = cora.find(".pe-over").nth(1)
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    place = (box["x"] + x * box["width"], box["y"] + (1 - y) * box["height"])
    cora.page.mouse.move(*place)
    cora.wait_js(f"() => {BODY}.node === {BODY}.hover")
    node = cora.find(".wb-body").get_attribute("data-node")
    owners = cora.value(f"[int(one.assignment[{node}]) for one in explorer.partitions.values()]")
    tips = cora.find(".pe-tip").all_inner_texts()
    assert len(tips) == 3
    assert all(f"part {owner}" in tip for owner, tip in zip(owners, tips, strict=True))
    cora.page.mouse.click(*place)
    cora.wait_value("explorer.selected_part", owners[1])
    label(cora, "Select part 7").click()
    cora.wait_value("explorer.selected_part", 7)
    cora.wait_js("() => /^Part 7 owns/.test(document.querySelectorAll('.pe-say')[2].textContent)")
    said = cora.find(".pe-say").all_inner_texts()
    assert said[:2] == [
        "There is no part 7 here: the 2 parts are 0 to 1.",
        "There is no part 7 here: the 4 parts are 0 to 3.",
    ]
    assert pictures(cora)[0] == before[0], "a map without the part is not dimmed"


def test_the_control_adds_changes_and_removes_numbers_of_parts(cora: Notebook) -> None:
    label(cora, "Number of parts, second").fill("5")
    label(cora, "Number of parts, second").press("Enter")
    cora.wait_value("explorer.num_parts", [2, 5, 8])
    columns(cora, "/^metis:2:\\d+ metis:5:\\d+ metis:8:/")
    label(cora, "Remove 2 parts").click()
    cora.wait_value("explorer.num_parts", [5, 8])
    label(cora, "Add a method").select_option("random")
    columns(cora, "/^metis:5:\\d+ random:5:\\d+ metis:8:\\d+ random:8:\\d+$/")
    assert "In 8 parts: An epoch moves" in cora.find(".pe-verdict").inner_text()
    label(cora, "Compare another number of parts").select_option("16")
    cora.wait_value("explorer.num_parts", [5, 8, 16])
    cora.execute("explorer.num_parts = 3")
    columns(cora, "/^metis:3:\\d+ random:3:\\d+$/")
    assert label(cora, "Number of parts").input_value() == "3"
    assert cora.page.get_by_role("button", name="Remove 3 parts").count() == 0


@pytest.mark.parametrize(
    ("typed", "words"), [("4", "once; got 4"), ("0", "2 to 1,024"), ("2.5", "whole numbers; got 2.5")]
)
def test_a_bad_number_of_parts_is_one_error_and_is_mended(cora: Notebook, typed: str, words: str) -> None:
    field = label(cora, "Number of parts, third")
    field.fill(typed)
    field.press("Enter")
    cora.find(".wb-error").wait_for()
    error = cora.find(".wb-error").inner_text()
    assert words in error
    assert "1 problem found" in error
    assert cora.value("explorer.num_parts") == [2, 4, 8]
    label(cora, "Number of parts, third").fill("6")
    label(cora, "Number of parts, third").press("Enter")
    columns(cora, "/ metis:6:/")
    assert cora.find(".wb-error").count() == 0


def test_views_at_different_zooms_each_get_their_edges(notebook: Notebook) -> None:
    notebook.open(SLOW_EDGES, "explorer", "explorer").run_all(timeout_s=240)
    notebook.wait_js("() => document.querySelectorAll('.wb-body').length === 2", 240)
    # Held by reference: a notebook takes cells out of the page, and puts them back in another order, as it scrolls.
    notebook.page.evaluate("() => { window.views = [...document.querySelectorAll('.wb-body')]; }")
    notebook.wait_js("() => window.views.every(view => view.dataset.edges === 'bundles')", 240)
    # The first looks closer, the second moves while the answer to the first is on its way, and again.
    notebook.page.evaluate("""async () => {
      const zoomIn = (view, times) => {
        const button = view.querySelector('[aria-label="Zoom in"]');
        for (let i = 0; i < times; i++) button.click();
      };
      zoomIn(window.views[0], 12);
      for (let i = 0; i < 4; i++) {
        await new Promise(resolve => setTimeout(resolve, 250));
        zoomIn(window.views[1], 1);
      }
    }""")
    foot = "querySelector('.pe-foot').textContent"
    notebook.wait_js(f"() => /A closer look/.test(window.views[0].{foot})", 60)
    notebook.wait_js(f"() => /of those with both ends in view/.test(window.views[1].{foot})", 60)
    assert notebook.find(".wb-error").count() == 0


def test_nothing_overflows_with_many_partitions(cora: Notebook) -> None:
    cora.execute("explorer.methods = ('metis', 'random')")
    columns(cora, "/random:8/")
    cora.wait_js(DONE, 60)
    cora.page.set_viewport_size({"width": 2000, "height": 5200})
    overflow = "() => { const root = document.querySelector('.wb'); return root.scrollWidth - root.clientWidth; }"
    for theme in ("light", "dark"):
        cora.set_theme(theme)
        for width in (400, 720, 960, 1500):
            cora.find(".wb").evaluate("(node, width) => { node.parentElement.style.width = `${width}px`; }", width)
            cora.wait_js(f"() => Math.abs({width} - {BODY}.wide) < 40")
            assert cora.page.evaluate(overflow) <= 1, (theme, width)
            cora.screenshot(f"partition-several-{width}-{theme}", ".wb")
