"""How the explorer answers a change: settings and numbers together, at once; the rest in the background."""

from __future__ import annotations

import time
from typing import Any

import pytest

from workbench.graph import datasets
from workbench.sampling import explode
from workbench.widgets.asks import AskCancelledError, Progress
from workbench.widgets.neighborhood_details import DETAILS
from workbench.widgets.neighborhood_pack import pack_result


@pytest.fixture
def slow_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    measure = explode._Tally.measure

    def slowly(*arguments: Any, **keywords: Any) -> None:
        time.sleep(0.1)
        measure(*arguments, **keywords)

    monkeypatch.setattr(explode._Tally, "measure", slowly)


def test_cancel_keeps_what_was_measured(explore: Any, slow_batches: None, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = explore(datasets.load("karate"), batch_size=4)
    explorer._explore(Progress(), batch_size=5)
    explorer._cancel()
    assert (explorer.snapshot()["status"], explorer.snapshot()["stopped"]) == ("cancelled", True)
    time.sleep(0.3)
    assert 1 <= explorer.result.sampled.num_batches <= 2, "no more than the batch under way"
    assert (explorer.result.is_estimate, explorer._status) == (True, "cancelled")
    monkeypatch.undo()  # of the slow batches
    explorer._explore(Progress())
    explore.wait_exact(explorer)
    assert explorer._status == "exact"


def test_settings_and_their_numbers_travel_in_one_message(explore: Any, slow_batches: None, view_of: Any) -> None:
    """No view ever shows the words of the new settings beside the numbers of the old ones."""
    explorer = explore(datasets.load("karate"), batch_size=4)
    view = view_of(explorer)
    explorer._explore(Progress(), batch_size=5)
    first = next(delta["body"] for delta in view.of("delta") if "settings" in delta["body"])
    assert (first["settings"]["batch_size"], first["result"]["num_seeds"], first["status"]) == (5, 5, "estimating")
    assert (
        first["result"]["all"] == pack_result(explorer._measuring.at_once(explorer._settings, explorer._seeds))["all"]
    )


def test_a_change_that_was_overtaken_is_not_shown(explore: Any) -> None:
    explorer = explore(datasets.load("karate"), batch_size=4)
    overtaken = Progress()
    overtaken.cancel()
    with pytest.raises(AskCancelledError):
        explorer._explore(overtaken, batch_size=7)
    assert explorer.batch_size == explorer.result.num_seeds == 4
    explorer._explore(Progress())
    explore.wait_exact(explorer)


def test_a_change_of_depth_goes_on_with_the_measurement_under_way(explore: Any, slow_batches: None) -> None:
    explorer = explore(datasets.load("karate"), batch_size=4)
    explore.wait(lambda: explorer.result.sampled.num_batches >= 2)
    measured = explorer.result.sampled.num_batches
    explorer._explore(Progress(), depth=2)
    assert explorer.result.sampled.num_batches >= measured


def test_a_failing_measurement_is_told(explore: Any, view_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = explore(datasets.load("karate"), batch_size=4)
    explore.wait_exact(explorer)
    view = view_of(explorer)

    def fail(*_: Any, **__: Any) -> Any:
        raise MemoryError("no room")

    estimate = explorer._measuring.at_once(explorer._settings, explorer._seeds)
    monkeypatch.setattr(explorer._measuring, "batches", fail)
    monkeypatch.setattr(explorer._measuring, "at_once", lambda *_: estimate)
    explorer._explore(Progress(), batch_size=6)
    explore.wait(lambda: {"trouble": "MemoryError: no room"} in [delta["body"] for delta in view.of("delta")])


def test_details_wait_while_something_urgent_runs(explore: Any) -> None:
    explorer = explore(datasets.load("karate"), batch_size=4)
    explore.wait_exact(explorer)
    with explorer._details.held():
        explorer._explore(Progress())  # nothing changes; the details are asked for
        time.sleep(0.2)
        assert "saturation" not in explorer._found
    explore.wait(lambda: set(explorer._found) == set(DETAILS))
