"""How ranks end, and what becomes of their run then: pure functions of the state machine.

After a failure the gang settles (every rank of the generation is gone) before a cause is chosen, so that the cause is
the rank that went first and not one of its victims.
"""

from __future__ import annotations

import dataclasses
import math

from workbench.runtime.run_records import (
    Failure,
    FailureKind,
    KillRanks,
    RankExited,
    RankReported,
    RankStill,
    Result,
    RunState,
    SeekHosts,
    SetTimer,
    Signal,
    Status,
    WorkerLost,
)

_DISAGREED = (
    "No rank was lost: they waited for each other. Either the network between them is cut, or they made different "
    "calls: does the model branch on a rank's own data or random numbers?"
)
_RESTARTABLE: tuple[FailureKind, ...] = ("lost", "peer", "silent")


def exited(state: RunState, signal: RankExited) -> Result:
    """A rank's process is gone: done, or failed."""
    if signal.rank not in state.live:
        return state, ()
    state = state.with_(live=state.live - {signal.rank})
    report = next((r for r in state.reports if r.rank == signal.rank), None)
    if report is not None and report.reason in ("finished", "stopped") and not (signal.code or signal.signal):
        return settle_if_empty(state, signal)
    return _fail(state, signal, (_failure(state, signal, report),))


def worker_lost(state: RunState, signal: WorkerLost) -> Result:
    """A worker left the cluster: its ranks are lost."""
    lost = [k for k in sorted(state.live) if state.hosts[k].address == signal.address]
    if not lost:
        return state, ()
    failures = tuple(
        Failure(
            rank=k,
            kind="lost",
            cause=f"worker {state.hosts[k].name}, which holds rank {k}, left the cluster",
            host=_place(state, k),
        )
        for k in lost
    )
    return _fail(state.with_(live=state.live - set(lost)), signal, failures)


def hung(state: RunState, ranks: list[int], cause: str, kind: FailureKind = "silent", *, traceback: str = "") -> Result:
    """Ranks give no sign of life: the gang is killed."""
    if state.failing or not ranks:
        return state, ()
    failure = Failure(rank=ranks[0], kind=kind, cause=cause, host=_place(state, ranks[0]), traceback=traceback)
    return kill(state.with_(failing=True, failures=(failure,)))


def still(state: RunState, signal: RankStill) -> Result:
    """A rank stands still: a person is told early, and after a while, or where it cannot move, the gang is killed."""
    if signal.rank not in state.live or state.killed or state.failing:
        return state, ()
    rank, seconds = signal.rank, f"{signal.seconds:.0f} s"
    if signal.is_stopped:
        return hung(state, [rank], f"the process of rank {rank} is stopped by a signal (SIGSTOP), for {seconds}")
    cause = f"rank {rank} stands still, without using its CPU, for {seconds}: in {signal.where}"
    if signal.seconds > state.limits.still_s:
        return hung(state, [rank], cause, traceback=signal.traceback)
    if rank in state.warned or math.isinf(state.limits.still_s):
        return state, ()
    part = f", part {state.parts[rank]}" if rank in state.parts else ""
    text = f"{cause}, on {_place(state, rank)}{part}. After {state.limits.still_s:g} s it is held for hung"
    told = dataclasses.replace(state.publish(signal, "log_written", level="warning", text=text), rank=rank)
    return state.with_(warned=state.warned | {rank}), (told,)


def kill(state: RunState, *, again: bool = False) -> Result:
    """Kill what is left of the gang, once (`again`: once more); a worker that confirms too late is held for lost."""
    if not state.live or (state.killed and not again):
        return state, ()
    order = KillRanks(generation=state.generation, ranks=tuple(sorted(state.live)))
    if state.killed:
        return state, (order,)
    abandon = SetTimer(name="abandon", generation=state.generation, delay_s=state.limits.abandon_s)
    return state.with_(killed=True), (order, abandon)


def settle_if_empty(state: RunState, signal: Signal) -> Result:
    """When every rank is gone, decide what becomes of the run."""
    if state.live:
        return state, ()
    told_stop = any(report.reason == "stopped" for report in state.reports)
    if state.stopping and (state.failing or state.killed or told_stop):
        return state.end(signal, Status.STOPPED, "run_stopped", step=state.step)
    if not state.failing:
        return state.end(signal, Status.FINISHED, "run_finished", step=state.step, elapsed_s=state.elapsed_s)
    return _after_failure(state, signal)


def _place(state: RunState, rank: int) -> str:
    return f"{state.hosts[rank].host} (worker {state.hosts[rank].name})"


def _failure(state: RunState, signal: RankExited, report: RankReported | None) -> Failure:
    if signal.signal:
        cause = f"the process of rank {signal.rank} was ended by signal {signal.signal}"
    else:
        cause = f"the process of rank {signal.rank} ended with code {signal.code}"
    kind: FailureKind = "lost"
    if report is not None and report.reason in ("error", "memory", "peer"):
        kind, cause = report.reason, report.cause  # type: ignore[assignment]  # it is one of the kinds
    return Failure(
        rank=signal.rank,
        kind=kind,
        cause=cause,
        host=_place(state, signal.rank),
        traceback=report.traceback if report is not None else "",
        log_tail=signal.log_tail,
    )


def _fail(state: RunState, signal: Signal, failures: tuple[Failure, ...]) -> Result:
    if state.killed:  # we ended it ourselves
        return settle_if_empty(state, signal)
    is_first = not state.failing
    state = state.with_(failing=True, failures=(*state.failures, *failures))
    if not state.live:
        return settle_if_empty(state, signal)
    timer = SetTimer(name="settle", generation=state.generation, delay_s=state.limits.settle_s)
    return state, (timer,) if is_first else ()


def _after_failure(state: RunState, signal: Signal) -> Result:
    failure, waited = _first_cause(state.failures), _all_waited(state)
    if waited:
        failure = dataclasses.replace(failure, cause=f"{failure.cause}. {_DISAGREED}")
    fields = {name: getattr(failure, name) for name in ("host", "cause", "traceback", "log_tail")}
    fields["part"] = state.parts.get(failure.rank)
    told = dataclasses.replace(state.publish(signal, "rank_failed", **fields), rank=failure.rank)
    most = min(state.limits.max_restarts, 1) if waited else state.limits.max_restarts  # the network may come back
    is_forgiven = failure.kind in _RESTARTABLE and state.restarts < most
    if failure.kind == "memory" and state.memory_restarts == 0 and state.limits.max_restarts:
        is_forgiven, state = True, state.with_(memory_restarts=1)
    if not is_forgiven:
        cause, rank = failure.cause, failure.rank
        state, more = state.end(signal, Status.FAILED, "run_failed", cause=cause, rank=rank, step=state.step)
        return state, (told, *more)
    state = state.with_(status=Status.RESTARTING, restarts=state.restarts + 1)
    again = state.publish(
        signal, "run_restarting", attempt=state.restarts, from_step=state.resume_step, cause=failure.cause
    )
    return state, (told, again, SeekHosts())


def _all_waited(state: RunState) -> bool:
    """Say whether no rank went by itself: all were alive, until one had waited too long for another."""
    all_are_echoes = len(state.failures) == state.world_size and all(one.kind == "peer" for one in state.failures)
    return all_are_echoes and "timed out" in state.failures[0].cause.lower()


def _first_cause(failures: tuple[Failure, ...]) -> Failure:
    """Return the first failure that is not the mere echo of another rank's end."""
    return next((failure for failure in failures if failure.kind != "peer"), failures[0])
