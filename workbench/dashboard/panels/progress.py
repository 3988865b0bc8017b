"""Where a run stands: status, step, time left, and what happened on the way."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.core.events import EVENT_KINDS, Event
from workbench.core.units import format_seconds
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.steps import STEP_COMPLETED
from workbench.dashboard.words import counted, figure, median, recent

STATUS = {
    "run_created": "pending",
    "gang_starting": "starting",
    "run_started": "running",
    "run_paused": "paused",
    "run_resumed": "running",
    "run_restarting": "restarting",
    "run_finished": "finished",
    "run_stopped": "stopped",
    "run_failed": "failed",
}
ENDED = ("finished", "stopped", "failed")
MAX_MARKS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A happening on the time line of steps."""

    step: int
    text: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressState:
    """``furthest`` is the last step before a restart; ``step`` the last one that counts."""

    status: str = "pending"
    stopping: bool = False
    summary: str = ""
    name: str = ""
    world_size: int = 0
    evaluate_every: int = 1
    num_ready: int = 0
    num_epochs: int = 0
    steps_per_epoch: int = 0
    step: int = 0
    furthest: int = 0
    checkpoint_step: int | None = None
    attempt: int = 0
    created_s: float | None = None
    started_s: float | None = None
    ended_s: float | None = None
    heard_s: float | None = None
    step_s: tuple[float, ...] = ()
    evaluate_s: tuple[float, ...] = ()
    first_step_pending: bool = True
    marks: tuple[Mark, ...] = ()

    @property
    def num_steps(self) -> int:
        return self.num_epochs * self.steps_per_epoch

    @property
    def epoch(self) -> int:
        """Return the epoch at work, from 1 (the last one, once all steps are done)."""
        return min(self.step // self.steps_per_epoch + 1, self.num_epochs) if self.steps_per_epoch else 0


@PANELS.register("progress")
@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressPanel(Panel[ProgressState]):
    """Status, epochs and steps done, time left, failures and restarts on the time line."""

    kinds: ClassVar[frozenset[str]] = (
        frozenset(EVENT_KINDS)
        - {"step_finished", "batch_sampled", "staleness_measured", "messages_counted", "rows_gathered"}
    ) | {STEP_COMPLETED}

    def initial(self) -> ProgressState:
        return ProgressState()

    def reduce(self, state: ProgressState, event: Event) -> ProgressState:
        state = dataclasses.replace(state, heard_s=max(event.time_s, state.heard_s or 0.0))
        if event.kind in STATUS:
            state = _with_status(state, event)
        handler = _HANDLERS.get(event.kind)
        return state if handler is None else handler(state, event)

    def view(self, state: ProgressState) -> Mapping[str, Any]:
        names = ("status", "stopping", "summary", "name", "num_epochs", "steps_per_epoch", "num_steps", "step")
        more = ("furthest", "epoch", "checkpoint_step", "created_s", "started_s", "ended_s", "heard_s")
        return {
            **{name: getattr(state, name) for name in (*names, *more)},
            "line": f"step {state.step:,} of {state.num_steps:,}" if state.num_steps else state.status,
            "detail": _detail(state),
            "marks": [dataclasses.asdict(mark) for mark in state.marks],
            "restart": _restart_steps(state),
            "figures": [_step_figure(state), _time_figure(state)],
        }


def _with_status(state: ProgressState, event: Event) -> ProgressState:
    status = STATUS[event.kind]
    if status == "starting" and state.attempt:
        status = "restarting"  # a gang that starts again is still the same restart
    ended = event.time_s if status in ENDED else None  # a run that ended may be resumed
    started = event.time_s if event.kind == "run_started" and state.started_s is None else state.started_s
    return dataclasses.replace(state, status=status, ended_s=ended, started_s=started)


def _created(state: ProgressState, event: Event) -> ProgressState:
    config = event.data["config"]
    return dataclasses.replace(
        state,
        summary=event.data["summary"],
        name=config["name"],
        world_size=config["trainers"],
        evaluate_every=config["evaluate_every"],
        num_epochs=config["epochs"],
        created_s=event.time_s,
    )


def _gang_starting(state: ProgressState, event: Event) -> ProgressState:
    return dataclasses.replace(
        state, world_size=len(event.data["workers"]), num_ready=0, first_step_pending=True, step_s=()
    )


def _rank_ready(state: ProgressState, event: Event) -> ProgressState:
    return dataclasses.replace(state, num_ready=state.num_ready + 1)


def _train_started(state: ProgressState, event: Event) -> ProgressState:
    data = event.data
    return dataclasses.replace(state, num_epochs=data["num_epochs"], steps_per_epoch=data["steps_per_epoch"])


def _step_completed(state: ProgressState, event: Event) -> ProgressState:
    record = event.data["record"]
    return dataclasses.replace(
        state,
        step=record.step,
        furthest=max(state.furthest, record.step),
        step_s=recent(state.step_s, record.duration_s),
        first_step_pending=False,
    )


def _epoch_finished(state: ProgressState, event: Event) -> ProgressState:
    seconds = event.data["evaluate_s"]
    return dataclasses.replace(state, evaluate_s=recent(state.evaluate_s, seconds, 5)) if seconds else state


def _checkpoint_saved(state: ProgressState, event: Event) -> ProgressState:
    return dataclasses.replace(state, checkpoint_step=event.data["step"])


def _rank_failed(state: ProgressState, event: Event) -> ProgressState:
    how = "failed" if event.data["traceback"] else "lost"  # with its last words, or without
    return _marked(state, f"rank {event.rank} {how}", "fail")


def _sampler_lost(state: ProgressState, event: Event) -> ProgressState:
    return _marked(state, f"sampler {event.data['sampler']} lost", "warn")


def _restarting(state: ProgressState, event: Event) -> ProgressState:
    return dataclasses.replace(
        state, attempt=event.data["attempt"], step=event.data["from_step"], num_ready=0, first_step_pending=True
    )


def _stopping(state: ProgressState, event: Event) -> ProgressState:
    return dataclasses.replace(state, stopping=True)


def _marked(state: ProgressState, text: str, tone: str) -> ProgressState:
    mark = Mark(step=max(state.step, state.furthest), text=text, tone=tone)
    return dataclasses.replace(state, marks=recent(state.marks, mark, MAX_MARKS))


_HANDLERS = {
    "run_created": _created,
    "gang_starting": _gang_starting,
    "rank_ready": _rank_ready,
    "train_started": _train_started,
    "step_completed": _step_completed,
    "epoch_finished": _epoch_finished,
    "checkpoint_saved": _checkpoint_saved,
    "rank_failed": _rank_failed,
    "sampler_lost": _sampler_lost,
    "run_restarting": _restarting,
    "run_stopping": _stopping,
}


def _detail(state: ProgressState) -> str:
    """Return what stands beside the status."""
    match state.status:
        case "pending":
            return f"waits for {counted(state.world_size, 'free worker')}"
        case "starting":
            return f"{state.num_ready} of {counted(state.world_size, 'rank')} ready"
        case "restarting":
            return f"attempt {state.attempt}"
        case "paused":
            return f"after step {state.step:,}; ranks and samplers keep their memory"
    if state.status in ENDED:
        return f"after {format_seconds(_elapsed_s(state))}"
    return "stops after this step" if state.stopping else ""


def _elapsed_s(state: ProgressState) -> float:
    begin = state.started_s if state.started_s is not None else state.created_s
    end = state.ended_s if state.ended_s is not None else state.heard_s
    return max(0.0, end - begin) if begin is not None and end is not None else 0.0


def _restart_steps(state: ProgressState) -> list[dict[str, str]]:
    """Return how far a restart is: each part done, at work now, or still to come."""
    if not state.attempt or not state.first_step_pending or state.status in ENDED:
        return []
    source = "the beginning" if not state.step else f"checkpoint of step {state.step:,}"
    ready, all_ready = state.num_ready, state.status == "running"
    parts = [
        ("ranks ended", "done"),
        (f"starting ranks from the {source}, {ready} of {state.world_size}", "done" if all_ready else "now"),
        ("first step", "now" if all_ready else "todo"),
    ]
    return [{"text": text.replace("the the", "the"), "state": how} for text, how in parts]


def _step_figure(state: ProgressState) -> dict[str, Any]:
    hint = "Optimiser steps done; every rank takes the same number"
    unit = f"of {state.num_steps:,}" if state.num_steps else ""
    again = state.furthest - state.step
    if again > 0:
        detail = f"{counted(again, 'step')} run again"
    elif state.steps_per_epoch:
        done = state.step - (state.epoch - 1) * state.steps_per_epoch
        if done == 0 and state.step:
            detail = f"epoch {state.epoch - 1} of {state.num_epochs} done"
        else:
            detail = f"epoch {state.epoch} of {state.num_epochs}, step {done:,} of {state.steps_per_epoch:,}"
    else:
        detail = "not started"
    return figure("Step", f"{state.step:,}", unit=unit, detail=detail, hint=hint)


def _time_figure(state: ProgressState) -> dict[str, Any]:
    elapsed = f"{format_seconds(_elapsed_s(state))} elapsed" if state.started_s is not None else ""
    if state.status in ENDED:
        hint = "From the first step's start to the end, restarts included"
        return figure("Time", format_seconds(_elapsed_s(state)), detail=state.status, hint=hint)
    step_s = median(state.step_s)
    if step_s is None or not state.num_steps or state.status != "running":
        detail = "paused" if state.status == "paused" else elapsed if step_s else "known after a step"
        return figure("Time left", "unknown", detail=detail, tone="muted", hint="Needs the time of a step")
    evaluate_s = median(state.evaluate_s) or 0.0
    num_left = state.num_steps - state.step
    epochs_left = -(-num_left // state.steps_per_epoch)
    evaluations = epochs_left // state.evaluate_every if state.evaluate_every > 0 else min(epochs_left, 1)
    left_s = num_left * step_s + evaluations * evaluate_s
    hint = f"{num_left:,} steps at the median of the last 20, and {format_seconds(evaluate_s)} an evaluation"
    return figure("Time left", format_seconds(left_s), detail=elapsed, hint=hint)
