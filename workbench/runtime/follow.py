"""Follow a run in a terminal: a line an epoch, and what a person should know."""

from __future__ import annotations

import json
import queue
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.core.config import RunConfig
from workbench.core.errors import Findings
from workbench.core.events import Event
from workbench.core.units import format_seconds
from workbench.runtime.run import Run

LOOK_S = 0.1  # an interrupt is heard between two looks


def read_config(path: Path) -> tuple[RunConfig, str]:
    """Return the configuration and the summary that a run's ``config.json`` holds.

    Raises
    ------
    InputError
        Where there is no such file, or it is no configuration, or its model is a module of the user's: code that lies
        beside it and is not run from here.
    """
    path = path / "config.json" if path.is_dir() else path
    findings = Findings(f"run {path}")
    try:
        record: dict[str, Any] = json.loads(path.read_text())
        config = RunConfig.from_json(record["config"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        got = f"{type(error).__name__}: {error}"
        findings.add(
            "config", "the config.json of a run", got, "take that of a run's folder, in python -m workbench runs"
        )
        findings.raise_if_any()
    if config.model.name == "custom":
        fix = f"python -m workbench resume, or launch it from code: python -m workbench export {path.parent.name}"
        findings.add("config.model", "a model with a name", "a module of the user's", fix)
    if not (Path(config.graph.folder) / "graph.json").is_file():
        fix = "open or save the graph again: wb.Graph.save(folder)"
        findings.add("config.graph.folder", "a graph's folder", f"none at {config.graph.folder}", fix)
    findings.raise_if_any()
    return config, str(record.get("summary", ""))


def events_of(run: Run) -> Iterator[Event]:
    """Yield every event of a run, on the caller's thread, as it comes, until the run has ended."""
    events: queue.SimpleQueue[list[Event]] = queue.SimpleQueue()
    unsubscribe = run.subscribe(events.put, replay=True)
    try:
        while True:
            ended = run.has_ended
            try:
                yield from events.get(timeout=LOOK_S)
            except queue.Empty:
                if ended:
                    return
    finally:
        unsubscribe()


def follow(run: Run) -> int:
    """Print what happens until the run ends; return 0 where it finished. An interrupt lets go of it."""
    _say(f"run {run.id}: {run.summary}")
    try:
        for event in events_of(run):
            if line := line_of(event):
                _say(line)
    except KeyboardInterrupt:
        _say(f"\nlet go of run {run.id}, which goes on: python -m workbench attach {run.id}, or stop {run.id}")
        return 130
    if run.status == "failed":
        run.wait(1.0)  # raises with the cause
    _say(f"{run.status}: {run.folder}")
    return 0 if run.status == "finished" else 1


def line_of(event: Event) -> str:
    """Return an event as a line for a terminal, or nothing where it is of no interest there."""
    data = event.data
    match event.kind:
        case "epoch_finished":
            loss = "" if data["train_loss"] is None else f"loss {data['train_loss']:.4f}  "
            metrics = "  ".join(f"{name} {value:.4f}" for name, value in data["metrics"].items())
            return f"epoch {data['epoch']:>4}  {format_seconds(data['elapsed_s']):>8}  {loss}{metrics}".rstrip()
        case "output_written":
            return "\n".join(f"[rank {event.rank}] {line}" for line in data["text"].splitlines())
        case "log_written" if data["level"] != "info":
            return f"{data['level']}: {data['text']}"
        case "rank_failed":
            return f"rank {event.rank} on {data['host']} failed: {data['cause']}"
        case "run_restarting":
            return f"starts again from step {data['from_step']:,}: {data['cause']}"
        case "run_paused" | "run_resumed" | "run_stopping":
            return event.kind.removeprefix("run_")
    return ""


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
