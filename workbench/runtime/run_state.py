"""The life of a run as a pure function: ``transition(state, signal) -> (state, instructions)``.

No clock, no input, no output: time comes with the signal. The run manager feeds it and does what it says; tests
replay sequences through it. After a failure the gang settles (every rank of the generation is gone) before a
cause is chosen, so that the cause is the rank that went first and not one of its victims.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from workbench.core.control import CONTROL_KINDS
from workbench.runtime.run_records import (
    ControlAsked,
    EndRun,
    Failure,
    Host,
    HostsOffered,
    Instruction,
    KillRanks,
    Limits,
    Publish,
    RankExited,
    RankReported,
    RankTold,
    SeekHosts,
    SendToRank,
    SetTimer,
    Signal,
    StartRanks,
    Status,
    StoreOpened,
    TimerFired,
    WorkerLost,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """All that the run manager knows of a run; ``generation`` is -1 until the first gang starts."""

    world_size: int
    num_samplers: int
    created_s: float
    limits: Limits = Limits()
    status: Status = Status.PENDING
    generation: int = -1
    hosts: tuple[Host, ...] = ()
    live: frozenset[int] = frozenset()
    ready: frozenset[int] = frozenset()
    reports: tuple[RankReported, ...] = ()
    failures: tuple[Failure, ...] = ()
    failing: bool = False
    killed: bool = False
    stopping: bool = False
    restarts: int = 0
    memory_restarts: int = 0
    resume_step: int = 0
    step: int = 0
    elapsed_s: float = 0.0
    next_control: int = 1
    heard_s: tuple[float, ...] = ()


Result = tuple[RunState, tuple[Instruction, ...]]


def transition(state: RunState, signal: Signal) -> Result:
    """Return the state after a signal, and what has to be done now."""
    if state.status.ended:
        return state, ()
    if getattr(signal, "generation", state.generation) != state.generation:
        return state, ()  # a straggler of an earlier gang
    match signal:
        case HostsOffered():
            return _start(state, signal)
        case RankTold():
            return _told(state, signal)
        case RankReported():
            return _reported(state, signal)
        case StoreOpened():
            message = {"op": "store", "host": signal.host, "port": signal.port}
            others = sorted(state.live - {0})
            return state, tuple(SendToRank(generation=state.generation, rank=r, message=message) for r in others)
        case RankExited():
            return _exited(state, signal)
        case WorkerLost():
            return _worker_lost(state, signal)
        case ControlAsked():
            return _control(state, signal)
        case TimerFired():
            return _timer(state, signal)
    raise AssertionError(f"unknown signal {signal}")


def replace(state: RunState, **changes: Any) -> RunState:
    return dataclasses.replace(state, **changes)


def _publish(state: RunState, signal: Signal, kind: str, **data: Any) -> Publish:
    return Publish(kind=kind, time_s=signal.time_s, generation=max(0, state.generation), data=data)


def _start(state: RunState, signal: HostsOffered) -> Result:
    waiting = state.status in (Status.PENDING, Status.RESTARTING) and not state.live
    if not waiting or len(signal.hosts) < state.world_size or signal.num_samplers < state.num_samplers:
        return state, ()
    hosts = signal.hosts[: state.world_size]
    ranks = frozenset(range(state.world_size))
    state = replace(
        state,
        status=Status.STARTING,
        generation=state.generation + 1,
        hosts=hosts,
        live=ranks,
        ready=frozenset(),
        reports=(),
        failures=(),
        failing=False,
        killed=False,
        step=state.resume_step,
        heard_s=(signal.time_s,) * state.world_size,
    )
    workers = [{"rank": k, "worker": h.name, "host": h.host} for k, h in enumerate(hosts)]
    return state, (
        _publish(state, signal, "gang_starting", workers=workers, resume_step=state.resume_step),
        StartRanks(generation=state.generation, hosts=hosts, resume_step=state.resume_step),
        SetTimer(name="start", generation=state.generation, delay_s=state.limits.start_s),
    )


# ---- what ranks tell


def _told(state: RunState, signal: RankTold) -> Result:
    heard = tuple(signal.time_s if k == signal.rank else s for k, s in enumerate(state.heard_s))
    state = replace(state, heard_s=heard)
    event = Publish(
        kind=signal.kind,
        time_s=signal.time_s,
        generation=signal.generation,
        rank=signal.rank,
        data=signal.data,
    )
    match signal.kind:
        case "rank_ready":
            return _ready(state, signal, event)
        case "checkpoint_saved":
            # Rank 0 tells it when the file is complete: only then it counts.
            return replace(state, resume_step=int(signal.data["step"])), (event,)
        case "step_finished" | "epoch_finished":
            elapsed_s = float(signal.data.get("elapsed_s", state.elapsed_s))
            step = max(state.step, int(signal.data.get("step", 0)))
            return replace(state, step=step, elapsed_s=elapsed_s), (event,)
        case "run_paused":
            return _once(state, Status.RUNNING, Status.PAUSED, event)
        case "run_resumed":
            return _once(state, Status.PAUSED, Status.RUNNING, event)
    return state, (event,)


def _once(state: RunState, before: Status, after: Status, event: Publish) -> Result:
    # Every rank may tell it; it happened to the run once.
    if state.status is not before:
        return state, ()
    heard = (event.time_s,) * state.world_size  # a paused run is silent by right
    return replace(state, status=after, heard_s=heard), (dataclasses.replace(event, rank=-1),)


def _ready(state: RunState, signal: RankTold, event: Publish) -> Result:
    state = replace(state, ready=state.ready | {signal.rank})
    if len(state.ready) < state.world_size or state.status is not Status.STARTING:
        return state, (event,)
    state = replace(state, status=Status.RUNNING)
    started = _publish(state, signal, "run_started", start_s=signal.time_s - state.created_s)
    watch = SetTimer(name="watch", generation=state.generation, delay_s=state.limits.silent_s / 4)
    return state, (event, started, watch)


# ---- what ends ranks


def _reported(state: RunState, signal: RankReported) -> Result:
    step, elapsed_s = max(state.step, signal.step), max(state.elapsed_s, signal.elapsed_s)
    return replace(state, reports=(*state.reports, signal), step=step, elapsed_s=elapsed_s), ()


def _exited(state: RunState, signal: RankExited) -> Result:
    if signal.rank not in state.live:
        return state, ()
    state = replace(state, live=state.live - {signal.rank})
    report = next((r for r in state.reports if r.rank == signal.rank), None)
    failed_report = report is not None and report.reason not in ("finished", "stopped")
    if failed_report or signal.code or signal.signal:
        failure = _failure(state, signal, report if failed_report else None)
        return _fail(state, signal, (failure,))
    return _settle_if_empty(state, signal)


def _failure(state: RunState, signal: RankExited, report: RankReported | None) -> Failure:
    host = state.hosts[signal.rank]
    if report is not None:
        kind, cause, trace = report.reason, report.cause, report.traceback
    else:
        how = f"by signal {signal.signal}" if signal.signal else f"with code {signal.code}"
        kind, cause, trace = "lost", f"the process of rank {signal.rank} ended {how}", ""
    return Failure(
        rank=signal.rank,
        kind=kind,  # type: ignore[arg-type]  # a report's reason is a failure kind here
        cause=cause,
        host=f"{host.host} (worker {host.name})",
        traceback=trace,
        log_tail=signal.log_tail,
    )


def _worker_lost(state: RunState, signal: WorkerLost) -> Result:
    lost = [k for k in sorted(state.live) if state.hosts[k].address == signal.address]
    if not lost:
        return state, ()
    failures = tuple(
        Failure(
            rank=k,
            kind="lost",
            cause=f"worker {state.hosts[k].name}, which holds rank {k}, left the cluster",
            host=f"{state.hosts[k].host} (worker {state.hosts[k].name})",
        )
        for k in lost
    )
    return _fail(replace(state, live=state.live - set(lost)), signal, failures)


def _fail(state: RunState, signal: Signal, failures: tuple[Failure, ...]) -> Result:
    if state.killed:  # we ended it ourselves
        return _settle_if_empty(state, signal)
    first = not state.failing
    state = replace(state, failing=True, failures=(*state.failures, *failures))
    if not state.live:
        return _settle_if_empty(state, signal)
    timer = SetTimer(name="settle", generation=state.generation, delay_s=state.limits.settle_s)
    return state, (timer,) if first else ()


def _kill(state: RunState) -> Result:
    if state.killed or not state.live:
        return state, ()
    return replace(state, killed=True), (
        KillRanks(generation=state.generation, ranks=tuple(sorted(state.live))),
        SetTimer(name="abandon", generation=state.generation, delay_s=state.limits.abandon_s),
    )


def _settle_if_empty(state: RunState, signal: Signal) -> Result:
    if state.live:
        return state, ()
    told_stop = any(report.reason == "stopped" for report in state.reports)
    if state.stopping and (state.failing or state.killed or told_stop):
        return _end(state, signal, Status.STOPPED, "run_stopped", step=state.step)
    if not state.failing:
        return _end(state, signal, Status.FINISHED, "run_finished", step=state.step, elapsed_s=state.elapsed_s)
    return _after_failure(state, signal)


def _end(state: RunState, signal: Signal, status: Status, kind: str, **data: Any) -> Result:
    return replace(state, status=status), (_publish(state, signal, kind, **data), EndRun())


def _after_failure(state: RunState, signal: Signal) -> Result:
    failure = _first_cause(state.failures)
    told = dataclasses.replace(
        _publish(
            state,
            signal,
            "rank_failed",
            host=failure.host,
            part=failure.part,
            cause=failure.cause,
            traceback=failure.traceback,
            log_tail=failure.log_tail,
        ),
        rank=failure.rank,
    )
    forgiven = failure.kind in ("lost", "peer", "silent") and state.restarts < state.limits.max_restarts
    if failure.kind == "memory" and state.memory_restarts < 1:
        forgiven, state = True, replace(state, memory_restarts=1)
    if not forgiven:
        ended = _end(
            state, signal, Status.FAILED, "run_failed", cause=failure.cause, rank=failure.rank, step=state.step
        )
        return ended[0], (told, *ended[1])
    state = replace(state, status=Status.RESTARTING, restarts=state.restarts + 1)
    again = _publish(
        state, signal, "run_restarting", attempt=state.restarts, from_step=state.resume_step, cause=failure.cause
    )
    return state, (told, again, SeekHosts())


def _first_cause(failures: tuple[Failure, ...]) -> Failure:
    """Return the first failure that is not the mere echo of another rank's end."""
    return next((failure for failure in failures if failure.kind != "peer"), failures[0])


# ---- what persons ask


def _control(state: RunState, signal: ControlAsked) -> Result:
    assert signal.kind in CONTROL_KINDS, signal.kind
    if signal.kind == "stop":
        return _stop(state, signal)
    if state.status not in (Status.RUNNING, Status.PAUSED) or state.stopping:
        text = f"{signal.kind} has no effect while the run is {state.status}"
        return state, (_publish(state, signal, "log_written", level="warning", text=text),)
    return _send_control(state, signal.kind)


def _send_control(state: RunState, kind: str) -> Result:
    message = {"op": "control", "kind": kind, "id": state.next_control}
    sent = SendToRank(generation=state.generation, rank=0, message=message)
    return replace(state, next_control=state.next_control + 1), (sent,)


def _stop(state: RunState, signal: ControlAsked) -> Result:
    out: list[Instruction] = []
    if not state.stopping:
        out.append(_publish(state, signal, "run_stopping", by=signal.by))
        state = replace(state, stopping=True)
    elif not signal.force:
        return state, ()
    if not state.live:
        state, more = _end(state, signal, Status.STOPPED, "run_stopped", step=state.step)
    elif signal.force or state.failing or state.status is Status.STARTING:
        state, more = _kill(state)
    else:
        state, more = _send_control(state, "stop")
        more = (*more, SetTimer(name="stop", generation=state.generation, delay_s=state.limits.stop_s))
    return state, (*out, *more)


# ---- time


def _timer(state: RunState, signal: TimerFired) -> Result:
    match signal.name:
        case "settle" | "stop":
            return _kill(state)
        case "abandon":
            return _settle_if_empty(replace(state, live=frozenset()), signal)
        case "start" if state.status is Status.STARTING:
            missing = sorted(state.live - state.ready)
            cause = f"ranks {missing} were not ready within {state.limits.start_s:.0f} s"
            return _hung(state, signal, missing, cause)
        case "watch" if state.status in (Status.RUNNING, Status.PAUSED):
            return _watch(state, signal)
    return state, ()


def _watch(state: RunState, signal: TimerFired) -> Result:
    limit = state.limits.silent_s
    again = SetTimer(name="watch", generation=state.generation, delay_s=limit / 4)
    silent = [k for k in sorted(state.live) if signal.time_s - state.heard_s[k] > limit]
    if not silent or state.status is Status.PAUSED:
        return state, (again,)
    return _hung(state, signal, silent, f"ranks {silent} gave no sign of life for {limit:.0f} s")


def _hung(state: RunState, signal: TimerFired, ranks: list[int], cause: str) -> Result:
    if state.failing or not ranks:
        return state, ()
    host = state.hosts[ranks[0]]
    failure = Failure(rank=ranks[0], kind="silent", cause=cause, host=f"{host.host} (worker {host.name})")
    state = replace(state, failing=True, failures=(failure,))
    return _kill(state)
