"""The past of a run in bounded memory: nothing is missing or told twice, however little of it is kept."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

import workbench as wb
from workbench.core.errors import RunError
from workbench.core.events import Event, of_kind
from workbench.runtime import event_past
from workbench.runtime.event_log import EventLog
from workbench.runtime.event_past import EventPast
from workbench.runtime.run_folder import RunFolder
from workbench.testing.runs import PATIENCE_S, Launch, has_no_gap, step_of, wait_for


def told(kind: str = "log_written", **data: object) -> Event:
    return Event(kind=kind, time_s=0.0, data=data or {"level": "info", "text": "x"})


def epoch(number: int, loss: float = 0.5) -> Event:
    return told("epoch_finished", epoch=number, step=number, elapsed_s=1.0, train_loss=loss, metrics={}, bytes={})


def past_of(folder: Path, events: list[Event], num_kept: int, num_on_disk: int | None = None) -> EventPast:
    """The past of these events, of which the file shows the first and the scheduler the rest."""
    log = EventLog(folder / "events.log")
    log.append(events[:num_on_disk])
    size = len((folder / "events.log").read_bytes())
    rest = EventLog(folder / "rest")
    rest.seq = log.seq
    waiting = rest.append(events[num_on_disk:]) if num_on_disk is not None else b""

    def tail(offset: int, max_bytes: int) -> bytes:
        return waiting[offset - size : offset - size + max_bytes] if offset >= size else b""

    past = EventPast(RunFolder(path=folder), tail, num_kept)
    numbered = [Event.from_json(event.to_json() | {"seq": k}) for k, event in enumerate(events, 1)]
    for event in numbered:
        past.add([event])
    return past


def test_the_newest_come_from_memory_and_only_where_it_has_them_all(tmp_path: Path) -> None:
    past = past_of(tmp_path, [told() for _ in range(10)], num_kept=4)
    assert past.newest(5) is None
    for after in (6, 8, 10):
        newest = past.newest(after)
        assert newest is not None
        assert [event.seq for event in newest] == list(range(after + 1, 11))


@pytest.mark.parametrize("num_on_disk", [None, 7, 0])
def test_older_ones_come_from_the_log_and_what_the_disk_lacks_from_the_scheduler(
    tmp_path: Path, num_on_disk: int | None
) -> None:
    past = past_of(tmp_path, [told() for _ in range(10)], num_kept=2, num_on_disk=num_on_disk)
    assert [event.seq for piece in past.pieces(3, 9) for event in piece] == [4, 5, 6, 7, 8, 9]


def test_a_log_that_somebody_removed_is_an_error_and_no_silence(tmp_path: Path) -> None:
    past = past_of(tmp_path, [told() for _ in range(10)], num_kept=2)
    (tmp_path / "events.log").unlink()
    with pytest.raises(RunError, match="events up to 9"):
        list(past.pieces(0, 9))


def test_milestones_stay_the_last_telling_of_an_epoch_and_no_failure_that_was_mended(tmp_path: Path) -> None:
    failed = told("run_failed", cause="x", rank=0, step=1)
    events = [epoch(1), epoch(2), epoch(2, 0.25), failed, told("run_restarting"), epoch(3)]
    past = past_of(tmp_path, [*events, *(told() for _ in range(50))], num_kept=2)
    kept = [(event.kind, event.data.get("epoch"), event.data.get("train_loss")) for event in past.milestones]
    assert kept == [("epoch_finished", 1, 0.5), ("epoch_finished", 2, 0.25), ("epoch_finished", 3, 0.5)]


@pytest.mark.slow
def test_a_run_tells_everything_from_the_log_when_memory_keeps_little(
    launch: Launch, session: wb.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_past.EventPast.__init__, "__defaults__", (5,))
    run = launch(epochs=30)
    wait_for(lambda: step_of(run) > 20, "some steps")
    early: list[Event] = []
    unsubscribe = run.subscribe(early.extend, replay=True)
    run.wait(PATIENCE_S)
    wait_for(lambda: early and early[-1].kind == "run_finished", "the last events")
    unsubscribe()
    assert len(run._feed._past._newest) == 5
    assert has_no_gap(run)
    assert [event.seq for event in early] == list(range(1, len(early) + 1))
    assert early == run.events
    assert run.history.epoch.tolist() == list(range(1, 31))
    assert [event.data["epoch"] for event in of_kind(run.milestones, "epoch_finished")] == list(range(1, 31))
    assert wb.Run(run._folder).events == early


@pytest.mark.slow
def test_a_run_that_has_ended_and_that_nobody_holds_costs_no_memory(session: wb.Session, graph: wb.Graph) -> None:
    run = session.launch(graph, "sage", epochs=1, batch_size=64, fanouts=(3, 3), hidden_channels=8)
    run_id, gone = run.id, weakref.ref(run)
    assert session.attach(run_id) is run
    run.wait(PATIENCE_S)
    assert session.attach(run_id) is run
    del run

    def is_gone() -> bool:
        gc.collect()
        return gone() is None

    wait_for(is_gone, "the run to be freed")
    assert session.attach(run_id).status == "finished"
