"""The neighbourhood explorer in JupyterLab: how far seeds reach, what parts change, how sure its numbers are."""

from __future__ import annotations

import re

import pytest
from labkit import Notebook
from test_neighborhood_explorer import EXACT, EXPLORER, SETTLED, SETUP, show, wait_sentence


@pytest.fixture
def explorer(notebook: Notebook) -> Notebook:
    return show(notebook)


def test_at_which_hop_the_graph_is_reached_and_which_hubs_do_it(explorer: Notebook) -> None:
    field = explorer.page.get_by_label("Node name or id")
    field.fill("python3-numpy")
    field.press("Enter")
    wait_sentence(explorer, "The seed python3-numpy, 3 hops")
    explorer.wait_js("() => document.querySelector('.nx').innerText.includes('This seed reaches')")
    text = re.sub(r"\s+", " ", explorer.find(".nx").inner_text())
    assert "This seed reaches 50% of the graph at hop 3, 90% of the graph at hop 4, all that can be reached" in text
    hops = explorer.value("[hub[3] for hub in explorer._found['reach']['hubs']]")
    button = explorer.page.get_by_role("button", name=re.compile(r"^libc6, 21,815 neighbours, reached at hop 1"))
    assert explorer.page.get_by_role("button", name=re.compile(", reached at hop|, a seed itself")).count() == len(hops)
    button.click()
    wait_sentence(explorer, "The seed libc6, 3 hops")
    explorer.wait_value("str(graph.node_names[explorer.seed_nodes[0]])", "libc6")


def test_what_parts_change_and_how_sure_the_numbers_are(explorer: Notebook) -> None:
    explorer.wait_js(SETTLED, 90)
    found = explorer.value("explorer._found['parts']")
    text = explorer.find(".nx-parts").inner_text()
    assert "Reordered by part, 8 parts (metis)" in text
    assert f"{found['num_runs']:,} → {found['num_runs_by_part']:,}" in text
    assert f"{found['batch_imbalance']:.2f} ×" in text
    assert f"{100 * found['cut_share']:.0f}%" in text
    error, nodes = explorer.value(
        "[float(explorer.result.all_neighbors.unique_nodes.error[3]),"
        " float(explorer.result.all_neighbors.unique_nodes.mean[3])]"
    )
    assert f"± {100 * error / nodes:.2f}"[:5] in explorer.find(".nx-error").first.inner_text()
    title = explorer.page.get_by_role("table", name="All neighbours").locator("tbody tr").nth(3).locator("td").nth(2)
    assert f"mean {nodes:,.0f} ± {error:,.0f} (95%)" in (title.get_attribute("title") or "")
    assert re.search(r"mean [\d,]+ ± [\d,]+ \(95%\) over all 63,436 nodes", explorer.find(".nx").inner_text())


def test_a_large_graph_is_estimated_before_it_is_measured(notebook: Notebook) -> None:
    """The graph is called large from 1,000 edges on, and batches are slow, so that the estimate can be seen."""
    slow = (
        "import time\nimport workbench.sampling.explode as explode\nimport workbench.widgets.neighborhood_measure as m"
        "\nm.QUICK_EDGES = 1000\nmeasure = explode._Tally.measure\nwait_s = [3.0]"
        "\ndef slowly(self, *args, **kwargs):\n    time.sleep(wait_s[0])\n    measure(self, *args, **kwargs)"
        "\nexplode._Tally.measure = slowly\n"
    )
    notebook.open(slow + SETUP, "explorer").run_all()
    notebook.find(EXPLORER).wait_for()
    wait_sentence(notebook, "reads ≈")
    notebook.wait_js(
        "() => document.querySelector('.nx-status').textContent.includes('estimate shown, 0 of 20 batches')"
    )
    measured, low, high = notebook.value(
        "(lambda g: [g.num_batches, float(g.unique_nodes.low[3]), float(g.unique_nodes.high[3])])"
        "(explorer.result.all_neighbors)"
    )
    assert measured == 0
    assert low <= 60_596 <= high
    notebook.execute("wait_s[0] = 0")
    notebook.wait_js(EXACT, 60)
    assert notebook.value("explorer.result.all_neighbors.num_batches") == 20
