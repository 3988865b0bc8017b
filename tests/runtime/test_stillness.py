"""A rank whose code stands still is found and named; one that works, or waits where ranks wait, is not."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import cloudpickle
import pytest
import torch

import workbench as wb
from workbench.core.events import Event, of_kind
from workbench.runtime import stillness
from workbench.runtime.run_records import KillRanks, Publish, RankStill, Status
from workbench.runtime.stillness import Stand, Stillness
from workbench.testing.run_replay import Replay, of
from workbench.testing.runs import PATIENCE_S, Launch, losses, rank_pid, step_of, wait_for

Body = Callable[[threading.Event], object]


def watched(
    body: Body, seconds: float, monkeypatch: pytest.MonkeyPatch, *, tells: bool = False, ratio: float = 0.3
) -> Stand | None:
    """What is said of a thread that does this, after so many seconds; one that `tells` does so all the time."""
    monkeypatch.setattr(stillness, "LOOK_EVERY_S", 0.05)
    monkeypatch.setattr(stillness, "TOLD_FROM_S", 0.3)
    monkeypatch.setattr(stillness, "CPU_RATIO", ratio)  # other tests may have left clients that tick
    end = threading.Event()
    thread = threading.Thread(target=body, args=(end,), daemon=True)
    thread.start()
    watch, stand, deadline = Stillness(thread), None, time.monotonic() + seconds
    while time.monotonic() < deadline and stand is None:
        if tells:
            watch.moved()
        stand = watch.look()
        time.sleep(0.01)
    end.set()
    thread.join()
    return stand


def sleeps(end: threading.Event) -> None:
    end.wait(30.0)


def computes(end: threading.Event) -> None:
    while not end.is_set():
        pass


def test_a_thread_that_waits_is_told_with_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    stand = watched(sleeps, 10.0, monkeypatch)
    assert stand is not None
    assert stand.seconds >= 0.3
    assert stand.where.startswith("sleeps (")
    assert "end.wait(30.0)" in stand.traceback


def waits_for_a_computing_thread(end: threading.Event) -> None:
    worker = threading.Thread(target=computes, args=(end,))
    worker.start()
    worker.join()


def test_one_that_waits_for_threads_of_its_own_that_compute_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched(waits_for_a_computing_thread, 1.5, monkeypatch, ratio=0.02) is None


def test_one_that_works_or_tells_something_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert watched(computes, 1.5, monkeypatch, ratio=0.02) is None
    assert watched(sleeps, 1.0, monkeypatch, tells=True) is None


def test_waiting_for_others_is_no_standing_still(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "def waits(end):\n    end.wait(30.0)\n"
    names: dict[str, Body] = {"__name__": "workbench.train.transport"}  # type: ignore[dict-item]
    exec(compile(source, "transport.py", "exec"), names)
    assert watched(names["waits"], 1.0, monkeypatch) is None


def test_a_person_is_told_once_and_the_gang_killed_after_a_while() -> None:
    replay = Replay(still_s=20.0)
    replay.run_to_step(3)
    told = of(Publish, replay.feed(RankStill, rank=1, seconds=3.0, where="forward (m.py:7)"))
    assert [event.kind for event in told] == ["log_written"]
    assert told[0].rank == 1
    for part in ("rank 1", "forward (m.py:7)", "10.0.0.1", "20 s"):
        assert part in told[0].data["text"]
    assert replay.feed(RankStill, rank=1, seconds=4.0, where="forward (m.py:7)") == []
    out = replay.feed(RankStill, rank=1, seconds=21.0, where="forward (m.py:7)", traceback="File m.py")
    assert of(KillRanks, out)
    replay.exit(0, signal=9)
    failed = of(Publish, replay.exit(1, signal=9))[0]
    assert (failed.kind, failed.rank, failed.data["traceback"]) == ("rank_failed", 1, "File m.py")
    assert replay.state.status is Status.RESTARTING


def test_a_stopped_process_is_killed_at_once_and_a_function_may_stand_still() -> None:
    replay = Replay()
    replay.run_to_step(1)
    assert of(KillRanks, replay.feed(RankStill, rank=0, seconds=2.5, is_stopped=True))
    function = Replay(still_s=float("inf"))
    function.run_to_step(1)
    assert function.feed(RankStill, rank=0, seconds=1e6, where="mine") == []


@pytest.mark.slow
def test_a_stopped_rank_is_told_within_seconds_and_replaced(launch: Launch) -> None:
    undisturbed = launch(epochs=20).wait(PATIENCE_S)
    run = launch(epochs=20)
    wait_for(lambda: step_of(run) > 10, "some steps")
    os.kill(rank_pid(run, 1), signal.SIGSTOP)
    stopped_s = time.time()
    wait_for(lambda: list(of_kind(run.events, "rank_failed")), "the event")
    assert time.time() - stopped_s < 8.0, "5 s, and patience with a busy machine"
    run.wait(PATIENCE_S)
    failed: Event = next(of_kind(run.events, "rank_failed"))
    assert failed.rank == 1
    assert "SIGSTOP" in failed.data["cause"]
    assert losses(run) == losses(undisturbed)


class Sleeps(torch.nn.Module):
    """Sleeps for ever in a rank, once."""

    def __init__(self, once: str) -> None:
        super().__init__()
        self.once = once
        self.linear = torch.nn.Linear(12, 3)
        self.calls = 0

    def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        if self.calls > 30 and Path(self.once).exists():
            Path(self.once).unlink()
            time.sleep(10_000)
        return self.linear(x)


cloudpickle.register_pickle_by_value(sys.modules[__name__])


@pytest.mark.slow
def test_a_rank_that_hangs_is_named_with_its_line_and_replaced(
    session: wb.Session, graph: wb.Graph, tmp_path: Path
) -> None:
    once = tmp_path / "once"
    once.touch()
    run = session.launch(graph, Sleeps(str(once)), "mini_batch", trainers=2, epochs=20, batch_size=16, fanouts=(3,))
    run.wait(PATIENCE_S)
    assert not once.exists()
    warned = [event for event in of_kind(run.events, "log_written") if "stands still" in event.data["text"]]
    failed = next(of_kind(run.events, "rank_failed"))
    assert warned[0].rank == failed.rank
    assert "in forward (" in failed.data["cause"]
    assert failed.data["traceback"].rstrip().endswith("in forward")
    assert [event.data["attempt"] for event in of_kind(run.events, "run_restarting")] == [1]
