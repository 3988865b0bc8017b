"""What the neighbourhood explorer shows when it answers a change: the new setting with its own numbers."""

from __future__ import annotations

import re

import pytest
from labkit import Notebook

SETUP = "import workbench as wb\ngraph = wb.datasets.load({name!r})\nexplorer = wb.NeighborhoodExplorer(graph)"
EXACT = "() => document.querySelector('.nx')?.dataset.status === 'exact'"
CLICK_AND_WATCH = """([label, choice]) => new Promise(resolve => {
  const say = document.querySelector('.nx-say');
  const group = [...document.querySelectorAll('[role=radiogroup]')].find(g => g.getAttribute('aria-label') === label);
  const watcher = new MutationObserver(() => { watcher.disconnect(); resolve(say.textContent); });
  watcher.observe(say, {childList: true});
  [...group.querySelectorAll('[role=radio]')].find(b => b.textContent.trim() === choice).click();
})"""
AT_ONCE = "explorer._measuring.at_once(explorer._settings, explorer._seeds)"
SHARES = "[100 * float(way.share[{hop}]) for result in [{result}] for way in (result.all_neighbors, result.sampled)]"
SLOW = """import time, workbench.sampling.explode as explode
measure = explode._Tally.measure
def slowly(*args, **kwargs):
    time.sleep(0.5)
    measure(*args, **kwargs)
explode._Tally.measure = slowly"""
CLICKS_IN_A_ROW = """(clicks) => { for (const [label, choice] of clicks) {
  const group = [...document.querySelectorAll('[role=radiogroup]')].find(g => g.getAttribute('aria-label') === label);
  [...group.querySelectorAll('[role=radio]')].find(b => b.textContent.trim() === choice).click();
} }"""


@pytest.fixture(params=["debian", "debian_files"])
def explorer(notebook: Notebook, request: pytest.FixtureRequest) -> Notebook:
    notebook.open(SETUP.format(name=request.param), "explorer").run_all()
    notebook.wait_js(EXACT, 120)
    return notebook


def percents(sentence: str) -> list[float]:
    return [float(number) for number in re.findall(r"([\d.]+)%", sentence)]


def test_the_first_sentence_after_a_change_is_the_estimate_for_it(explorer: Notebook) -> None:
    """Whatever the explorer first says after a click is already of the new setting, in words and in numbers."""
    explorer.execute(SLOW)  # so that no measured batch comes before the estimate is seen
    sentence = explorer.page.evaluate(CLICK_AND_WATCH, ["Batch size in seeds, presets", "64"])
    explorer.execute("explode._Tally.measure = measure")
    assert sentence.startswith("A batch of 64 seeds, 3 hops, all neighbours: reads ≈")
    expected = explorer.value(SHARES.format(hop=3, result=AT_ONCE))
    assert percents(sentence) == pytest.approx(expected, rel=0.06)  # the sentence rounds
    explorer.wait_js(EXACT, 120)
    exact = explorer.page.evaluate(CLICK_AND_WATCH, ["Depth in hops", "2"])
    assert exact.startswith("A batch of 64 seeds, 2 hops, all neighbours: reads ")
    assert "≈" not in exact
    shares = explorer.value(SHARES.format(hop=2, result="explorer._measured"))
    assert percents(exact) == pytest.approx(shares, rel=0.06)
    explorer.wait_value("[explorer.depth, explorer.batch_size]", [2, 64])


def test_clicks_in_a_row_are_all_obeyed(explorer: Notebook) -> None:
    """A question that overtakes another one carries its changes with it."""
    clicks = [["Depth in hops", "2"], ["Batch size in seeds, presets", "1"], ["Neighbours", "Sampled"]]
    explorer.page.evaluate(CLICKS_IN_A_ROW, clicks)
    explorer.wait_value("[explorer.depth, explorer.batch_size, explorer.neighbors]", [2, 1, "sampled"])
    said = "One random seed on average, 2 hops, sampled (15, 10): reads"
    explorer.wait_js(f"() => document.querySelector('.nx-say').textContent.startsWith({said!r})", 120)
    for group, choice in (("Depth in hops", "2"), ("Neighbours", "Sampled")):
        button = explorer.page.get_by_role("radiogroup", name=group).get_by_role("radio", name=choice, exact=True)
        assert button.get_attribute("aria-checked") == "true"


def test_the_curves_answer_a_batch_size_before_the_kernel_does(notebook: Notebook) -> None:
    """Once the curves of unique nodes are measured, the page reads its first estimate off them."""
    notebook.open(SETUP.format(name="debian"), "explorer").run_all()
    notebook.wait_value("'saturation' in explorer._found", True, 90)
    notebook.wait_js("() => !document.querySelector('.nx-waiting, .nx-progress:not([hidden])')", 90)
    notebook.execute(SLOW)
    sentence = notebook.page.evaluate(CLICK_AND_WATCH, ["Batch size in seeds, presets", "64"])
    curves = notebook.value("[explorer._found['saturation'][way][3][6] for way in ('all', 'sampled')]")
    assert sentence.startswith("A batch of 64 seeds, 3 hops, all neighbours: reads ≈")
    assert percents(sentence) == pytest.approx([100 * nodes / 63_436 for nodes in curves], rel=0.06)
    notebook.execute("explode._Tally.measure = measure")
    notebook.wait_js(EXACT, 60)
    shares = notebook.value(SHARES.format(hop=3, result="explorer._measured"))
    shown = notebook.find(".nx-say").inner_text()
    assert "≈" not in shown
    assert percents(shown) == pytest.approx(shares, rel=0.06)
