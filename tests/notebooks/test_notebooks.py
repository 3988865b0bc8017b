"""The notebooks: saved clean, and each runs from its first cell to its last."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))
QUICKSTART = REPOSITORY / "notebooks" / "00_quickstart.ipynb"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_saved_clean(path: Path) -> None:
    document = nbformat.read(path, as_version=4)
    nbformat.validate(document)
    assert "widgets" not in document.metadata, "widget state is never saved"
    for cell in document.cells:
        assert not cell.get("outputs"), f"cell {cell.id} was saved with its output"
        assert cell.get("execution_count") is None


def run_notebook(path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REPOSITORY / "notebooks" / "run_notebook.py"), str(path)]
    return subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)


def test_runner_prints_headings_and_results(tmp_path: Path) -> None:
    cells = [
        nbformat.v4.new_markdown_cell("# A heading\n\nText."),
        nbformat.v4.new_code_cell("print('printed')\n6 * 7"),
    ]
    path = tmp_path / "tiny.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    done = run_notebook(path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:4] == ["== A heading", "printed", "42"]
    assert nbformat.read(path, as_version=4).cells[1].outputs == []


def test_runner_fails_where_a_cell_raises(tmp_path: Path) -> None:
    path = tmp_path / "broken.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 / 0")]), path)
    done = run_notebook(path)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_quickstart_reaches_80_percent() -> None:
    """GraphSAGE on the Debian graph, 2 trainers, 1 sampler: at least 80 % test accuracy by exact inference."""
    done = run_notebook(QUICKSTART)
    assert done.returncode == 0, done.stderr
    accuracy = re.search(r"test accuracy: (0\.\d+)", done.stdout)
    assert accuracy is not None, done.stdout
    assert float(accuracy.group(1)) >= 0.80
