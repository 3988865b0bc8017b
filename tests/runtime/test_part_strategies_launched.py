"""Partition-parallel strategies on ranks that are processes: real bytes, and a killed rank comes back bit for bit."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

import workbench as wb
from workbench.core.events import of_kind
from workbench.testing.runs import PATIENCE_S, losses, rank_pid, step_of, wait_for

pytestmark = pytest.mark.slow
CASES: dict[str, dict[str, Any]] = {
    "stale_halo": {"staleness_bound": 2, "smoothing": 0.25},
    "sampled_boundary": {"boundary_rate": 0.3},
}


@pytest.mark.parametrize("strategy", CASES)
def test_a_killed_rank_comes_back_bit_for_bit(strategy: str, session: wb.Session, graph: wb.Graph) -> None:
    words = {"trainers": 2, "hidden_channels": 16, "epochs": 60, "evaluate_every": 20, **CASES[strategy]}
    undisturbed = session.launch(graph, "gcn", strategy, **words).wait(PATIENCE_S)
    run = session.launch(graph, "gcn", strategy, **words)
    try:
        wait_for(lambda: step_of(run) > 25, "some steps")
        os.kill(rank_pid(run, 1), signal.SIGKILL)
        run.wait(PATIENCE_S)
    finally:
        run.stop(force=True)
    assert next(of_kind(run.events, "run_restarting")).data["from_step"] > 0
    assert losses(run) == losses(undisturbed)
    moved = undisturbed.history["bytes_halo_forward"]
    assert (moved > 0).all()
    assert (moved.nunique() == 1) == (strategy == "stale_halo"), "drawn anew in every step, or the same every time"
    ages = {age for event in of_kind(run.events, "staleness_measured") for age in event.data["ages"]}
    assert ages == ({2} if strategy == "stale_halo" else set())
