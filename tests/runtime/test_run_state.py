"""The state machine of a run: golden sequences of signals, and what must be done after each."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.events import EVENT_KINDS
from workbench.runtime.run_records import (
    ControlAsked,
    EndRun,
    KillRanks,
    Publish,
    RankExited,
    RankReported,
    RankStill,
    SendToRank,
    SetTimer,
    StartRanks,
    Status,
    StoreOpened,
    TimerFired,
    WorkerLost,
)
from workbench.testing.run_replay import HOSTS, Replay, of


def test_a_run_without_trouble() -> None:
    replay = Replay()
    assert replay.offer(HOSTS[0]) == [], "one host is not enough for two ranks"
    started = replay.offer(*HOSTS)
    assert of(StartRanks, started) == [StartRanks(generation=0, hosts=HOSTS[:2], resume_step=0)]
    assert [t.name for t in of(SetTimer, started)] == ["start"]
    sent = replay.feed(StoreOpened, host="10.0.0.0", port=5)
    assert sent == [SendToRank(generation=0, rank=1, message={"op": "store", "host": "10.0.0.0", "port": 5})]
    replay.tell(1, "rank_ready")
    assert replay.state.status is Status.STARTING
    replay.tell(0, "rank_ready")
    assert replay.state.status is Status.RUNNING
    replay.tell(0, "step_finished", step=1)
    replay.tell(0, "epoch_finished", step=1, elapsed_s=2.5)
    for rank in (0, 1):
        replay.report(rank, "finished", step=1, elapsed_s=2.75)
        replay.exit(rank)
    assert replay.state.status is Status.FINISHED
    assert replay.kinds == [
        "gang_starting",
        "rank_ready",
        "rank_ready",
        "run_started",
        "step_finished",
        "epoch_finished",
        "run_finished",
    ]
    last = of(Publish, replay.out)[-1]
    assert last.data == {"step": 1, "elapsed_s": 2.75}
    assert replay.out[-1] == EndRun()


def test_a_run_waits_for_its_samplers_too() -> None:
    replay = Replay(num_samplers=2)
    assert replay.offer(*HOSTS, num_samplers=1) == []
    assert of(StartRanks, replay.offer(*HOSTS, num_samplers=2))


def test_a_stop_while_running_is_cooperative_then_forceful() -> None:
    replay = Replay(stop_s=4.0)
    replay.run_to_step(1)
    out = replay.feed(ControlAsked, kind="stop", by="dashboard")
    assert of(Publish, out)[0].data == {"by": "dashboard"}
    assert of(SendToRank, out)[0].message == {"op": "control", "kind": "stop", "id": 1}
    assert of(SetTimer, out)[0].delay_s == 4.0
    assert replay.feed(ControlAsked, kind="stop") == [], "asking twice changes nothing"
    assert of(KillRanks, replay.feed(TimerFired, name="stop"))[0].ranks == (0, 1)
    replay.exit(0, signal=9)
    replay.exit(1, signal=9)
    assert replay.state.status is Status.STOPPED


def test_a_cooperative_stop() -> None:
    replay = Replay()
    replay.run_to_step(3)
    replay.feed(ControlAsked, kind="stop")
    for rank in (0, 1):
        replay.report(rank, "stopped", step=4)
        replay.exit(rank)
    assert of(Publish, replay.out)[-1] == Publish(
        kind="run_stopped", time_s=replay.time_s, generation=0, data={"step": 4}
    )


def test_a_run_that_finishes_while_it_is_asked_to_stop_has_finished() -> None:
    replay = Replay(world_size=1)
    replay.run_to_step(3)
    replay.feed(ControlAsked, kind="stop")
    replay.report(0, "finished", step=4)
    replay.exit(0)
    assert replay.state.status is Status.FINISHED


def test_a_stop_before_any_rank_lives_ends_at_once() -> None:
    replay = Replay()
    replay.feed(ControlAsked, kind="stop")
    assert replay.state.status is Status.STOPPED
    assert replay.offer(*HOSTS) == [], "what has ended stays so"


def test_a_stop_while_starting_kills() -> None:
    replay = Replay()
    replay.offer(*HOSTS)
    assert of(KillRanks, replay.feed(ControlAsked, kind="stop"))


def test_a_forced_stop_kills_at_once_also_after_a_gentle_one() -> None:
    replay = Replay()
    replay.run_to_step(1)
    replay.feed(ControlAsked, kind="stop")
    assert of(KillRanks, replay.feed(ControlAsked, kind="stop", force=True))


def test_a_pause_told_by_several_ranks_happened_once() -> None:
    replay = Replay()
    replay.run_to_step(1)
    replay.feed(ControlAsked, kind="pause")
    for rank in (0, 1):
        replay.tell(rank, "run_paused", step=1)
    assert replay.state.status is Status.PAUSED
    replay.feed(ControlAsked, kind="resume")
    replay.tell(0, "run_resumed", step=1)
    assert replay.state.status is Status.RUNNING
    assert replay.kinds.count("run_paused") == 1


def test_a_pause_of_a_run_that_has_not_begun_is_refused_aloud() -> None:
    replay = Replay()
    (told,) = replay.feed(ControlAsked, kind="pause")
    assert isinstance(told, Publish)
    assert "pending" in told.data["text"]


def test_what_an_earlier_gang_says_is_ignored() -> None:
    replay = Replay(world_size=1)
    replay.run_to_step(2)
    replay.exit(0, signal=9)
    replay.run_to_step(3)
    before = replay.state
    assert replay.feed(RankExited, generation=0, rank=0, code=0, signal=9) == []
    assert replay.feed(TimerFired, generation=0, name="settle") == []
    assert replay.state == before


RANK = st.integers(0, 1)
SIGNALS = st.one_of(
    st.just(("offer", {})),
    st.tuples(
        st.just("told"),
        st.fixed_dictionaries(
            {
                "rank": RANK,
                "kind": st.sampled_from(
                    ["rank_ready", "step_finished", "checkpoint_saved", "run_paused", "run_resumed"]
                ),
            }
        ),
    ),
    st.tuples(
        st.just("exited"),
        st.fixed_dictionaries({"rank": RANK, "code": st.sampled_from([0, 1]), "signal": st.sampled_from([0, 9])}),
    ),
    st.tuples(
        st.just("reported"),
        st.fixed_dictionaries(
            {"rank": RANK, "reason": st.sampled_from(["finished", "stopped", "error", "memory", "peer"])}
        ),
    ),
    st.tuples(st.just("worker"), st.fixed_dictionaries({"address": st.sampled_from([h.address for h in HOSTS])})),
    st.tuples(
        st.just("control"),
        st.fixed_dictionaries(
            {"kind": st.sampled_from(["pause", "resume", "stop", "checkpoint"]), "force": st.booleans()}
        ),
    ),
    st.tuples(
        st.just("still"),
        st.fixed_dictionaries({"rank": RANK, "seconds": st.sampled_from([3.0, 30.0]), "is_stopped": st.booleans()}),
    ),
    st.tuples(
        st.just("timer"),
        st.fixed_dictionaries({"name": st.sampled_from(["settle", "stop", "abandon", "start", "watch"])}),
    ),
)
KINDS = {
    "exited": RankExited,
    "reported": RankReported,
    "worker": WorkerLost,
    "control": ControlAsked,
    "still": RankStill,
    "timer": TimerFired,
}


@given(st.lists(SIGNALS, max_size=60))
def test_any_sequence_keeps_the_rules(signals: list[tuple[str, dict[str, Any]]]) -> None:
    replay, step = Replay(), 0
    for name, fields in signals:
        was_ended = replay.state.status.ended
        if name == "offer":
            out = replay.offer(*HOSTS)
        elif name == "told":
            step += 1
            out = replay.tell(fields["rank"], fields["kind"], step=step)
        else:
            out = replay.feed(KINDS[name], **fields)
        assert not (was_ended and out), "nothing happens after the end"
        assert replay.state.status.ended == (EndRun() in replay.out)
        for item in of(KillRanks, out):
            assert set(item.ranks) <= replay.state.live
    assert replay.out.count(EndRun()) <= 1
    assert {item.kind for item in of(Publish, replay.out)} <= set(EVENT_KINDS)
    assert sum(kind in ("run_finished", "run_stopped", "run_failed") for kind in replay.kinds) <= 1


@pytest.mark.parametrize("status", list(Status))
def test_ended_statuses_are_three(status: Status) -> None:
    assert status.ended == (status.value in ("finished", "stopped", "failed"))
