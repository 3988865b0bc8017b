"""What a run that waits says of who is in its way."""

from __future__ import annotations

from workbench.runtime.waiting import waiting_text
from workbench.testing.run_replay import HOSTS, Replay


def test_a_run_that_waits_names_who_has_the_workers() -> None:
    busy, other = Replay(world_size=2, num_samplers=1), Replay(world_size=1, num_samplers=1)
    busy.offer(*HOSTS, num_samplers=1)
    states = {"X": busy.state, "Y": other.state}
    text = "waits for 1 trainer: 2 of 2 are used by run X; for 1 sampler: 1 of 1 is used by run X"
    assert waiting_text(other.state, states, 0, 0) == text


def test_a_run_that_waits_for_workers_that_are_still_starting_says_nothing() -> None:
    waits = Replay(world_size=1)
    assert waiting_text(waits.state, {"Y": waits.state}, 0, 0) == ""


def test_a_run_that_has_its_workers_says_nothing() -> None:
    busy = Replay(world_size=2)
    busy.run_to_step(1)
    assert waiting_text(busy.state, {"X": busy.state}, 0, 0) == ""
