"""How failures of ranks and workers end or restart a run, as the pure state machine decides."""

from __future__ import annotations

from workbench.runtime.run_records import (
    ControlAsked,
    KillRanks,
    Publish,
    SeekHosts,
    SendToRank,
    SetTimer,
    StartRanks,
    Status,
    TimerFired,
    WorkerLost,
)
from workbench.testing.run_replay import HOSTS, Replay, of


def test_a_lost_rank_settles_the_gang_and_restarts_from_the_checkpoint() -> None:
    replay = Replay()
    replay.run_to_step(5)
    out = replay.exit(1, signal=9, log_tail="...")
    assert [t.name for t in of(SetTimer, out)] == ["settle"]
    replay.report(0, "peer", cause="RuntimeError: Connection closed by peer")
    out = replay.exit(0, code=1)
    assert replay.state.status is Status.RESTARTING
    failed, again = of(Publish, out)
    assert (failed.kind, failed.rank, failed.data["host"]) == ("rank_failed", 1, "10.0.0.1 (worker trainer1)")
    assert "signal 9" in failed.data["cause"]
    assert (again.kind, again.data["attempt"], again.data["from_step"]) == ("run_restarting", 1, 4)
    assert out[-1] == SeekHosts()
    assert of(StartRanks, replay.offer(*HOSTS)) == [StartRanks(generation=1, hosts=HOSTS[:2], resume_step=4)]


def test_the_cause_is_the_first_rank_that_went_by_itself_also_when_its_victims_end_first() -> None:
    replay = Replay(world_size=3)
    replay.run_to_step(1)
    for victim in (0, 2):
        replay.report(victim, "peer", cause="RuntimeError: Connection reset by peer")
        replay.exit(victim, code=1)
    replay.report(1, "error", cause="KeyError: 'x'", traceback="Traceback ...")
    replay.exit(1, code=1)
    failed = next(p for p in of(Publish, replay.out) if p.kind == "rank_failed")
    assert (failed.rank, failed.data["cause"], failed.data["traceback"]) == (1, "KeyError: 'x'", "Traceback ...")
    assert replay.state.status is Status.FAILED, "an error of the user's is not tried again"


def test_ranks_that_do_not_notice_are_killed_and_their_deaths_are_no_cause() -> None:
    replay = Replay()
    replay.run_to_step(1)
    replay.report(1, "error", cause="ValueError: mine")
    replay.exit(1, code=1)
    out = replay.feed(TimerFired, name="settle")
    assert of(KillRanks, out) == [KillRanks(generation=0, ranks=(0,))]
    replay.exit(0, signal=9)
    failed = next(p for p in of(Publish, replay.out) if p.kind == "run_failed")
    assert failed.data["cause"] == "ValueError: mine"


def test_ranks_that_wait_for_each_other_are_tried_once_more_and_then_told_why() -> None:
    replay = Replay(world_size=2)
    for status in (Status.RESTARTING, Status.FAILED):
        replay.run_to_step(1)
        replay.report(0, "peer", cause="RuntimeError: Timed out waiting 60000ms for recv operation to complete")
        replay.exit(0, code=1)
        replay.report(1, "peer", cause="RuntimeError: Connection closed by peer")
        replay.exit(1, code=1)
        assert replay.state.status is status
    failed = next(p for p in of(Publish, replay.out) if p.kind == "run_failed")
    assert "they made different calls" in failed.data["cause"]


def test_three_restarts_then_failure() -> None:
    replay = Replay(world_size=1)
    for _ in range(4):
        replay.run_to_step(1)
        replay.exit(0, signal=9)
    assert replay.state.status is Status.FAILED
    assert replay.kinds.count("run_restarting") == 3


def test_out_of_memory_is_forgiven_once() -> None:
    replay = Replay(world_size=1)
    for status in (Status.RESTARTING, Status.FAILED):
        replay.run_to_step(1)
        replay.report(0, "memory", cause="MemoryError: ")
        replay.exit(0, code=1)
        assert replay.state.status is status


def test_a_lost_worker_takes_its_ranks_and_the_run_waits_for_another() -> None:
    replay = Replay()
    replay.run_to_step(2)
    replay.feed(WorkerLost, address=HOSTS[2].address)
    assert replay.state.status is Status.RUNNING, "not one of ours"
    replay.feed(WorkerLost, address=HOSTS[1].address)
    replay.report(0, "peer", cause="peer")
    replay.exit(0, code=1)
    assert replay.state.status is Status.RESTARTING
    assert replay.offer(HOSTS[0]) == []
    assert of(StartRanks, replay.offer(HOSTS[0], HOSTS[2]))


def test_a_checkpoint_counts_when_every_rank_has_told_the_steps_before_it() -> None:
    replay = Replay()
    replay.run_to_step(2)
    assert replay.state.resume_step == 2
    replay.tell(0, "step_finished", step=3)
    replay.tell(0, "checkpoint_saved", step=3)
    assert replay.state.resume_step == 2, "rank 1 might die with its step 3 untold"
    replay.tell(1, "step_finished", step=3)
    assert replay.state.resume_step == 3


def test_ranks_that_never_become_ready_are_named() -> None:
    replay = Replay(start_s=9.0)
    replay.offer(*HOSTS)
    replay.tell(0, "rank_ready")
    replay.feed(TimerFired, name="start")
    for rank in (0, 1):
        replay.exit(rank, signal=9)
    failed = next(p for p in of(Publish, replay.out) if p.kind == "rank_failed")
    assert failed.data["cause"] == "ranks [1] were not ready within 9 s"
    assert replay.state.status is Status.FAILED


def test_a_silent_rank_is_found_but_not_in_a_pause() -> None:
    replay = Replay(world_size=1, silent_s=3.0)
    replay.run_to_step(1)
    replay.feed(ControlAsked, kind="pause")
    replay.tell(0, "run_paused", step=1)
    for _ in range(6):
        assert of(SetTimer, replay.feed(TimerFired, name="watch")), "it looks again later"
    replay.tell(0, "run_resumed", step=1)
    assert not of(KillRanks, replay.feed(TimerFired, name="watch"))
    replay.time_s += 5
    assert of(KillRanks, replay.feed(TimerFired, name="watch"))


def test_a_worker_that_confirms_no_death_is_held_for_lost() -> None:
    replay = Replay()
    replay.run_to_step(1)
    replay.feed(ControlAsked, kind="stop", force=True)
    replay.feed(TimerFired, name="abandon")
    assert replay.state.status is Status.STOPPED


def test_what_threads_beside_the_training_loop_tell_is_no_sign_of_life() -> None:
    replay = Replay(world_size=1, silent_s=3.0)
    replay.run_to_step(1)
    for _ in range(5):
        replay.tell(0, "resources_measured", rss_bytes=1)
    assert of(KillRanks, replay.feed(TimerFired, name="watch"))


def test_a_rank_that_takes_steps_is_not_held_for_hung() -> None:
    replay = Replay(world_size=1, silent_s=3.0)
    replay.run_to_step(1)
    for step in range(2, 7):
        replay.tell(0, "step_finished", step=step)
    assert not of(KillRanks, replay.feed(TimerFired, name="watch"))


def test_a_forced_stop_kills_once_more_what_was_killed_already() -> None:
    replay = Replay(world_size=1)
    replay.offer(*HOSTS)
    replay.feed(ControlAsked, kind="stop")
    out = replay.feed(ControlAsked, kind="stop", force=True)
    assert of(KillRanks, out) == [KillRanks(generation=0, ranks=(0,))]
    assert not of(SetTimer, out), "the worker's time to confirm began with the first"


def test_a_rank_that_becomes_ready_after_its_kill_does_not_make_the_run_running() -> None:
    replay = Replay(world_size=1)
    replay.offer(*HOSTS)
    replay.feed(ControlAsked, kind="stop")
    replay.tell(0, "rank_ready")
    assert replay.state.status is Status.STARTING
    assert "run_started" not in replay.kinds
    replay.exit(0, signal=9)
    assert replay.state.status is Status.STOPPED


def test_rank_0_is_told_which_checkpoint_counts_so_that_it_keeps_that_one() -> None:
    replay = Replay()
    replay.run_to_step(1)
    replay.tell(0, "step_finished", step=2)
    assert of(SendToRank, replay.tell(0, "checkpoint_saved", step=2)) == [], "rank 1 has not told step 2 yet"
    sent = of(SendToRank, replay.tell(1, "step_finished", step=2))
    assert [(item.rank, item.message) for item in sent] == [(0, {"op": "counted", "step": 2})]
    assert of(SendToRank, replay.tell(1, "step_finished", step=3)) == [], "once"
