"""How soon the neighbourhood explorer answers a changed setting, in JupyterLab and Chromium: click to changed sentence.

    python benchmarks/slider_latency.py

Counts from the click in the page to the first frame in which the sentence names the new setting; prints the median and
the slowest of each kind of change. Settings and numbers change together: that the numbers of that moment are the
estimate for the new setting is asserted by tests/browser/test_neighborhood_answers.py. Seconds depend on the machine,
so none is asserted.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "browser"))

from labkit import Lab, Notebook, chromium, chromium_path

SETUP = "import workbench as wb\ngraph = wb.datasets.load('{name}')\nexplorer = wb.NeighborhoodExplorer(graph)"
EXACT = "() => document.querySelector('.nx')?.dataset.status === 'exact'"
ROUNDS = 5
CLICK_UNTIL_SAID = """([label, choice, words]) => new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error(`after 60 s the sentence does not say ${words}`)), 60000);
  const said = () => document.querySelector('.nx-say').textContent.includes(words);
  const group = [...document.querySelectorAll('[role=radiogroup]')].find(g => g.getAttribute('aria-label') === label);
  const button = [...group.querySelectorAll('[role=radio]')].find(b => b.textContent.trim() === choice);
  const started = performance.now();
  const look = () => requestAnimationFrame(said() ? () => resolve(performance.now() - started) : look);
  button.click();
  look();
})"""
CHANGES = (  # the control, and what the sentence says once it answers the choice
    ("Depth in hops", {"2": "2 hops, ", "3": "3 hops, "}),
    ("Batch size in seeds, presets", {"64": "A batch of 64 seeds", "1,024": "A batch of 1,024 seeds"}),
    ("Neighbours", {"Sampled": "hops, sampled", "All": "hops, all neighbours"}),
)


def measure(notebook: Notebook, name: str) -> None:
    """Print how long each change took on one graph."""
    notebook.open(SETUP.format(name=name), "explorer").run_all()
    notebook.wait_js(EXACT, 120)
    for label, choices in CHANGES:
        found = []
        for choice, words in [*choices.items()] * ROUNDS:
            found.append(notebook.page.evaluate(CLICK_UNTIL_SAID, [label, choice, words]))
            notebook.wait_js(EXACT, 120)
        print(f"{name:13} {label:29} median {statistics.median(found):4.0f} ms, slowest {max(found):4.0f} ms")


def main() -> None:
    executable = chromium_path()
    if executable is None:
        raise SystemExit("no Chromium: apt-get install chromium, or set CHROMIUM to its path")
    with tempfile.TemporaryDirectory() as folder, chromium(executable) as browser:
        lab = Lab(Path(folder))
        try:
            for name in ("debian", "debian_files"):
                context = browser.new_context(viewport={"width": 1400, "height": 1000})
                measure(Notebook(context.new_page(), lab, Path(folder)), name)
                context.close()
        finally:
            lab.stop()


if __name__ == "__main__":
    main()
