"""The measurements behind docs/results/histories.md and updates.md: they run, keep every run, and go on."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from workbench.testing import graphs

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType, ModuleType]:
    monkeypatch.syspath_prepend(str(REPOSITORY))
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    kept, histories, updates = (
        importlib.import_module(f"benchmarks.{name}") for name in ("kept_runs", "results_histories", "results_updates")
    )
    graph = graphs.random(150, 500)
    monkeypatch.setattr(histories, "load", lambda dataset, root: graph)
    monkeypatch.setattr(histories, "KIPF", {**histories.KIPF, "epochs": 2})
    monkeypatch.setattr(histories, "RESULTS", REPOSITORY / "nowhere")
    monkeypatch.setattr(updates.datasets, "load", lambda name: graph)
    monkeypatch.setattr(updates, "WORDS", {**updates.WORDS, "epochs": 2, "batch_size": 16, "hidden_channels": 4})
    return kept, histories, updates


@pytest.mark.slow
def test_histories_are_measured_row_by_row(scripts: tuple[ModuleType, ModuleType, ModuleType], tmp_path: Path) -> None:
    kept_runs, histories, _ = scripts
    names = ("dataset", "row", "rng_seed", "graph", "num_nodes")
    kept = kept_runs.KeptRuns(tmp_path, names)
    planned = list(histories.missing(kept))
    accuracy = [wanted for wanted in planned if wanted["graph"] is None and wanted["dataset"] == "cora"]
    rows = {wanted["row"]: wanted for wanted in reversed(accuracy)}
    assert len(rows) == 4
    for wanted in rows.values():
        assert histories.taken_over(wanted) is None
        kept.add(histories.train(wanted, None))
    again = kept_runs.KeptRuns(tmp_path, names)
    assert not any(wanted in list(histories.missing(again)) for wanted in rows.values())
    page = histories.report(again)
    mean = 100 * again.runs[0]["test_accuracy"]
    assert f"{mean:.1f} | 1 |" in page
    assert all(run["greatest_age"] >= run["mean_age"] >= 1 for run in again.runs if run["row"] != "full_graph")


@pytest.mark.slow
def test_update_rules_are_measured_row_by_row(
    scripts: tuple[ModuleType, ModuleType, ModuleType], tmp_path: Path
) -> None:
    kept_runs, _, updates = scripts
    names = ("dataset", "optimizer", "row", "rng_seed")
    kept = kept_runs.KeptRuns(tmp_path, names)
    planned = list(updates.missing(kept))
    assert len(planned) == updates.NUM_SEEDS * len(updates.OPTIMIZERS) * len(updates.ROWS)
    wanted = [one for one in planned if one["row"] in ("all_reduce", "local_sgd, H = 4", "parameter_server, s = 1")][:3]
    for one in wanted:
        kept.add(updates.train(one))
    again = kept_runs.KeptRuns(tmp_path, names)
    assert len(list(updates.missing(again))) == len(planned) - 3
    moved = {run["row"]: updates.moved_bytes(run) for run in again.runs}
    assert moved["local_sgd, H = 4"] < moved["all_reduce"] < moved["parameter_server, s = 1"]
    assert "| all_reduce |" in updates.report(again)
