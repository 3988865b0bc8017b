"""A run's events as named numbers over steps: what trackers of experiments take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workbench.core.events import Event
from workbench.dashboard.panels.staleness import mean_age
from workbench.dashboard.steps import StepAssembler, StepRecord, with_completed_steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar:
    """One number: ``name`` with slashes as trackers group them, the global step, Unix time."""

    name: str
    value: float
    step: int
    time_s: float


class ScalarStream:
    """Turns events into scalars; a step is told once all ranks have told their share."""

    def __init__(self) -> None:
        self._assembler, self._step = StepAssembler(), 0

    def take(self, events: Iterable[Event]) -> Iterator[Scalar]:
        """Yield the scalars of further events, in order."""
        for event, assembler in with_completed_steps(events, self._assembler):
            self._assembler = assembler
            if event.kind == "run_restarting":
                self._step = event.data["from_step"]
            for name, value, step in self._told(event):
                yield Scalar(name=name, value=float(value), step=step, time_s=event.time_s)

    def _told(self, event: Event) -> Iterator[tuple[str, float, int]]:
        data = event.data
        match event.kind:
            case "step_completed":
                self._step = data["record"].step
                yield from ((name, value, self._step) for name, value in _of_step(data["record"]))
            case "epoch_finished":
                told = {"epoch": data["epoch"], **data["metrics"], "evaluate_s": data["evaluate_s"]}
                if data["train_loss"] is not None:
                    told["train_loss"] = data["train_loss"]
                yield from ((f"epoch/{name}", value, data["step"]) for name, value in told.items())
            case "resources_measured":
                process = f"{data['role']}_{data['index']}"
                yield f"memory/{process}_bytes", data["rss_bytes"], self._step
                yield f"load/{process}_cpu_percent", data["cpu_percent"], self._step
            case "staleness_measured":
                age = mean_age(dict(zip(data["ages"], data["counts"], strict=True)))
                if age is not None:
                    yield f"staleness/{data['source']}_rank_{event.rank}", age, data["step"]
            case "rows_gathered":
                remote = data["num_cached"] + data["num_remote"]
                if remote:
                    yield f"cache/hit_ratio_rank_{event.rank}", data["num_cached"] / remote, data["step"]
            case "values_logged":
                step = self._step if data["step"] is None else data["step"]
                yield from ((f"user/{name}_rank_{event.rank}", value, step) for name, value in data["values"].items())


def _of_step(record: StepRecord) -> Iterator[tuple[str, float]]:
    weight = sum(seeds for _, seeds in record.losses)
    if weight:
        yield "step/train_loss", sum(loss * seeds for loss, seeds in record.losses) / weight
    if record.duration_s > 0:
        yield "step/seeds_per_s", record.num_seeds / record.duration_s
    yield "step/duration_s", record.duration_s
    for kind in sorted({kind for rank in record.ranks for kind in rank.bytes}):
        yield f"bytes/{kind}", sum(rank.bytes.get(kind, 0) for rank in record.ranks)
    for phase in sorted({phase for rank in record.ranks for phase in rank.phase_s}):
        yield f"phase_s/{phase}", sum(rank.phase_s.get(phase, 0.0) for rank in record.ranks) / len(record.ranks)
