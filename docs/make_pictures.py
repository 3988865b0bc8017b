"""Take the pictures of the documentation: the real widgets, on the real graph, in JupyterLab, light and dark.

    .venv/bin/python docs/make_pictures.py                     # all, into docs/images
    .venv/bin/python docs/make_pictures.py --only partition

Needs Chromium. The dashboard's picture is of a run of this machine, taken while it trains; its numbers differ from one
machine to the next, so docs/pictures.md is to be read again after taking it.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests" / "browser"))

from labkit import Lab, Notebook, chromium, chromium_path  # noqa: E402  # the harness lies beside the browser tests
from playwright.sync_api import Browser  # noqa: E402

GRAPH = 'import workbench as wb\ngraph = wb.datasets.load("debian")'
LAUNCH = """session = wb.connect(trainers=2, samplers=1)
run = session.launch(graph, model="sage", strategy="mini_batch", fanouts=(15, 10), trainers=2, samplers=1, epochs=8)"""
WIDTH = 1140  # of the page: an output is then about 960 px wide


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What to show, and the fact that says it is complete."""

    name: str
    label: str
    cells: tuple[str, ...]
    complete: str

    @property
    def selector(self) -> str:
        return f"section[aria-label='{self.label}']"


PICTURES = (
    Picture(
        name="neighborhood",
        label="Neighbourhood explorer",
        cells=(GRAPH, "wb.NeighborhoodExplorer(graph)"),
        complete="document.querySelector('.nx')?.dataset.status === 'exact'"
        " && !document.querySelector('.nx-waiting, .nx-progress:not([hidden])')",
    ),
    Picture(
        name="partition",
        label="Partition explorer",
        cells=(GRAPH, "wb.PartitionExplorer(graph, num_parts=4)"),
        complete="document.querySelectorAll('[data-drawn]').length >= 2",
    ),
    Picture(
        name="dashboard",
        label="Training dashboard",
        cells=(GRAPH, LAUNCH, "run"),
        complete="Number(document.querySelector('[data-step]')?.dataset.step) > 100",
    ),
)


def take(picture: Picture, notebook: Notebook, theme: str) -> Path:
    """Take one picture in one theme; the widget is already on the page."""
    notebook.set_theme(theme)
    notebook.page.wait_for_timeout(2000)  # the widget is drawn anew for the theme
    height = notebook.page.evaluate(f'() => document.querySelector("{picture.selector}").offsetHeight')
    notebook.page.set_viewport_size({"width": WIDTH, "height": height + 400})  # what is out of sight is not drawn
    notebook.page.wait_for_timeout(2000)
    return notebook.screenshot(f"{picture.name}-{theme}", picture.selector)


def show(picture: Picture, lab: Lab, browser: Browser, folder: Path) -> None:
    """Open the widget, wait until it is complete, and take it in both themes."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 1600}, device_scale_factor=1.5)
    notebook = Notebook(page, lab, folder).open(*picture.cells)
    notebook.command("application:toggle-left-area")
    notebook.run_all(300)
    notebook.wait_js(f"() => {picture.complete}", 900)
    for theme in ("light", "dark"):
        print(take(picture, notebook, theme))
    notebook.set_theme("light")
    if picture.name == "dashboard":
        notebook.execute("run.stop()\nsession.close(force=True)")
    page.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[picture.name for picture in PICTURES])
    parser.add_argument("--out", type=Path, default=REPOSITORY / "docs" / "images")
    options = parser.parse_args()
    executable = chromium_path()
    if executable is None:
        raise SystemExit("no Chromium: apt-get install chromium, or set CHROMIUM to its path")
    with tempfile.TemporaryDirectory(prefix="pictures-") as folder, chromium(executable) as browser:
        os.environ.setdefault("WORKBENCH_HOME", f"{folder}/home")
        lab = Lab(Path(folder) / "lab")
        try:
            for picture in PICTURES:
                if options.only in (None, picture.name):
                    show(picture, lab, browser, options.out)
        finally:
            lab.stop()


if __name__ == "__main__":
    main()
