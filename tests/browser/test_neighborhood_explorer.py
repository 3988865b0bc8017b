"""The neighbourhood explorer in JupyterLab: driven by aria-labels, checked on the Python side and on the screen."""

from __future__ import annotations

import re

import pytest
from labkit import Notebook

SETUP = "import workbench as wb\ngraph = wb.datasets.load('debian')\nexplorer = wb.NeighborhoodExplorer(graph)"
EXPLORER = "section[aria-label='Neighbourhood explorer']"
EXACT = "() => document.querySelector('.nx')?.dataset.status === 'exact'"
SETTLED = "() => !document.querySelector('.nx-waiting, .nx-progress:not([hidden])')"


def show(notebook: Notebook, setup: str = SETUP) -> Notebook:
    notebook.open(setup, "explorer").run_all()
    notebook.find(EXPLORER).wait_for()
    notebook.wait_js(EXACT, 60)
    return notebook


@pytest.fixture
def explorer(notebook: Notebook) -> Notebook:
    return show(notebook)


def sentence(notebook: Notebook) -> str:
    return re.sub(r"\s+", " ", notebook.find(".nx-say").inner_text())


def wait_sentence(notebook: Notebook, part: str) -> None:
    notebook.wait_js(f"() => document.querySelector('.nx-say').textContent.replace(/\\s+/g, ' ').includes({part!r})")


def group(notebook: Notebook, label: str, choice: str) -> None:
    notebook.page.get_by_role("radiogroup", name=label, exact=True).get_by_role(
        "radio", name=choice, exact=True
    ).click()


def cells(notebook: Notebook, table: str, row: int) -> list[str]:
    return notebook.page.get_by_role("table", name=table).locator("tbody tr").nth(row).locator("td").all_inner_texts()


def test_the_sentence_and_the_tables_show_what_python_measured(explorer: Notebook) -> None:
    all_share, sampled = explorer.value(
        "[float(g.share[3]) for g in (explorer.result.all_neighbors, explorer.result.sampled)]"
    )
    text = sentence(explorer)
    assert "A batch of 1,024 seeds, 3 hops, all neighbours: reads" in text
    assert f"reads {100 * all_share:.0f}% of the graph" in text
    assert f"Sampled (15, 10, 5): {100 * sampled:.0f}%" in text
    nodes = explorer.value("round(float(explorer.result.all_neighbors.unique_nodes.mean[3]))")
    assert nodes == pytest.approx(60_596, rel=0.002)
    assert cells(explorer, "All neighbours", 3)[2] == f"{nodes:,}"
    facts = explorer.find(".nx-facts").inner_text()
    assert "63,436" in facts
    assert "21,815\nneighbours of libc6" in facts
    assert "Done" in explorer.find(".nx-status").inner_text()


def test_depth_neighbours_and_fanouts(explorer: Notebook) -> None:
    group(explorer, "Depth in hops", "2")
    wait_sentence(explorer, "2 hops, all neighbours: reads 83% of the graph")
    explorer.wait_value("[explorer.depth, list(explorer.fanouts), explorer.result.depth]", [2, [15, 10], 2])
    group(explorer, "Neighbours", "Sampled")
    wait_sentence(explorer, "2 hops, sampled (15, 10): reads")
    explorer.wait_value("explorer.neighbors", "sampled")
    field = explorer.page.get_by_label("Fanout at hop 1, minus one for all")
    field.fill("-1")
    field.press("Enter")
    explorer.wait_value("list(explorer.fanouts)", [-1, 10])
    explorer.wait_js(EXACT)
    wait_sentence(explorer, "sampled (all, 10)")
    slots = explorer.value(
        "[round(float(g.tree_slots.mean[1])) for g in (explorer.result.all_neighbors, explorer.result.sampled)]"
    )
    assert slots[0] == slots[1]
    group(explorer, "Depth in hops", "4")
    explorer.wait_value("[explorer.depth, explorer.result.depth]", [4, 4])
    assert explorer.page.get_by_label(re.compile("Fanout at hop")).count() == 4


def test_batch_size_by_preset_and_by_number(explorer: Notebook) -> None:
    group(explorer, "Batch size in seeds, presets", "64")
    explorer.wait_value("[explorer.batch_size, len(explorer.seed_nodes)]", [64, 64])
    wait_sentence(explorer, "A batch of 64 seeds")
    field = explorer.page.get_by_label("Batch size in seeds", exact=True)
    field.fill("200")
    field.press("Enter")
    explorer.wait_value("[explorer.batch_size, explorer.result.num_seeds]", [200, 200])
    wait_sentence(explorer, "A batch of 200 seeds")
    field.fill("0")
    field.press("Enter")
    assert field.get_attribute("aria-invalid") == "true"
    assert explorer.value("explorer.batch_size") == 200


def test_a_node_by_its_name_and_a_mistyped_one(explorer: Notebook) -> None:
    field = explorer.page.get_by_label("Node name or id")
    field.fill("python3-numpy")
    field.press("Enter")
    wait_sentence(explorer, "The seed python3-numpy, 3 hops")
    explorer.wait_js(EXACT)
    assert cells(explorer, "All neighbours", 3)[2] == "51,039"
    assert explorer.value("str(graph.node_names[explorer.seed_nodes[0]])") == "python3-numpy"
    assert "tree of python3-numpy" in explorer.find(".nx").inner_text()
    field.fill("python3-nunpy")
    field.press("Enter")
    explorer.page.get_by_role("alert").wait_for()
    explorer.wait_js("() => document.querySelector('.nx-status').textContent.includes('last numbers kept')")
    explorer.page.get_by_role("alert").get_by_role("button", name="python3-numpy").click()
    explorer.page.get_by_role("alert").wait_for(state="detached")
    wait_sentence(explorer, "The seed python3-numpy")


def test_hub_median_and_percentile(explorer: Notebook) -> None:
    group(explorer, "Batch size in seeds, presets", "1")
    group(explorer, "Seeds", "Hub")
    wait_sentence(explorer, "The hub libc6, 3 hops")
    explorer.wait_js(EXACT)
    assert cells(explorer, "All neighbours", 2)[2] == "43,543"
    group(explorer, "Seeds", "Median")
    explorer.wait_value("int(graph.in_degrees()[explorer.seed_nodes[0]])", 5)
    group(explorer, "Seeds", "Percentile")
    field = explorer.page.get_by_label("Percentile of the degree")
    field.fill("99")
    field.press("Enter")
    explorer.wait_value("int(graph.in_degrees()[explorer.seed_nodes[0]])", 79)
    wait_sentence(explorer, "at the 99th percentile")


def test_the_tree_is_drawn_again_and_a_name_becomes_the_seed(explorer: Notebook) -> None:
    before = explorer.find(".nx-node").all_text_contents()
    explorer.page.get_by_role("button", name="Draw another sample of the tree").click()
    explorer.wait_value("explorer.snapshot()['tree']['draw']", 1)
    explorer.wait_js(f"() => document.querySelectorAll('.nx-node')[1].textContent !== {before[1]!r}")
    name = explorer.find(".nx-node").nth(1)
    node = int(name.get_attribute("data-node") or -1)
    name.click()
    explorer.wait_value(
        "[explorer.seed_choice, explorer.seed_nodes.tolist(), explorer.tree_node]", ["node", [node], node]
    )
    wait_sentence(explorer, "The seed " + explorer.value(f"str(graph.node_names[{node}])"))


def test_the_tree_is_walked_by_keyboard(explorer: Notebook) -> None:
    explorer.find(".nx-node").first.focus()
    explorer.page.keyboard.press("ArrowDown")
    explorer.page.keyboard.press("ArrowDown")
    node = int(explorer.page.evaluate("() => document.activeElement.dataset.node"))
    assert node == int(explorer.find(".nx-node").nth(2).get_attribute("data-node") or -1)
    assert explorer.find(".nx-marked-word").inner_text().startswith(explorer.value(f"str(graph.node_names[{node}])"))
    explorer.page.keyboard.press("Enter")
    explorer.wait_value("explorer.seed_nodes.tolist()", [node])
    mode = "window.jupyterapp.shell.currentWidget.content.mode"
    assert explorer.page.evaluate(f"() => {mode}") == "command", "the key was ours, not the notebook's"


def test_the_slower_sections_follow_and_a_bar_gives_a_seed(explorer: Notebook) -> None:
    explorer.wait_js(SETTLED, 90)
    names = ["access", "component", "hubs", "parts", "reach", "saturation", "sizes"]
    assert explorer.value("sorted(explorer._found)") == names
    text = explorer.find(".nx").inner_text()
    for part in ("61,377\nin the largest component", "maximum, libc6\n21,815", "top 1% (634)\n27.2%"):
        assert part in text
    bar = explorer.find(".nx-bar").last
    seed = int(bar.get_attribute("data-seed") or -1)
    bar.focus()
    explorer.page.keyboard.press("Enter")
    explorer.wait_value("explorer.seed_nodes.tolist()", [seed])
    wait_sentence(explorer, "The seed " + explorer.value(f"str(graph.node_names[{seed}])"))
    sizes = explorer.value(
        f"wb.explosion(graph, [{seed}], depth=2, num_batches=1).all_neighbors.unique_nodes.mean.tolist()"
    )
    explorer.wait_js(EXACT)
    assert cells(explorer, "All neighbours", 2)[2] == f"{round(sizes[2]):,}"


def test_python_changes_reach_the_screen(explorer: Notebook) -> None:
    explorer.execute("explorer.fanouts = (5, 5)")
    wait_sentence(explorer, "2 hops")
    wait_sentence(explorer, "Sampled (5, 5)")
    assert explorer.page.get_by_label("Fanout at hop 2, minus one for all").input_value() == "5"
    explorer.execute("explorer.seed_nodes = [1, 2, 3]")
    wait_sentence(explorer, "The 3 given seeds")


def test_a_reload_and_a_second_view_show_the_current_state(explorer: Notebook) -> None:
    group(explorer, "Depth in hops", "1")
    wait_sentence(explorer, "1 hop, all neighbours")
    explorer.add_cell("explorer")
    explorer.wait_js(
        "() => document.querySelectorAll('.nx[data-status=exact][data-depth=\"1\"] .nx-tables table').length === 4"
    )
    explorer.reload()
    explorer.find(EXPLORER).first.wait_for()
    explorer.wait_js("() => [...document.querySelectorAll('.nx-say')].every(e => e.textContent.includes('1 hop'))")
    explorer.page.get_by_role("radiogroup", name="Depth in hops").first.get_by_role("radio", name="3").click()
    explorer.wait_js("() => [...document.querySelectorAll('.nx-say')].every(e => e.textContent.includes('3 hops'))")


def test_a_long_measurement_shows_an_estimate_progress_and_is_cancelled(notebook: Notebook) -> None:
    """Batches are slowed down, so that the estimate stands long enough to be seen on any machine."""
    slow = (
        "\nimport time\nimport workbench.sampling.explode as explode\nmeasure = explode._Tally.measure"
        "\ndef slowly(self, *args, **kwargs):\n    time.sleep(0.3)\n    measure(self, *args, **kwargs)"
        "\nexplode._Tally.measure = slowly"
    )
    notebook.open(SETUP + slow, "explorer").run_all()
    group(notebook, "Batch size in seeds, presets", "64")
    wait_sentence(notebook, "A batch of 64 seeds")
    wait_sentence(notebook, "reads ≈")
    notebook.wait_js("() => /mean so far, \\d+ of 100 batches/.test(document.querySelector('.nx-status').textContent)")
    notebook.page.get_by_role("button", name="Cancel the measurement").click()
    notebook.wait_js("() => document.querySelector('.nx').dataset.status === 'cancelled'")
    assert notebook.value("explorer.result.is_estimate")
    measured = notebook.value("explorer.result.sampled.num_batches")
    said = f"mean of {measured} of 100 batches"  # the batch under way at the click may still come
    notebook.wait_js(f"() => document.querySelector('.nx-status').textContent.includes('{said}')")
    notebook.execute("explode._Tally.measure = measure")
    notebook.page.get_by_role("button", name="Measure the rest").click()
    notebook.wait_js(EXACT, 60)
    assert not notebook.value("explorer.result.is_estimate")


def test_small_and_odd_graphs(notebook: Notebook) -> None:
    """One node, no edge, isolated seeds, a directed graph whose seed reads nothing: all without a fault."""
    setup = "import workbench as wb\nfrom workbench.testing.graphs import NAMED\nshown = []"
    names = ("one_node", "no_edges", "isolated_nodes", "directed")
    make = "shown.append(wb.NeighborhoodExplorer(NAMED[{!r}](), depth=1))\nshown[-1]"
    notebook.open(setup, *(make.format(name) for name in names)).run_all()
    notebook.wait_js("() => document.querySelectorAll('.nx[data-status=exact]').length === 4", 60)
    notebook.wait_js(SETTLED, 60)
    remarks = notebook.find(".nx-remark").all_text_contents()
    assert [text.startswith("The graph has no edges") for text in remarks] == [True, True, False, False]
    notebook.execute("shown[3].seed_nodes = [5]")
    notebook.wait_js("() => document.querySelectorAll('.nx-remark')[3].textContent.includes('no in-edges')")
    assert notebook.find(".wb-error").count() == 0


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures(explorer: Notebook, theme: str) -> None:
    explorer.wait_js(SETTLED, 90)
    explorer.set_theme(theme)
    for width in (960, 480):
        explorer.page.evaluate("(w) => { document.querySelector('.wb').style.width = `${w}px`; }", width)
        explorer.page.set_viewport_size({"width": width + 600, "height": 3900})
        explorer.wait_js(
            f"() => Math.abs(document.querySelector('.nx-say').getBoundingClientRect().width - {width}) < 60"
        )
        explorer.page.wait_for_timeout(300)
        wide = explorer.page.evaluate(
            "() => { const e = document.querySelector('.nx'); return e.scrollWidth - e.clientWidth; }"
        )
        assert wide <= 0, "nothing stands out to the side"
        explorer.screenshot(f"neighborhood-{width}-{theme}", EXPLORER)


def test_freeze_leaves_a_picture_without_a_kernel(explorer: Notebook) -> None:
    explorer.add_cell("explorer.freeze()")
    explorer.find("svg[aria-label^='Growth per hop']").first.wait_for()
    assert explorer.find(".nx").count() == 0
    explorer.save()
    outputs = [output for cell in explorer.saved().cells for output in cell.get("outputs", [])]
    assert "reads 96% of the graph" in outputs[0]["data"]["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" not in outputs[0]["data"]
