"""Where a run that nobody supervises any more goes on: read from its log and its checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from workbench.core.errors import Findings
from workbench.core.events import Event
from workbench.runtime.event_log import scan_log
from workbench.runtime.run_folder import RunFolder
from workbench.runtime.run_records import RunState, Status
from workbench.runtime.run_report import status_of

_TOLD = ("gang_starting", "step_finished", "epoch_finished")


@dataclass(frozen=True, slots=True, kw_only=True)
class Continuation:
    """What a new supervisor must know of a run.

    Parameters
    ----------
    generation : int
        The last start of a gang, or -1.
    resume_step : int
        Step of the checkpoint to go on from, 0 for the beginning.
    elapsed_s : float
        Seconds of training that the log tells.
    """

    generation: int
    resume_step: int
    elapsed_s: float


def continuation_of(events: Iterable[Event], checkpoint_steps: Iterable[int], world_size: int) -> Continuation:
    """Choose the newest checkpoint up to which every rank has told its steps: so that none is missing in the log.

    Parameters
    ----------
    events : iterable of Event
        The run's log.
    checkpoint_steps : iterable of int
        Steps of the complete checkpoints on disk.
    world_size : int
    """
    generation, told, elapsed_s = -1, [0] * world_size, 0.0
    for event in events:
        match event.kind:
            case "gang_starting":
                generation = event.generation
                told = [int(event.data["resume_step"])] * world_size
            case "step_finished" if event.rank < world_size:
                told[event.rank] = max(told[event.rank], int(event.data["step"]))
            case "epoch_finished":
                elapsed_s = float(event.data["elapsed_s"])
    usable = [step for step in checkpoint_steps if step <= min(told)]
    return Continuation(generation=generation, resume_step=max(usable, default=0), elapsed_s=elapsed_s)


def continued(state: RunState, folder: RunFolder) -> tuple[RunState, Event]:
    """Return the state of a run that another scheduler left, or that had ended, and the event that tells so."""
    found = continuation_of(scan_log(folder.log, _TOLD), folder.checkpoint_steps, state.world_size)
    data = {"attempt": 0, "from_step": found.resume_step, "cause": "a person resumed the run"}
    told = Event(kind="run_restarting", time_s=state.created_s, generation=max(0, found.generation), data=data)
    state = state.with_(
        status=Status.RESTARTING,
        generation=found.generation,
        resume_step=found.resume_step,
        step=found.resume_step,
        elapsed_s=found.elapsed_s,
    )
    return state, told


def check_resumable(run_id: str, events: Sequence[Event], *, is_supervised: bool) -> None:
    """Refuse a run that is at work, or that has nothing left to do.

    Raises
    ------
    InputError
    """
    findings, status = Findings(f"resume({run_id!r})"), status_of(events)
    if status == "finished":
        fix = "launch anew with more epochs; run.model() has its weights"
        findings.add("run_id", "a run with epochs left", "a finished run", fix)
    elif is_supervised and not status.ended:
        findings.add("run_id", "a run that nobody trains", f"one that is {status}", "wb.attach(run_id) shows it live")
    findings.raise_if_any()
