"""How soon the partition explorer shows a million nodes, in JupyterLab and Chromium with WebGL in software.

    python benchmarks/map_latency.py [num_nodes]

On an R-MAT graph with 4 edges a node, divided in two ways: the time of the sketch; of a widget whose layout and
partitions are ready, the time from its display to the first picture, and the bytes received for it; and how long a
hover takes from the pointer's move to the frame that shows the node. The payload is asserted; seconds depend on the
machine, so they are not.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "browser"))

from labkit import Lab, Notebook, chromium, chromium_path

MAX_PAYLOAD_BYTES = 8_000_000
GRAPH = """import time, threading
import workbench as wb
from workbench.graph.layout import sketch_layout
sketch_layout(wb.datasets.load("rmat", num_nodes=131_072, num_edges=800_000))  # compiles
graph = wb.datasets.load("rmat", num_nodes={num_nodes}, num_edges=4 * {num_nodes})"""
SKETCH = """started, began = time.perf_counter(), time.thread_time()
assert sketch_layout(graph) is not None
sketch_s, sketch_cpu_s = time.perf_counter() - started, time.thread_time() - began"""
EXPLORER = "explorer = wb.PartitionExplorer(graph, num_parts=8, methods=('random', 'contiguous'))"
READY = "started = time.perf_counter()\nexplorer._is_ready.wait(600)\nready_s = time.perf_counter() - started"
DRAWN = """() => document.querySelector('.pe-map')?.dataset.drawn > 1000
  && document.querySelector('.wb-body[data-map=layout][data-columns]')"""
HOVER = """(steps) => new Promise(resolve => {
  const over = document.querySelector('.pe-over'), box = over.getBoundingClientRect(), found = [];
  const step = (i) => {
    if (i === steps) { resolve(found); return; }
    const at = {clientX: box.left + box.width * (0.3 + 0.4 * i / steps), clientY: box.top + box.height * 0.4};
    const started = performance.now();
    over.dispatchEvent(new PointerEvent('pointermove', at));
    const handled = performance.now() - started;
    requestAnimationFrame(() => {
      found.push([handled, performance.now() - started]);
      setTimeout(() => step(i + 1), 150);
    });
  };
  step(0);
})"""


def main() -> None:
    executable = chromium_path()
    if executable is None:
        raise SystemExit("no Chromium: apt-get install chromium, or set CHROMIUM to its path")
    num_nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder, chromium(executable) as browser:
        lab = Lab(Path(folder))
        try:
            page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
            measure(Notebook(page, lab, Path(folder)), num_nodes)
        finally:
            lab.stop()


def measure(notebook: Notebook, num_nodes: int) -> None:
    """Print what was measured on one page."""
    notebook.open(GRAPH.format(num_nodes=num_nodes), SKETCH, EXPLORER, READY).run_all(timeout_s=600)
    sketch_s, cpu_s = notebook.value("[sketch_s, sketch_cpu_s]")
    ready_s = notebook.value("ready_s")
    print(f"sketch {sketch_s:.2f} s ({cpu_s:.2f} s of the processor), partitions and layout {ready_s:.1f} s")
    notebook.page.wait_for_timeout(2000)
    received, started = notebook.bytes_received, time.perf_counter()
    notebook.add_cell("explorer", timeout_s=120)
    notebook.wait_js(DRAWN, 120)
    notebook.page.evaluate("() => new Promise(resolve => requestAnimationFrame(() => resolve()))")
    print(f"first picture of {num_nodes:,} nodes {time.perf_counter() - started:.2f} s after the cell was run")
    notebook.wait_js("() => document.querySelector('.wb-body').dataset.edges === 'bundles'", 120)
    print(f"with bundled edges {time.perf_counter() - started:.2f} s")
    payload = notebook.bytes_received - received
    print(f"received {payload / 1e6:.2f} MB (at most {MAX_PAYLOAD_BYTES / 1e6:.0f})")
    hovers = notebook.page.evaluate(HOVER, 21)
    (first, _), *rest = hovers
    handled, framed = (statistics.median(times) for times in zip(*rest, strict=True))
    print(f"hover: handled in {handled:.1f} ms, in a frame after {framed:.0f} ms (medians); the first {first:.0f} ms")
    assert payload < MAX_PAYLOAD_BYTES, payload


if __name__ == "__main__":
    main()
