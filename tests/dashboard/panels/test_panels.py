"""What single panels say in the situations that they are for."""

import dataclasses
from typing import Any

import pytest

from workbench.core.events import Event
from workbench.dashboard import Dashboard
from workbench.dashboard.panels.log import LogPanel
from workbench.testing import event_logs
from workbench.testing.event_logs import GIB, EventLog, Scenario


def shown(events: list[Event]) -> dict[str, Any]:
    dashboard = Dashboard()
    dashboard.apply(events)
    return dashboard.view()


def figures(view: dict[str, Any]) -> dict[str, str]:
    return {figure["label"]: f"{figure['value']}|{figure['detail']}" for figure in view["progress"]["figures"]}


def test_progress_counts_what_is_left() -> None:
    view = shown(event_logs.healthy(last_step=92))
    told = figures(view)
    assert told["Step"] == "92|epoch 5 of 8, step 12 of 20"
    assert told["Time left"].startswith(("50", "51", "52")), "68 steps of 0.67 s and 4 evaluations of 1.3 s"
    assert view["progress"]["status"] == "running"


def test_a_restart_goes_back_to_its_checkpoint() -> None:
    view = shown(event_logs.failure_with_restart(until="lost"))
    assert view["progress"]["status"] == "restarting"
    assert figures(view) == {"Step": "80|11 steps run again", "Time left": "unknown|known after a step"}
    assert [part["state"] for part in view["progress"]["restart"]] == ["done", "now", "todo"]
    assert [(mark["step"], mark["text"]) for mark in view["progress"]["marks"]] == [(91, "rank 1 lost")]
    assert view["loss"]["points"][-1, 0] == 80
    assert view["loss"]["superseded"][:, 0].tolist() == list(range(81, 92))
    assert view["verdict"]["what"] == "Rank 1 was lost near step 92: the process of rank 1 ended by signal 9"
    assert "3.9 GiB of 4 GiB: the limit is the likely cause" in view["verdict"]["where"]
    assert "checkpoint of step 80, attempt 1" in view["verdict"]["advice"]


def test_until_the_first_new_step_the_timeline_shows_what_was_before_the_failure() -> None:
    view = shown(event_logs.failure_with_restart(until="lost"))
    assert view["gantt"]["outdated"]
    assert list(view["gantt"]["steps"]) == ["87", "88", "89", "90", "91", "92"]
    assert list(view["gantt"]["failed"]) == ["1"]
    after = shown(event_logs.failure_with_restart())["gantt"]
    assert (after["outdated"], after["failed"]) == (False, {})


def test_a_straggler_is_tied_to_its_part_and_its_time() -> None:
    view = shown(event_logs.straggler())
    assert view["verdict"]["what"].startswith("Rank 1 is late by 43")
    assert view["verdict"]["where"].startswith("Part 1: rank 1 waits 42")
    assert view["throughput"]["figure"]["detail"] == "−40% since step 71"
    waiting = "rank 0 waits 39% for other ranks, rank 1 waits 39% for batches"
    assert view["gantt"]["line"] == f"{waiting}, in the last 20 steps"
    assert view["phases"]["line"].endswith(waiting)


def test_verdict_timeline_and_phases_say_the_same_of_waiting() -> None:
    """Ranks that are late in turn: no median step waits long, and yet time is lost; all three sentences count it."""
    log = EventLog(Scenario())
    log.create()
    log.start()
    for step in range(1, 41):
        log.scenario = dataclasses.replace(log.scenario, slow_compute={step % 2: 1.2})
        log.steps(step, step)
    view = shown(log.events)
    waiting = view["gantt"]["line"].removesuffix(", in the last 20 steps")
    assert waiting.startswith("rank ")
    assert view["phases"]["line"].endswith(waiting)
    assert f"; {waiting}." in view["verdict"]["where"]


def test_what_lies_between_steps_is_shown_and_counted() -> None:
    view = shown(event_logs.healthy(Scenario(evaluate_s=4.0), last_step=92))
    before = [(one["name"], one["seconds"], one["step"]) for one in view["gantt"]["before"]]
    assert before == [("evaluate", 4.0, 81), ("checkpoint", 0.02, 81)]
    assert view["verdict"]["what"] == "Exact inference takes 23% of the time"
    rows = {row["phase"]: row for row in view["phases"]["rows"]}
    assert rows["evaluate"]["ms"] == [4000.0, 4000.0]
    assert shown(event_logs.healthy(last_step=83))["gantt"]["before"] == [], "it is among the steps that are drawn"


def test_the_throughput_line_ends_at_the_figure() -> None:
    for last_step in (7, 92, 601):
        view = shown(event_logs.healthy(Scenario(epochs=40), last_step=last_step))["throughput"]
        assert float(view["points"][-1, 1]) == pytest.approx(view["last"], rel=1e-6)
        assert f"{view['last']:,.0f}" == view["figure"]["value"]
        assert (view["points"][:, 2] <= view["points"][:, 3]).all()


def test_at_the_end_of_an_epoch_it_is_done() -> None:
    assert figures(shown(event_logs.healthy(last_step=60)))["Step"] == "60|epoch 3 of 8 done"
    assert figures(shown(event_logs.healthy(last_step=160)))["Step"] == "160|epoch 8 of 8, step 20 of 20"


def test_a_sampler_has_the_rank_that_it_serves_everywhere() -> None:
    view = shown(event_logs.healthy(Scenario(trainers=2, samplers=1), last_step=20))
    assert [row["rank"] for row in view["memory"]["rows"]] == [0, 1, -1]
    assert [lane["rank"] for lane in view["gantt"]["lanes"]] == [0, 1, -1]
    view = shown(event_logs.healthy(last_step=20))
    assert [row["rank"] for row in view["memory"]["rows"]] == [0, 1, 0, 1]


def test_samplers_lie_under_the_rank_that_they_serve() -> None:
    names = [lane["name"] for lane in shown(event_logs.healthy(last_step=9))["gantt"]["lanes"]]
    assert names == ["Rank 0", "Sampler 0", "Rank 1", "Sampler 1"]
    shared = shown(event_logs.healthy(Scenario(samplers=1), last_step=9))["gantt"]["lanes"]
    assert [lane["name"] for lane in shared] == ["Rank 0", "Rank 1", "Sampler 0"]
    alone = shown(event_logs.healthy(Scenario(trainers=1, samplers=0), last_step=9))["gantt"]["lanes"]
    assert [(lane["kind"], lane["name"]) for lane in alone] == [("rank", "Rank 0"), ("thread", "Thread of rank 0")]


def test_the_timeline_of_many_ranks_keeps_fewer_steps() -> None:
    view = shown(event_logs.healthy(Scenario(trainers=8, samplers=8), last_step=30))["gantt"]
    assert list(view["steps"]) == ["28", "29", "30"]
    assert len(view["lanes"]) == 16


def test_phases_are_means_and_add_up_to_the_step() -> None:
    view = shown(event_logs.straggler())["phases"]
    rows = {row["phase"]: row for row in view["rows"]}
    assert 770 < rows["sample"]["ms"][1] < 830
    assert not rows["exchange"]["used"], "a phase that no rank had says so, instead of zero"
    steps = [row["ms"] for row in view["rows"] if row["group"] == "In the step" and row["used"]]
    for rank in (0, 1):
        assert sum(ms[rank] for ms in steps) == pytest.approx(view["step_ms"][rank], rel=1e-3)


def test_modelled_bytes_are_not_in_the_sum_of_measured_ones() -> None:
    view = shown(event_logs.healthy(last_step=5))["traffic"]
    rows = {row["kind"]: row for row in view["rows"]}
    assert rows["all_reduce_modelled"]["modelled"]
    measured = sum(row["step_bytes"] for row in view["rows"] if not row["modelled"])
    assert view["step_bytes"] == measured


def test_what_was_not_measured_says_so() -> None:
    view = shown(event_logs.healthy(last_step=1)[:4])
    assert view["memory"]["line"] == "not measured yet"
    assert view["loss"]["figure"]["value"] == "–"
    assert view["metrics"]["figure"]["detail"] == "measured after each epoch"
    assert view["verdict"]["what"] == "Starting: 2 of 2 ranks ready"


def test_memory_remembers_the_peak_and_lives_without_a_limit() -> None:
    log = EventLog(Scenario())
    log.create()
    log.measure("trainer", 0, 3 * GIB, None)
    log.measure("trainer", 0, 1 * GIB, None)
    row = shown(log.events)["memory"]["rows"][0]
    assert (row["rss_bytes"], row["peak_bytes"], row["share"]) == (GIB, 3 * GIB, None)


def test_a_failed_run_shows_its_traceback() -> None:
    view = shown(event_logs.failed())
    assert view["progress"]["status"] == "failed"
    assert view["progress"]["marks"][0]["text"] == "rank 0 failed"
    assert "in forward" in view["verdict"]["details"]["Traceback"]


def test_a_stopped_run_and_its_checkpoint() -> None:
    view = shown(event_logs.stopped())
    assert view["verdict"]["what"].startswith("Stopped after 47 steps")
    assert view["progress"]["checkpoint_step"] == 47


def test_the_log_forgets_the_harmless_first() -> None:
    panel = LogPanel(capacity=10)
    state = panel.initial()
    for number in range(40):
        level = "error" if number == 3 else "info"
        event = Event(kind="log_written", time_s=float(number), data={"level": level, "text": f"line {number}"})
        state = panel.reduce(state, event)
    view = panel.view(state)
    assert len(view["entries"]) == 10
    assert view["num_entries"] == 40
    assert view["entries"]["3"]["level"] == "failure"
    assert "39" in view["entries"]


def test_metrics_remember_the_best_epoch() -> None:
    log = EventLog(Scenario())
    log.create()
    for epoch, accuracy in ((1, 0.7), (2, 0.9), (3, 0.8)):
        log.tell(
            "epoch_finished",
            epoch=epoch,
            step=20 * epoch,
            elapsed_s=1.0,
            train_loss=1.0,
            metrics={"val_accuracy": accuracy},
            evaluate_s=0.1,
            bytes={},
        )
    figure = shown(log.events)["metrics"]["figure"]
    assert (figure["value"], figure["detail"]) == ("0.800", "epoch 3; best 0.900 at epoch 2")
