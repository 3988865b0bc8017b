"""Runs kept one by one in JSON files, so that a long measurement may stop and go on."""

from __future__ import annotations

import json
import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.graph import Graph
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import resolve

Entry = dict[str, Any]


class KeptRuns:
    """All runs of one measurement, in one file a data set, each whole after every run.

    Parameters
    ----------
    folder : Path
    names : tuple of str
        What tells one run from another.
    """

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self.folder, self.names = folder, names
        self.runs: list[Entry] = []
        for path in sorted(folder.glob("*.json")):
            self.runs += json.loads(path.read_text())["runs"]

    def has(self, wanted: Entry) -> bool:
        """Say whether a run is there."""
        return any(all(run[name] == wanted[name] for name in self.names) for run in self.runs)

    def add(self, run: Entry) -> None:
        """Keep a run."""
        self.runs.append(run)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{run['dataset']}.json"
        same = [one for one in self.runs if one["dataset"] == run["dataset"]]
        aside = path.with_suffix(".part")
        aside.write_text(json.dumps({"runs": same}, indent=1) + "\n")
        aside.replace(path)

    def cell(self, of: str, scale: float = 1.0, **wanted: Any) -> tuple[str, int]:
        """Return mean and deviation of a figure over runs, and their number."""
        values = [scale * run[of] for run in self.runs if wanted.items() <= run.items()]
        if not values:
            return "", 0
        spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
        return f"{statistics.mean(values):.1f}{spread}", len(values)

    def loads(self) -> str:
        """Return the load of the machine meanwhile."""
        found = [run["load"] for run in self.runs] or [0.0]
        return f"{min(found):.0f} to {max(found):.0f}"


def measure(graph: Graph, model: str, strategy: str, words: Mapping[str, Any]) -> tuple[LocalRun, Entry]:
    """Train once, ranks as threads, and return the run and what is kept of it."""
    resolved = resolve(graph, model, strategy, **{"evaluate_every": 0, "checkpoint_every": 0, **words})
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = train_here(resolved, Path(folder), timeout_s=3600.0)
    last = [epoch for epoch in run.told("epoch_finished") if epoch["metrics"]][-1]
    return run, {
        "keywords": {**words},
        "steps": last["step"],
        "test_accuracy": last["metrics"]["test_accuracy"],
        "val_accuracy": last["metrics"]["val_accuracy"],
        "train_loss": last["train_loss"],
        "bytes_of_last_epoch": dict(last["bytes"]),
        "elapsed_s": round(time.perf_counter() - start, 1),
        "load": round(os.getloadavg()[0], 1),
    }
