"""What happened, in words."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from workbench.core.events import EVENT_KINDS, Event
from workbench.core.params import param
from workbench.core.units import format_bytes, format_count, format_seconds
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.panels.metrics import in_text
from workbench.dashboard.steps import STEP_COMPLETED
from workbench.dashboard.words import clipped, counted, rank_name, sampler_name, sentence

LEVELS = ("info", "saved", "warning", "failure", "restart")
_SILENT = frozenset(
    {
        *("step_finished", "batch_sampled", "resources_measured"),
        *("staleness_measured", "messages_counted", "rows_gathered", "traffic_predicted"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the log."""

    time_s: float
    step: int
    level: str
    where: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    entries: tuple[tuple[int, Entry], ...] = ()
    num_entries: int = 0
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    step: int = 0


@PANELS.register("log")
@dataclass(frozen=True, slots=True, kw_only=True)
class LogPanel(Panel[LogState]):
    """Starts, epochs, checkpoints, warnings, failures and restarts, newest first."""

    capacity: int = param(120, help="lines kept; warnings, failures and restarts outlive the others", minimum=10)
    kinds: ClassVar[frozenset[str]] = frozenset(EVENT_KINDS) - _SILENT | {STEP_COMPLETED}

    def initial(self) -> LogState:
        return LogState()

    def reduce(self, state: LogState, event: Event) -> LogState:
        if event.kind == STEP_COMPLETED:
            return dataclasses.replace(state, step=event.data["record"].step)
        level, where, text = _TELLERS[event.kind](event)
        step = event.data.get("step", event.data.get("from_step", state.step))
        entry = Entry(time_s=event.time_s, step=step, level=level, where=where, text=clipped(text))
        entries = (*state.entries, (state.num_entries, entry))
        return dataclasses.replace(
            state,
            entries=self._trimmed(entries),
            num_entries=state.num_entries + 1,
            counts=MappingProxyType({**state.counts, level: state.counts.get(level, 0) + 1}),
            step=step,
        )

    def _trimmed(self, entries: tuple[tuple[int, Entry], ...]) -> tuple[tuple[int, Entry], ...]:
        if len(entries) <= self.capacity:
            return entries
        plain = next((i for i, (_, entry) in enumerate(entries) if entry.level in ("info", "saved")), 0)
        return entries[:plain] + entries[plain + 1 :]

    def view(self, state: LogState) -> Mapping[str, Any]:
        return {
            "line": _line(state.counts),
            "num_entries": state.num_entries,
            "entries": {str(number): dataclasses.asdict(entry) for number, entry in state.entries},
        }


def _line(counts: Mapping[str, int]) -> str:
    told = [
        counted(counts[level], noun)
        for level, noun in (("failure", "failure"), ("restart", "restart"), ("warning", "warning"))
        if counts.get(level)
    ]
    return ", ".join(told) or "no warning, no failure"


Told = tuple[str, str, str]


def _created(event: Event) -> Told:
    return "info", "Run", f"Accepted: {event.data['summary']}"


def _gang_starting(event: Event) -> Told:
    workers = ", ".join(str(worker["worker"]) for worker in event.data["workers"])
    step = event.data["resume_step"]
    source = f" from the checkpoint of step {step:,}" if step else ""
    level = "restart" if event.generation else "info"
    return level, "Run", f"Starting {counted(len(event.data['workers']), 'rank')} on {workers}{source}"


def _rank_ready(event: Event) -> Told:
    data = event.data
    part = "" if data["part"] is None else f", part {data['part']}"
    threads = counted(data["num_threads"], "thread")
    return (
        "info",
        rank_name(event.rank),
        f"Ready on {data['worker']} ({data['host']}, {data['device']}, {threads}){part}",
    )


def _train_started(event: Event) -> Told:
    data = event.data
    parameters = format_count(data["num_parameters"])
    text = (
        f"{counted(data['num_epochs'], 'epoch')} of {counted(data['steps_per_epoch'], 'step')}, "
        f"{data['num_train_nodes']:,} training {data.get('unit', 'node')}s, {parameters} parameters"
    )
    return "info", "Run", text


def _epoch_finished(event: Event) -> Told:
    data = event.data
    metrics = "".join(f", {in_text(name)} {value:.3f}" for name, value in data["metrics"].items())
    return "info", "Run", f"Epoch {data['epoch']}: loss {data['train_loss']:.3g}{metrics}"


def _checkpoint_saved(event: Event) -> Told:
    return "saved", "Run", f"Checkpoint of step {event.data['step']:,}, {format_bytes(event.data['num_bytes'])}"


def _sampler_started(event: Event) -> Told:
    data = event.data
    served = "" if event.rank < 0 else f" for rank {event.rank}"
    return "info", sampler_name(data["sampler"], event.rank), f"Serves batches{served} from {data['worker']}"


def _sampler_lost(event: Event) -> Told:
    data = event.data
    reissued = data["reissued"]
    count = reissued if isinstance(reissued, int) else len(reissued or ())
    again = f"; {counted(count, 'batch')} made again elsewhere" if count else ""
    return "failure", sampler_name(data["sampler"], event.rank), f"Lost: {data['cause']}{again}"


def _log_written(event: Event) -> Told:
    level = {"info": "info", "warning": "warning"}.get(event.data["level"], "failure")
    return level, rank_name(event.rank), event.data["text"]


def _restarting(event: Event) -> Told:
    step = event.data["from_step"]
    source = f"the checkpoint of step {step:,}" if step else "the beginning"
    attempt = event.data["attempt"]  # 0: not after a failure
    return "restart", "Run", f"Attempt {attempt} from {source}" if attempt else f"Resumed from {source}"


def _finished(event: Event) -> Told:
    elapsed = format_seconds(event.data["elapsed_s"])
    return (
        "saved",
        "Run",
        f"Finished after {counted(event.data['step'], 'step')} and {elapsed} of training; model saved",
    )


_TELLERS: Mapping[str, Callable[[Event], Told]] = {
    "run_created": _created,
    "gang_starting": _gang_starting,
    "rank_ready": _rank_ready,
    "run_started": lambda e: ("info", "Run", f"All ranks ready, {format_seconds(e.data['start_s'])} after launch"),
    "train_started": _train_started,
    "epoch_finished": _epoch_finished,
    "checkpoint_saved": _checkpoint_saved,
    "sampler_started": _sampler_started,
    "sampler_lost": _sampler_lost,
    "rank_failed": lambda e: ("failure", rank_name(e.rank), f"{sentence(e.data['cause'])}, on {e.data['host']}"),
    "run_restarting": _restarting,
    "run_paused": lambda _: ("info", "Run", "Paused; ranks and samplers keep their memory"),
    "run_resumed": lambda _: ("info", "Run", "Goes on"),
    "run_stopping": lambda e: ("info", "Run", f"Stop asked for{' by ' + e.data['by'] if e.data['by'] else ''}"),
    "run_stopped": lambda e: ("info", "Run", f"Stopped after {counted(e.data['step'], 'step')}"),
    "run_finished": _finished,
    "run_failed": lambda e: ("failure", "Run", f"Failed: {e.data['cause']}"),
    "log_written": _log_written,
}
