"""Run a notebook without a browser and print each cell's result as text, as soon as the cell is done.

    python notebooks/run_notebook.py notebooks/00_quickstart.ipynb

Exits with 1, and the cell's traceback, where a cell raises. The notebook's file is only read. For tests,
``WORKBENCH_DEMO_EPOCHS`` replaces the number of epochs that the notebook asks for.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

ANSI = re.compile(r"\x1b\[[0-9;]*m")


def output_text(output: NotebookNode) -> str:
    """Return an output as plain text: what was printed, or the ``text/plain`` of what was shown."""
    if output.output_type == "stream":
        return "" if output.name == "stderr" else str(output.text)
    if output.output_type in ("display_data", "execute_result"):
        return str(output.data.get("text/plain", ""))
    return ""


def title(cell: NotebookNode) -> str:
    """Return a Markdown cell's first heading, or an empty text."""
    return next((line.lstrip("# ") for line in cell.source.splitlines() if line.startswith("#")), "")


class Printer:
    """Prints headings and results while a notebook runs (a hook of nbclient)."""

    def __init__(self, document: NotebookNode) -> None:
        self._cells = document.cells

    def __call__(self, cell: NotebookNode, cell_index: int, **_: object) -> None:
        before = self._cells[cell_index - 1] if cell_index else None
        if before is not None and before.cell_type == "markdown" and title(before):
            print(f"\n== {title(before)}")
        for text in (output_text(output) for output in cell.get("outputs", [])):
            if text.strip():
                print(ANSI.sub("", text.strip("\n")), flush=True)


def with_epochs(document: NotebookNode, num_epochs: str) -> None:
    """Replace ``epochs=8`` and its like in the launch cells."""
    for cell in document.cells:
        if cell.cell_type == "code":
            cell.source = re.sub(r"\bepochs=\d+", f"epochs={int(num_epochs)}", cell.source)


def run(path: Path, timeout_s: int) -> NotebookNode:
    """Execute a notebook in a kernel of its own, printing as it goes, and return it with its outputs."""
    document = nbformat.read(path, as_version=4)
    if "WORKBENCH_DEMO_EPOCHS" in os.environ:
        with_epochs(document, os.environ["WORKBENCH_DEMO_EPOCHS"])
    client = NotebookClient(
        document,
        timeout=timeout_s,
        kernel_name="python3",
        store_widget_state=False,
        extra_arguments=["--IPKernelApp.log_level=ERROR"],  # it listens on this machine alone, and warns of that
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_executed=Printer(document),
    )
    return client.execute()


def main() -> int:
    parser = argparse.ArgumentParser(description="Run a notebook without a browser and print its results.")
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--timeout-s", type=int, default=600, help="seconds that one cell may take")
    arguments = parser.parse_args()
    start_s = time.perf_counter()
    try:
        run(arguments.notebook, arguments.timeout_s)
    except CellExecutionError as error:
        print(ANSI.sub("", str(error)), file=sys.stderr)
        return 1
    print(f"\n{arguments.notebook.name}: done in {time.perf_counter() - start_s:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
