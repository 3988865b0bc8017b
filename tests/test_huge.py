"""`make huge`, small: every stage runs within a tenth of the memory, and reports what it took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
def test_a_small_huge_graph(tmp_path: Path) -> None:
    pages = tmp_path / "huge.json", tmp_path / "huge.md"
    sizes = {"WORKBENCH_HUGE_NODES": "200000", "WORKBENCH_HUGE_EDGES": "3000000", "WORKBENCH_HUGE_GIB": "2.4"}
    script = [
        sys.executable,
        str(ROOT / "benchmarks" / "huge.py"),
        "--json",
        str(pages[0]),
        "--markdown",
        str(pages[1]),
    ]
    environment = os.environ | sizes | {"WORKBENCH_HUGE_FOLDER": str(tmp_path)}
    done = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    record = json.loads(pages[0].read_text())
    stages = {stage["name"]: stage for stage in record["stages"]}
    assert list(stages) == ["compile", "generate", "open", "sample", "explore", "single seeds"]
    assert stages["generate"]["found"]["disk_bytes"] > 3_000_000 * 4 + 200_000 * 8
    assert stages["open"]["found"] == {"num_nodes": 200_000, "num_edges": 3_000_000}
    reached = stages["explore"]["found"]["all_nodes"]
    assert 1024 == reached[0] < reached[1] < reached[2] < reached[3] <= 200_000
    assert all(0 < stage["own_bytes"] <= stage["resident_bytes"] for stage in stages.values())
    assert "| generate |" in pages[1].read_text()
    assert [file.name for file in tmp_path.iterdir() if file.is_dir()] == [], "the graph is removed"
