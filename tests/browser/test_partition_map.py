"""Maps of large graphs in JupyterLab: a sketch first, bundles of edges, a closer look, picking; in both themes."""

from __future__ import annotations

from typing import Any

import pytest
from labkit import Notebook

SETUP = (
    "import workbench as wb\ngraph = wb.datasets.load({name!r})\nexplorer = wb.PartitionExplorer(graph, num_parts=8)"
)
BODY = "document.querySelector('.wb-body').dataset"
DONE = "() => document.querySelector('.pe-status')?.textContent.startsWith('Done')"
BUNDLED = f"() => {BODY}.edges === 'bundles'"
HIDE_LAYOUT = """import sys, threading
from workbench.widgets import partition_results
lay_out, gate = partition_results.lay_out, threading.Event()
def later(*args, **kwargs):
    gate.wait(60)
    return lay_out(*args, **kwargs)
partition_results.lay_out, partition_results.kept_layout = later, lambda graph: None
sys.modules["workbench.graph.layout"].SKETCH_FROM = 10_000
"""


def shown(notebook: Notebook, name: str) -> Notebook:
    notebook.open(SETUP.format(name=name), "explorer").run_all(timeout_s=240)
    notebook.wait_js(DONE, 240)
    notebook.wait_js(BUNDLED, 60)
    return notebook


def label(notebook: Notebook, name: str) -> Any:
    return notebook.page.get_by_label(name, exact=True)


@pytest.mark.parametrize("name", ["debian", pytest.param("debian_files", marks=pytest.mark.slow)])
def test_too_many_edges_are_bundled_say_so_and_become_single_on_a_closer_look(notebook: Notebook, name: str) -> None:
    shown(notebook, name)
    nodes, edges = notebook.value("[graph.num_nodes, graph.num_edges // 2]")
    foot = notebook.find(".pe-foot").inner_text()
    for words in (
        f"All {nodes:,} nodes are drawn",
        f"{edges:,} edges are too many to draw one by one",
        "bundles between",
    ):
        assert words in foot
    assert notebook.find(".pe-map").first.get_attribute("data-drawn") == str(nodes)
    label(notebook, "Select part 1").click()
    notebook.wait_value("explorer.selected_part", 1)
    notebook.wait_js(f"() => {BODY}.part === '1'", 60)
    label(notebook, "Zoom in").evaluate("button => { for (let i = 0; i < 12; i++) button.click(); }")
    notebook.wait_js(f"() => {BODY}.edges === 'single'", 60)
    assert "A closer look: the" in notebook.find(".pe-foot").inner_text()
    label(notebook, "Reset the view").click()
    notebook.wait_js(BUNDLED, 60)


def test_bundles_are_seen_and_vanish_with_the_cut_edges(notebook: Notebook) -> None:
    shown(notebook, "debian")
    picture = "canvas => canvas.toDataURL()"
    with_cut = notebook.find(".pe-base").first.evaluate(picture)
    label(notebook, "Show cut edges").uncheck()
    assert notebook.find(".pe-base").first.evaluate(picture) != with_cut
    label(notebook, "Show cut edges").check()
    assert notebook.find(".pe-base").first.evaluate(picture) == with_cut


def test_a_large_graph_shows_a_sketch_that_is_refined_in_place(notebook: Notebook) -> None:
    setup = HIDE_LAYOUT + (
        "import workbench as wb\ngraph = wb.datasets.load('rmat', num_nodes=30_000, num_edges=300_000)\n"
        "explorer = wb.PartitionExplorer(graph, num_parts=4, methods=('random', 'hash'))"
    )
    notebook.open(setup, "explorer")
    notebook.start_all()
    notebook.wait_js(f"() => document.querySelector('.wb-body') && {BODY}.map === 'sketch' && {BODY}.columns", 120)
    notebook.wait_js("() => document.querySelector('.pe-map').dataset.drawn === '30000'", 60)
    assert "A sketch of the layout is shown" in notebook.find(".pe-foot").inner_text()
    sketch = notebook.find(".pe-base").first.evaluate("canvas => canvas.toDataURL()")
    notebook.execute("gate.set()")
    notebook.wait_js(DONE, 120)
    assert notebook.find(".wb-body").get_attribute("data-map") == "layout"
    assert notebook.find(".pe-base").first.evaluate("canvas => canvas.toDataURL()") != sketch
    assert "A sketch" not in notebook.find(".pe-foot").inner_text()


def test_a_node_of_a_large_graph_is_found_and_picked_on_the_map(notebook: Notebook) -> None:
    shown(notebook, "debian")
    node = notebook.value("int(explorer._results._layout.positions[:, 0].argmax())")
    label(notebook, "Find a node").fill(str(node))
    label(notebook, "Find a node").press("Enter")
    notebook.wait_js(f"() => {BODY}.node === '{node}'")
    name = notebook.value(f"str(graph.node_names[{node}])")
    assert name in notebook.find(".pe-tip").first.inner_text()
    x, y = notebook.value(f"explorer._results._layout.positions[{node}].tolist()")
    over = notebook.find(".pe-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    notebook.page.mouse.click(box["x"] + x * box["width"], box["y"] + (1 - y) * box["height"])
    notebook.wait_value(f"explorer.selected_part == int(explorer.partitions['metis'].assignment[{node}])")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_of_a_large_graph(notebook: Notebook, theme: str) -> None:
    shown(notebook, "debian")
    notebook.set_theme(theme)
    notebook.page.set_viewport_size({"width": 1560, "height": 2000})
    label(notebook, "Select part 2").click()
    notebook.wait_js(f"() => {BODY}.part === '2'", 60)
    notebook.screenshot(f"partition-debian-{theme}", ".wb")
