"""The life of a run as a pure function: ``transition(state, signal) -> (state, instructions)``.

No clock, no input, no output: time comes with the signal. The run manager feeds it and does what it says; tests
replay sequences through it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from workbench.core.control import CONTROL_KINDS
from workbench.core.events import RUN
from workbench.runtime.run_failures import exited, hung, kill, settle_if_empty, still, worker_lost
from workbench.runtime.run_records import (
    ControlAsked,
    HostsOffered,
    Instruction,
    Publish,
    RankExited,
    RankReported,
    RankStill,
    RankTold,
    Result,
    RunState,
    SendToRank,
    SetTimer,
    Signal,
    StartRanks,
    Status,
    StoreOpened,
    TimerFired,
    WorkerLost,
)

# Threads beside the training loop tell these, also where the loop hangs.
_NO_SIGN_OF_LIFE = frozenset({"resources_measured", "sampler_started", "sampler_lost"})


def transition(state: RunState, signal: Signal) -> Result:
    """Return the state after a signal, and what has to be done now."""
    if state.status.ended:
        return state, ()
    generation = getattr(signal, "generation", None)
    if generation is not None and (generation != state.generation or generation < 0):
        return state, ()  # a straggler of an earlier gang
    return _HANDLERS[type(signal)](state, signal)


def _hosts_offered(state: RunState, signal: HostsOffered) -> Result:
    waits = state.status in (Status.PENDING, Status.RESTARTING) and not state.live
    if not waits or len(signal.hosts) < state.world_size or signal.num_samplers < state.num_samplers:
        return state, ()
    hosts = signal.hosts[: state.world_size]
    state = state.with_(
        status=Status.STARTING,
        generation=state.generation + 1,
        hosts=hosts,
        live=frozenset(range(state.world_size)),
        ready=frozenset(),
        reports=(),
        failures=(),
        failing=False,
        killed=False,
        step=state.resume_step,
        saved_steps=(),
        told_steps=(state.resume_step,) * state.world_size,
        heard_s=(signal.time_s,) * state.world_size,
        warned=frozenset(),
    )
    workers = [{"rank": k, "worker": host.name, "host": host.host} for k, host in enumerate(hosts)]
    return state, (
        state.publish(signal, "gang_starting", workers=workers, resume_step=state.resume_step),
        StartRanks(generation=state.generation, hosts=hosts, resume_step=state.resume_step),
        SetTimer(name="start", generation=state.generation, delay_s=state.limits.start_s),
    )


def _store_opened(state: RunState, signal: StoreOpened) -> Result:
    message = {"op": "store", "host": signal.host, "port": signal.port}
    others = sorted(state.live - {0})
    return state, tuple(SendToRank(generation=state.generation, rank=k, message=message) for k in others)


# ---- what ranks tell


def _told(state: RunState, signal: RankTold) -> Result:
    if signal.kind not in _NO_SIGN_OF_LIFE:
        heard = tuple(signal.time_s if k == signal.rank else time_s for k, time_s in enumerate(state.heard_s))
        state = state.with_(heard_s=heard)
    event = Publish(
        kind=signal.kind, time_s=signal.time_s, generation=signal.generation, rank=signal.rank, data=signal.data
    )
    match signal.kind:
        case "rank_ready":
            return _ready(state, signal, event)
        case "checkpoint_saved":
            saved = (*state.saved_steps, int(signal.data["step"]))  # rank 0 tells it when the file is complete
            return _count_checkpoints(state.with_(saved_steps=saved), event)
        case "step_finished":
            step = int(signal.data["step"])
            told = tuple(step if k == signal.rank else before for k, before in enumerate(state.told_steps))
            return _count_checkpoints(state.with_(step=max(state.step, step), told_steps=told), event)
        case "epoch_finished":
            return state.with_(elapsed_s=float(signal.data["elapsed_s"])), (event,)
        case "run_paused":
            return _once(state, Status.RUNNING, Status.PAUSED, event)
        case "run_resumed":
            return _once(state, Status.PAUSED, Status.RUNNING, event)
    return state, (event,)


def _count_checkpoints(state: RunState, event: Publish) -> Result:
    """Let the newest checkpoint count that every rank has told the steps before, and rank 0 keep that one."""
    covered = [step for step in state.saved_steps if step <= min(state.told_steps)]
    if not covered:
        return state, (event,)
    waiting = tuple(step for step in state.saved_steps if step not in covered)
    state = state.with_(saved_steps=waiting, resume_step=max([*covered, state.resume_step]))
    message = {"op": "counted", "step": state.resume_step}
    return state, (event, SendToRank(generation=state.generation, rank=0, message=message))


def _ready(state: RunState, signal: RankTold, event: Publish) -> Result:
    state = state.with_(ready=state.ready | {signal.rank})
    if (part := signal.data.get("part")) is not None:
        state = state.with_(parts=MappingProxyType({**state.parts, signal.rank: part}))
    is_ending = state.killed or state.stopping
    if len(state.ready) < state.world_size or state.status is not Status.STARTING or is_ending:
        return state, (event,)
    state = state.with_(status=Status.RUNNING)
    started = state.publish(signal, "run_started", start_s=signal.time_s - state.created_s)
    return state, (event, started, _watch_again(state))


def _once(state: RunState, before: Status, after: Status, event: Publish) -> Result:
    """Tell as the run's what several ranks may tell."""
    if state.status is not before:
        return state, ()
    heard = (event.time_s,) * state.world_size  # a paused run is silent by right
    return state.with_(status=after, heard_s=heard), (dataclasses.replace(event, rank=RUN),)


def _reported(state: RunState, signal: RankReported) -> Result:
    step, elapsed_s = max(state.step, signal.step), max(state.elapsed_s, signal.elapsed_s)
    return state.with_(reports=(*state.reports, signal), step=step, elapsed_s=elapsed_s), ()


# ---- what persons ask


def _control(state: RunState, signal: ControlAsked) -> Result:
    assert signal.kind in CONTROL_KINDS, signal.kind
    if signal.kind == "stop":
        return _stop(state, signal)
    if state.status not in (Status.RUNNING, Status.PAUSED) or state.stopping:
        text = f"{signal.kind} has no effect while the run is {'stopping' if state.stopping else state.status}"
        return state, (state.publish(signal, "log_written", level="warning", text=text),)
    return _send_control(state, signal.kind)


def _send_control(state: RunState, kind: str) -> Result:
    message = {"op": "control", "kind": kind, "id": state.next_control}
    sent = SendToRank(generation=state.generation, rank=0, message=message)
    return state.with_(next_control=state.next_control + 1), (sent,)


def _stop(state: RunState, signal: ControlAsked) -> Result:
    """Ask for a cooperative stop with a deadline; what cannot answer, or must not, is killed."""
    told: tuple[Instruction, ...] = ()
    if not state.stopping:
        told = (state.publish(signal, "run_stopping", by=signal.by),)
        state = state.with_(stopping=True)
    elif not signal.force:
        return state, ()
    if not state.live:
        state, more = state.end(signal, Status.STOPPED, "run_stopped", step=state.step)
    elif signal.force or state.failing or state.status is Status.STARTING:
        state, more = kill(state, again=signal.force)
    else:
        state, more = _send_control(state, "stop")
        more = (*more, SetTimer(name="stop", generation=state.generation, delay_s=state.limits.stop_s))
    return state, (*told, *more)


# ---- time


def _timer(state: RunState, signal: TimerFired) -> Result:
    match signal.name:
        case "settle" | "stop":
            return kill(state)
        case "abandon":
            return settle_if_empty(state.with_(live=frozenset()), signal)
        case "start" if state.status is Status.STARTING:
            missing = sorted(state.live - state.ready)
            cause = f"ranks {missing} were not ready within {state.limits.start_s:g} s"
            return hung(state, missing, cause, "error")  # they would not be the next time
        case "watch" if state.status in (Status.RUNNING, Status.PAUSED):
            return _watch(state, signal)
    return state, ()


def _watch(state: RunState, signal: TimerFired) -> Result:
    limit = state.limits.silent_s
    silent = [k for k in sorted(state.live) if signal.time_s - state.heard_s[k] > limit]
    if not silent or state.status is Status.PAUSED:
        return state, (_watch_again(state),)
    return hung(state, silent, f"ranks {silent} gave no sign of life for {limit:g} s")


def _watch_again(state: RunState) -> SetTimer:
    return SetTimer(name="watch", generation=state.generation, delay_s=state.limits.silent_s / 4)


_HANDLERS: dict[type[Signal], Callable[[RunState, Any], Result]] = {
    HostsOffered: _hosts_offered,
    StoreOpened: _store_opened,
    RankTold: _told,
    RankReported: _reported,
    RankExited: exited,
    RankStill: still,
    WorkerLost: worker_lost,
    ControlAsked: _control,
    TimerFired: _timer,
}
