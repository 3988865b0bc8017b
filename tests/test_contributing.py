"""What CONTRIBUTING.md shows does what it says."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import pytest

import workbench as wb
from workbench.core.errors import InputError
from workbench.core.events import Event
from workbench.dashboard import PANELS, Dashboard
from workbench.partition import PARTITIONERS

GUIDE = Path(__file__).resolve().parent.parent / "CONTRIBUTING.md"


@pytest.fixture
def dealt(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The worked example, loaded as its own file would be, and forgotten after the test."""
    PARTITIONERS.names()
    monkeypatch.setattr(PARTITIONERS, "_entries", dict(PARTITIONERS._entries))
    return load_block(0, "workbench.partition.methods.dealt", monkeypatch)


def python_block(index: int) -> str:
    return re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)[index]


def load_block(index: int, name: str, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """Load a block of the guide as the module that it would be."""
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(python_block(index), f"{name}.py", "exec"), module.__dict__)
    return module


@pytest.mark.usefixtures("dealt")
def test_the_worked_partitioner_prints_the_figures_of_the_guide(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(python_block(1), "try_it.py", "exec"), {})
    printed = figures(capsys.readouterr().out)
    shown = figures("\n".join(re.findall(r"^    (\w+ +cut .*)$", GUIDE.read_text(), flags=re.MULTILINE)))
    assert list(printed) == list(shown) == ["random", "dealt", "metis"]
    for method, values in printed.items():
        assert values == pytest.approx(shown[method], abs=0.03)  # another build of METIS finds another cut


def figures(text: str) -> dict[str, list[float]]:
    rows = [line.split() for line in text.splitlines()]
    return {row[0]: [float(word) for word in row if word[0].isdigit()] for row in rows}


@pytest.mark.usefixtures("dealt")
def test_its_parameters_are_checked_by_their_declaration() -> None:
    graph = wb.datasets.load("karate")
    with pytest.raises(InputError, match="snak"):
        wb.partition(graph, 4, method="dealt", snak=False)
    counts = [len(wb.partition(graph, 4, method="dealt").part(i).inner_nodes) for i in range(4)]
    assert sorted(counts) == [8, 8, 9, 9]


def test_the_worked_panel_folds_events(monkeypatch: pytest.MonkeyPatch) -> None:
    PANELS.names()
    monkeypatch.setattr(PANELS, "_entries", dict(PANELS._entries))
    load_block(2, "workbench.dashboard.panels.checkpoints", monkeypatch)
    dashboard = Dashboard()
    assert dashboard.view()["checkpoints"]["line"] == "no checkpoint yet"
    saved = [
        Event(
            kind="checkpoint_saved",
            time_s=float(seq),
            seq=seq,
            data={"path": "", "epoch": seq, "step": 19 * seq, "num_bytes": 1024},
        )
        for seq in (1, 2)
    ]
    dashboard.apply(saved)
    assert dashboard.view()["checkpoints"]["line"] == "2 checkpoints, 2 KiB, the last at step 38"
