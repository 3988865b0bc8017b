"""The measurement behind docs/results/strategies.md and partitions.md: it runs, keeps every run, and goes on."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from workbench.testing import graphs

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType, ModuleType]:
    monkeypatch.syspath_prepend(str(REPOSITORY))
    for name in [name for name in sys.modules if name.partition(".")[0] == "benchmarks"]:
        monkeypatch.delitem(sys.modules, name)
    names = ("strategy_runs", "results_strategies", "results_partitions")
    runs, results, partitions = (importlib.import_module(f"benchmarks.{name}") for name in names)
    graph = graphs.random(150, 500)

    def load(dataset: str, root: str | None, split: int = 0) -> Any:
        return graph

    monkeypatch.setattr(runs, "load", load)
    monkeypatch.setattr(partitions, "load", load)
    return runs, results, partitions


@pytest.mark.slow
def test_runs_are_kept_one_by_one_and_found_again(
    scripts: tuple[ModuleType, ModuleType, ModuleType], tmp_path: Path
) -> None:
    runs, results, _ = scripts
    kept = results.Kept(tmp_path)
    planned = list(results.missing(kept))
    assert len({case.key(seed) for case, seed in planned}) == len(planned) > 100
    small = {"epochs": 2, "lr": 0.01}
    for case, seed in planned[:7]:  # every strategy, and both kinds of parts
        kept.add(runs.measure(case, seed, None, **small))
        assert case.key(seed) in results.Kept(tmp_path).done()
    again = results.Kept(tmp_path)
    assert list(results.missing(again)) == planned[7:]
    page = results.report(again)
    assert f"7 runs are here, {len(planned) - 7} of" in page.replace("\n", " ")
    mean = 100 * kept.runs[0]["test_accuracy"]
    assert f"| full_graph | {mean:.1f} | 1 |" in page


@pytest.mark.slow
def test_partitioners_are_ranked_by_their_epochs(
    scripts: tuple[ModuleType, ModuleType, ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, partitions = scripts
    monkeypatch.setattr(partitions, "GRAPHS", {"little": 2})
    monkeypatch.setattr(partitions, "NUM_ROUNDS", 1)
    monkeypatch.setattr(partitions, "node_methods", lambda: ("random", "hash", "metis"))
    partitions.run(tmp_path, None, float("inf"))
    kept = partitions.Kept(tmp_path, "little")
    assert sorted(run["method"] for run in kept.runs) == ["hash", "metis", "random"]
    for run in kept.runs:
        assert run["halo_bytes"] == 2 * 4 * 64 * run["quality"]["comm_volume"]
        assert len(run["epoch_s"]) == 2
    page = (tmp_path / "partitions.md").read_text()
    assert page.count("`metis`") == 1
    assert "the best predictor is" in page.replace("\n", " ")
    # Seconds that grow with the rows that travel rank partitioners as that figure does.
    kept.runs = [{**run, "epoch_s": [run["quality"]["comm_volume"] / 1e3]} for run in kept.runs]
    assert kept.correlation("comm_volume", "least") == pytest.approx(1.0)
