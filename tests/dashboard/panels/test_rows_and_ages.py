"""Cache, staleness, stragglers, predicted bytes and GPUs, on invented logs."""

from typing import Any

import pytest

from workbench.core.events import Event
from workbench.dashboard import Dashboard
from workbench.testing import event_log_extras as extras
from workbench.testing import event_logs
from workbench.testing.event_logs import EventLog, Scenario


def shown(panel: str, events: list[Event]) -> Any:
    dashboard = Dashboard({panel: Dashboard().panels[panel]})
    dashboard.apply(events)
    return dashboard.view()[panel]


def test_the_hit_ratio_is_that_of_the_rows_not_owned_and_a_lost_cache_shows() -> None:
    before = shown("cache", extras.with_cache(event_logs.healthy(last_step=60)))
    assert before["used"]
    assert before["cached"]
    for row in before["rows"]:
        assert row["hit_ratio"] == pytest.approx(0.7, abs=0.01)
        assert row["num_cached"] + row["num_remote"] == pytest.approx(extras.NUM_ROWS, abs=1)
    after = shown("cache", extras.with_cache(event_logs.healthy(last_step=73)))
    assert after["points"]["1"][-1, 2] < 0.3, "the low end of its curve"
    assert after["rows"][0]["hit_ratio"] > after["rows"][1]["hit_ratio"] + 0.03
    assert after["line"].startswith("hit ratio 0.70 and 0.6")


def test_rows_without_a_cache_are_told_and_a_run_without_either_says_so() -> None:
    none = shown("cache", extras.with_cache(event_logs.healthy(last_step=30), hit_ratio=0.0))
    assert not none["cached"]
    assert none["points"] == {}
    assert none["line"] == "no cache; 30% of the rows come from other ranks"
    assert shown("cache", event_logs.healthy(last_step=5))["line"].startswith("not used")


def test_many_ranks_have_rows_but_not_as_many_curves() -> None:
    events = event_logs.healthy(Scenario(trainers=12, samplers=0), last_step=4)
    view = shown("cache", extras.with_cache(events))
    assert len(view["rows"]) == 12
    assert len(view["points"]) == 8


def test_a_restart_takes_back_the_steps_that_run_again() -> None:
    lost = event_logs.failure_with_restart(until="lost")
    for panel, log in (("cache", extras.with_cache(lost)), ("staleness", extras.with_staleness(lost))):
        for points in shown(panel, log)["points"].values():
            assert points[:, 0].max() <= 80, panel


def test_ages_are_counted_and_the_first_step_reads_zeros() -> None:
    events = extras.with_staleness(event_logs.healthy(last_step=60), bound=1)
    row = shown("staleness", events)["rows"][0]
    assert (row["mean_age"], row["oldest"], row["bound"], row["beyond"]) == (1.0, 1, 1, 0)
    assert row["bars"] == [0, 2 * 20 * 4_000]
    assert (row["num_cold"], row["total_cold"], row["last_cold_step"]) == (0, 8_000, 1)
    assert shown("staleness", events)["line"] == "halo rows: mean age 1, at most 1 of 1"


def test_a_read_beyond_its_bound_is_told_first() -> None:
    events = extras.with_staleness(event_logs.healthy(last_step=30), bound=3)
    late = events[-1]
    data = {"step": 31, "source": "history", "ages": [0, 5], "counts": [10, 2], "bound": 4, "num_cold": 0}
    events.append(Event(kind="staleness_measured", time_s=late.time_s, seq=late.seq + 1, rank=0, data=data))
    view = shown("staleness", events)
    assert view["line"] == "histories: 2 reads older than the bound of 4"
    assert view["tone"] == "fail"
    assert [row["source"] for row in view["rows"]] == ["halo", "history"]


def test_ages_without_a_bound_share_the_last_bar() -> None:
    data = {"step": 1, "source": "history", "ages": [0, 900], "counts": [1, 3], "bound": None, "num_cold": 0}
    view = shown("staleness", [Event(kind="staleness_measured", time_s=0.0, seq=1, rank=0, data=data)])
    row = view["rows"][0]
    assert len(row["bars"]) == 24
    assert (row["bars"][0], row["bars"][-1]) == (1, 3)
    assert row["oldest"] == 900
    assert shown("staleness", event_logs.healthy(last_step=3))["line"].startswith("none")


@pytest.mark.parametrize(("slow", "why"), [("slow_compute", "more edges"), ("slow_supply", "for its batches")])
def test_a_straggler_is_tied_to_its_part_and_its_cause(slow: str, why: str) -> None:
    factors = {2: 1.6} if slow == "slow_compute" else {2: 5.0}
    log = EventLog(Scenario(trainers=4, samplers=4, **{slow: factors}))
    log.create()
    log.start()
    log.steps(1, 25)
    view = shown("stragglers", log.events)
    row = view["rows"][2]
    assert view["line"].startswith("rank 2, part 2, late by ")
    assert row["last_in"] >= 19  # at the start of an epoch all batches lie ready
    assert why in row["why"]
    others = [other for other in view["rows"] if other["rank"] != 2]
    assert all(other["late_ms"] < 0 and other["why"] == "" and other["last_in"] <= 1 for other in others)


def test_even_ranks_are_called_even_and_one_rank_waits_for_nobody() -> None:
    assert shown("stragglers", event_logs.healthy(last_step=30))["line"] == "all ranks are even"
    alone = shown("stragglers", event_logs.healthy(Scenario(trainers=1, samplers=0), last_step=3))
    assert alone["line"] == "one rank: it waits for nobody"
    assert not alone["used"]


def test_predicted_bytes_stand_beside_the_measured_ones() -> None:
    plain = shown("traffic", event_logs.healthy(last_step=30))
    assert plain["ratio"] is None
    assert "predicted" not in plain["line"]
    exact = 2 * 292_154 * 4
    view = shown("traffic", extras.with_prediction(event_logs.healthy(last_step=30), all_reduce=exact, request=1e6))
    rows = {row["kind"]: row for row in view["rows"]}
    assert rows["all_reduce"]["ratio"] == 1.0
    assert rows["request"]["ratio"] == 0.0, "predicted, and never seen"
    assert rows["gather"]["predicted_bytes"] is None
    assert view["ratio"] == pytest.approx(exact / (exact + 1e6))
    assert view["line"].endswith("; 2.23 MiB of it 30% below predicted"), "the rest has no prediction"
    every = {"all_reduce": exact, "gather": rows["gather"]["step_bytes"], "control": 48.0}
    full = shown("traffic", extras.with_prediction(event_logs.healthy(last_step=30), **every))
    assert full["line"].endswith(" a step, as predicted")


def test_gpus_are_shown_where_there_are_any() -> None:
    events = extras.with_gpus(event_logs.healthy(Scenario(memory_limit_bytes=None), last_step=30))
    view = shown("memory", events)
    assert view["has_gpu"]
    assert view["line"] == "GPU memory at 25% of the device's"
    assert [row["gpu"] is not None for row in view["rows"]] == [True, True, False, False]
    assert not shown("memory", event_logs.healthy(last_step=30))["has_gpu"]
