"""What each worker of a run hosts and did last."""

from workbench.core.events import Event
from workbench.dashboard.workers import Duties, Duty
from workbench.testing import event_logs


def after(events: list[Event]) -> Duties:
    duties = Duties()
    for event in events:
        duties = duties.after(event)
    return duties


def test_ranks_and_samplers_are_tied_to_workers_and_parts() -> None:
    by_key = after(event_logs.healthy(last_step=23)).by_key
    assert list(by_key) == [("rank", 0), ("rank", 1), ("sampler", 0), ("sampler", 1)]
    rank = by_key["rank", 1]
    assert (rank.worker, rank.part) == ("trainer-1", 1)
    assert rank.does == "step 23, mostly backward"
    assert (rank.rss_bytes or 0) > 1e9
    assert by_key["sampler", 0].does == "batch of step 23 for rank 0"


def test_a_new_gang_begins_anew_and_an_ended_run_hosts_nothing() -> None:
    lost = after(event_logs.failure_with_restart(until="lost"))
    assert dict(lost.by_key) == {
        ("rank", 0): Duty(worker="trainer-0", part=0, does="ready"),
        ("rank", 1): Duty(worker="trainer-1", does="starting"),
    }
    for events in (event_logs.healthy(), event_logs.stopped(), event_logs.failed()):
        assert not after(events).by_key


def test_a_lost_sampler_and_a_pause() -> None:
    log = event_logs.straggler(last_step=72)
    index = next(i for i, event in enumerate(log) if event.kind == "sampler_lost")
    assert ("sampler", 1) not in after(log[: index + 1]).by_key
    assert ("sampler", 1) in after(log).by_key
    paused = after([*log, Event(kind="run_paused", time_s=0.0, data={"step": 72})])
    assert {duty.does for duty in paused.by_key.values()} == {"paused"}
