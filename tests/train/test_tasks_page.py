"""The page about tasks: every line of its code resolves to a run as it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.testing import graphs
from workbench.train import TASKS, ResolvedRun, resolve

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tasks.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
EXPECTED = [
    ["node_classification"],
    ["multi_label", "node_regression"],
    ["link_prediction", "link_prediction"],
    ["graph_classification"],
]


class Session:
    """Resolves what would be launched."""

    def __init__(self) -> None:
        self.runs: list[ResolvedRun] = []

    def launch(self, *args: Any, **keywords: Any) -> ResolvedRun:
        self.runs.append(resolve(*args, **keywords))
        return self.runs[-1]


@pytest.mark.parametrize(("block", "tasks"), list(zip(BLOCKS, EXPECTED, strict=True)))
def test_the_code_of_the_page_is_a_launch(block: str, tasks: list[str], data_root: Path) -> None:
    session = Session()
    exec(block, {"session": session, "graph": graphs.random(60, 200), "np": np, "wb": wb, "root": data_root})
    assert [run.config.task.name for run in session.runs] == tasks
    assert all(run.warnings == () for run in session.runs)


def test_the_page_and_the_readme_name_every_task() -> None:
    readme = (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")
    for name in TASKS.names():
        assert f"`{name}`" in readme
