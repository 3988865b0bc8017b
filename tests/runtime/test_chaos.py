"""The campaign of faults in its small form: one of each kind. `make chaos` is the large one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
NUM_FAULTS = int(os.environ.get("WORKBENCH_CHAOS_FAULTS", "13"))


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_kind_of_fault_leaves_runs_as_decided(tmp_path: Path) -> None:
    results = tmp_path / "chaos.jsonl"
    command = [sys.executable, "-m", "benchmarks.chaos", "--faults", str(NUM_FAULTS), "--results", str(results)]
    environment = {key: value for key, value in os.environ.items() if key != "WORKBENCH_HOME"}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    records = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    assert done.returncode == 0, done.stderr[-4000:] + done.stdout
    assert len(records) >= NUM_FAULTS - 1, "a full disk needs the right to mount a file system"
