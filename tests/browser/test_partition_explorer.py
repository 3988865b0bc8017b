"""The partition explorer in JupyterLab: by aria-label, asserting the Python side; pictures in both themes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from labkit import Notebook

CORA = """import workbench as wb
explorer = wb.PartitionExplorer(wb.datasets.load("cora", root={root!r}))
explorer"""
DEBIAN = """import workbench as wb
explorer = wb.PartitionExplorer(wb.datasets.load({name!r}), num_parts=8)
explorer"""
GRID = """import workbench as wb
explorer = wb.PartitionExplorer(wb.datasets.load("grid"), num_parts=4)
explorer"""
CAPTURE_GL = """
const original = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  const context = original.call(this, kind, ...rest);
  if (kind === "webgl2") window.lastGl = context;
  return context;
};"""
NO_WEBGL = """
const original = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
  return kind === "webgl2" ? null : original.call(this, kind, ...rest);
};"""


def shown(notebook: Notebook) -> None:
    notebook.wait_js("() => document.querySelector('.pe-status')?.textContent.startsWith('Done')", 120)


@pytest.fixture
def cora(notebook: Notebook, data_root: Path) -> Notebook:
    notebook.open(CORA.format(root=str(data_root))).run_all()
    shown(notebook)
    return notebook


def label(notebook: Notebook, name: str) -> Any:
    return notebook.page.get_by_label(name, exact=True)


def place_of(notebook: Notebook, node: int) -> tuple[float, float]:
    """Return where a node is drawn on the first map, in pixels of the page."""
    x, y = notebook.value(f"explorer._results._layout.positions[{node}].tolist()")
    over = notebook.find(".pe-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    return box["x"] + x * box["width"], box["y"] + (1 - y) * box["height"]


def click_a_node(notebook: Notebook) -> None:
    notebook.page.mouse.click(*place_of(notebook, 1358))


def count_colours(notebook: Notebook) -> list[int]:
    """Return how many pixels of the first map have the colour of each of the first four parts."""
    script = """() => { const canvas = document.querySelector('.pe-base');
      const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const found = {}; for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 250) {
        const key = [data[i], data[i + 1], data[i + 2]].join(); found[key] = (found[key] || 0) + 1; }
      return ['0,114,178', '230,159,0', '0,158,115', '204,121,167'].map(key => found[key] || 0); }"""
    counts: list[int] = notebook.page.evaluate(script)
    return counts


def test_cora_shows_the_figures_of_the_specification_on_maps_that_zoom_together(cora: Notebook) -> None:
    cora.wait_js("() => document.querySelector('.wb-body').dataset.columns === 'metis:4:324 random:4:3980'")
    quality = label(cora, "Quality of METIS").inner_text()
    for text in ("324 edges", "6.1 %", "476 rows", "1.176", "better, 12.3× less", "worse, 7% more"):
        assert text in quality
    assert cora.find(".pe-map").evaluate_all("maps => maps.map(map => map.dataset.drawn)") == ["2708", "2708"]
    assert "All 2,708 nodes and 5,278 edges are drawn" in cora.find(".pe-foot").inner_text()
    assert cora.value("explorer.partitions['metis'].quality().edge_cut") == 648
    assert min(count_colours(cora)) > 100
    before = cora.find(".pe-base").nth(1).evaluate("canvas => canvas.toDataURL()")
    label(cora, "Zoom in").click()
    cora.wait_js("() => true")
    assert cora.find(".pe-base").nth(1).evaluate("canvas => canvas.toDataURL()") != before
    label(cora, "Reset the view").click()
    assert cora.find(".pe-base").nth(1).evaluate("canvas => canvas.toDataURL()") == before
    unnamed = """() => [...document.querySelectorAll('.wb button, .wb select, .wb input')]
      .filter(node => !node.getAttribute('aria-label') && !(node.matches('button') && node.textContent.trim()))
      .map(node => node.outerHTML)"""
    assert cora.page.evaluate(unnamed) == []
    cora.page.get_by_role("radio", name="Quotient graph").click()
    drawing = cora.page.get_by_role("img", name="Quotient graph of METIS")
    drawing.wait_for()
    assert "part 3" in (drawing.text_content() or "")


def test_every_setting_reaches_python_and_python_sets_the_view(cora: Notebook) -> None:
    label(cora, "Number of parts").fill("6")
    label(cora, "Number of parts").press("Enter")
    cora.wait_value("explorer.num_parts", 6)
    label(cora, "Remove Random").click()
    cora.wait_value("list(explorer.methods)", ["metis"])
    label(cora, "Add a method").select_option("hash")
    cora.wait_value("list(explorer.partitions)", ["metis", "hash"])
    label(cora, "Random seed").fill("3")
    label(cora, "Random seed").press("Enter")
    cora.wait_value("explorer.rng_seed", 3)
    cora.wait_js("() => /^metis:6:.* hash:6:/.test(document.querySelector('.wb-body').dataset.columns)")
    assert "Hash" in label(cora, "Quality of Hash").inner_text()
    cora.execute("explorer.num_parts = 3")
    cora.wait_js("() => /^metis:3:/.test(document.querySelector('.wb-body').dataset.columns)")
    assert label(cora, "Number of parts").input_value() == "3"
    cora.execute("explorer.selected_part = 1")
    cora.wait_js("() => document.querySelector('.wb-body').dataset.part === '1'")


def test_a_part_is_selected_by_button_key_and_click_and_a_node_is_explained(cora: Notebook) -> None:
    label(cora, "Select part 2").click()
    cora.wait_value("explorer.selected_part", 2)
    cora.wait_js("() => /Part 2 owns 678 nodes; 97 of them/.test(document.querySelector('.pe-say').textContent)")
    assert "107 halo nodes of the 3 other parts" in cora.find(".pe-say").first.inner_text()
    label(cora, "Select part 2").press("ArrowRight")
    cora.wait_value("explorer.selected_part", 3)
    over = cora.find(".pe-over").first
    over.focus()
    over.press("Escape")
    cora.wait_value("explorer.selected_part", None)
    click_a_node(cora)
    cora.wait_value("explorer.selected_part == int(explorer.partitions['metis'].assignment[1358])")
    cora.page.mouse.move(*place_of(cora, 1358))
    cora.wait_js(
        "() => document.querySelector('.wb-body').dataset.node === document.querySelector('.wb-body').dataset.hover"
    )
    tips = cora.find(".pe-tip").all_inner_texts()
    assert len(tips) == 2
    assert all("degree" in tip and "part" in tip for tip in tips)
    label(cora, "Find a node").fill("1358")
    label(cora, "Find a node").press("Enter")
    cora.wait_js("() => /degree 168/.test(document.querySelector('.pe-tip').textContent)")
    label(cora, "Find a node").fill("nobody")
    label(cora, "Find a node").press("Enter")
    cora.find(".wb-error").wait_for()
    assert "expected an id from 0 to 2,707" in cora.find(".wb-error").inner_text()


def test_a_lasso_gives_ids_to_python_and_the_costs_follow_their_controls(cora: Notebook) -> None:
    cora.page.get_by_role("radio", name="Lasso").click()
    over = cora.find(".pe-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    corners = [(0.1, 0.1), (0.9, 0.1), (0.9, 0.75), (0.1, 0.75), (0.1, 0.2)]
    points = [(box["x"] + u * box["width"], box["y"] + v * box["height"]) for u, v in corners]
    cora.page.mouse.move(*points[0])
    cora.page.mouse.down()
    for point in points[1:]:
        cora.page.mouse.move(*point, steps=4)
    cora.page.mouse.up()
    cora.wait_js("() => Number(document.querySelector('.wb-body').dataset.selected) > 500")
    selected = int(cora.find(".wb-body").get_attribute("data-selected") or 0)
    assert cora.value("len(explorer.selected_nodes)") == selected
    inside = "explorer._results._layout.positions[explorer.selected_nodes].min(axis=0).tolist()"
    assert min(cora.value(inside)) > 0.08
    over.focus()
    over.press("Escape")
    cora.wait_value("len(explorer.selected_nodes)", 0)
    label(cora, "Exchanged width").select_option("256")
    cora.wait_js("() => document.querySelector('.wb-body').dataset.width === '256'")
    assert "952 KiB" in label(cora, "Predicted cost of each partition").inner_text()
    label(cora, "Epochs").select_option("1000")
    label(cora, "Link speed of each part in Gbit/s").select_option("10")
    cora.wait_value("[explorer._cost.epochs, explorer._cost.link_gbit]", [1000, 10])
    assert "Transfer an epoch at 10 Gbit/s" in label(cora, "Predicted cost of each partition").inner_text()


def test_a_crash_is_shown_inside_and_long_work_is_cancelled(cora: Notebook, tmp_path: Path) -> None:
    script = tmp_path / "crash.py"
    script.write_text("import os\nos.abort()")
    cora.execute(
        f"from workbench.partition.methods import metis as m; from pathlib import Path\n"
        f"was, m.CHILD_SCRIPT = m.CHILD_SCRIPT, Path({str(script)!r})"
    )
    label(cora, "Random seed").fill("9")
    label(cora, "Random seed").press("Enter")
    cora.find(".wb-error").wait_for()
    assert "METIS crashed with SIGABRT" in cora.find(".wb-error").inner_text()
    label(cora, "Remove METIS").click()
    cora.wait_js("() => /^random:4:/.test(document.querySelector('.wb-body').dataset.columns)")
    assert cora.find(".wb-error").count() == 0
    label(cora, "Add a method").select_option("metis")
    cora.find(".wb-error").wait_for()
    script = tmp_path / "hang.py"
    script.write_text("import time\ntime.sleep(600)")
    cora.execute(
        f"from workbench.partition.methods import metis as m; from pathlib import Path\n"
        f"m.CHILD_SCRIPT = Path({str(script)!r})"
    )
    label(cora, "Random seed").fill("5")
    label(cora, "Random seed").press("Enter")
    cora.page.get_by_role("button", name="Cancel").first.click()
    cora.wait_js("() => /^Cancelled/.test(document.querySelector('.pe-status').textContent)")
    cora.wait_value("explorer._queue._running is None")
    assert cora.find(".wb-error").count() == 0


def test_a_reload_shows_the_same(cora: Notebook) -> None:
    label(cora, "Number of parts").fill("5")
    label(cora, "Number of parts").press("Enter")
    cora.wait_js("() => /^metis:5:/.test(document.querySelector('.wb-body').dataset.columns)")
    label(cora, "Select part 4").click()
    cora.wait_value("explorer.selected_part", 4)
    cora.reload()
    shown(cora)
    cora.wait_js("() => /^metis:5:/.test(document.querySelector('.wb-body').dataset.columns)")
    cora.wait_js("() => document.querySelector('.wb-body').dataset.part === '4'")


def test_a_lost_context_comes_back(notebook: Notebook) -> None:
    notebook.page.add_init_script(CAPTURE_GL)
    notebook.open(GRID).run_all()
    shown(notebook)
    drawn = notebook.find(".pe-map").first.get_attribute("data-drawn")
    notebook.page.evaluate(
        "() => { window.lose = window.lastGl.getExtension('WEBGL_lose_context'); window.lose.loseContext(); }"
    )
    notebook.wait_js("() => document.querySelector('.pe-map').dataset.drawn === 'lost'")
    assert "drawing context" in notebook.find(".pe-map-note").first.inner_text()
    notebook.page.evaluate("() => window.lose.restoreContext()")
    notebook.wait_js(f"() => document.querySelector('.pe-map').dataset.drawn === '{drawn}'")
    assert notebook.find(".pe-map-note").first.is_hidden()


def test_without_webgl_there_is_the_quotient_graph(notebook: Notebook) -> None:
    notebook.page.add_init_script(NO_WEBGL)
    notebook.open(GRID).run_all()
    shown(notebook)
    assert "no WebGL2" in notebook.find(".pe-quotient").first.inner_text()
    notebook.page.get_by_role("img", name="Quotient graph of METIS").wait_for()
    assert "Communication volume" in label(notebook, "Quality of METIS").inner_text()


def test_a_saved_notebook_shows_the_picture(cora: Notebook) -> None:
    cora.add_cell("explorer.freeze()")
    cora.find(".wb-static .pe-still").first.wait_for()
    cora.save()
    (output,) = [one for cell in cora.saved().cells for one in cell.get("outputs", [])]
    assert "METIS cuts 6.1% of the edges" in output["data"]["text/plain"]
    assert "324 edges" in output["data"]["text/html"]
    assert len(output["data"]["text/html"]) < 150_000


def test_nothing_overflows_in_either_theme(cora: Notebook) -> None:
    cora.page.set_viewport_size({"width": 2000, "height": 3600})
    label(cora, "Select part 2").click()
    cora.wait_js("() => document.querySelector('.wb-body').dataset.part === '2'")
    overflow = "() => { const root = document.querySelector('.wb'); return root.scrollWidth - root.clientWidth; }"
    for theme in ("light", "dark"):
        cora.set_theme(theme)
        for width in (400, 960, 1600):
            cora.find(".wb").evaluate("(node, width) => { node.parentElement.style.width = `${width}px`; }", width)
            cora.wait_js(f"() => Math.abs({width} - document.querySelector('.wb-body').dataset.wide) < 40")
            assert cora.page.evaluate(overflow) <= 1, (theme, width)
            cora.screenshot(f"partition-{width}-{theme}", ".wb")
