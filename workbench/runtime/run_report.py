"""What a run's events say of it: status, history, failure, and its card for a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from workbench.core.events import Event, of_kind
from workbench.core.units import format_seconds
from workbench.runtime.run_records import Status

if TYPE_CHECKING:
    import pandas as pd

    from workbench.runtime.run import Run

_STATUS = {
    "run_created": Status.PENDING,
    "gang_starting": Status.STARTING,
    "run_started": Status.RUNNING,
    "run_paused": Status.PAUSED,
    "run_resumed": Status.RUNNING,
    "run_restarting": Status.RESTARTING,
    "run_finished": Status.FINISHED,
    "run_stopped": Status.STOPPED,
    "run_failed": Status.FAILED,
}
MILESTONES = (*_STATUS, "train_started", "epoch_finished", "rank_failed")
_HISTORY = ("epoch", "step", "elapsed_s", "train_loss")


def status_of(events: Iterable[Event], before: Status = Status.PENDING) -> Status:
    """Return the status after some events."""
    for event in events:
        before = _STATUS.get(event.kind, before)
    return before


def history_of(events: Iterable[Event]) -> pd.DataFrame:
    """Return one row an epoch; where a restart repeated an epoch, its last telling counts."""
    import pandas as pd

    rows: dict[int, dict[str, Any]] = {}
    for event in of_kind(events, "epoch_finished"):
        data = event.data
        row = {name: data[name] for name in _HISTORY} | dict(data["metrics"])
        row |= {f"bytes_{kind}": count for kind, count in data["bytes"].items()}
        rows[data["epoch"]] = row
    names = dict.fromkeys(name for row in rows.values() for name in row)
    metrics = sorted((n for n in names if n.startswith(("val_", "test_"))), key=lambda n: not n.startswith("val_"))
    counts = sorted(n for n in names if n.startswith("bytes_"))
    frame = pd.DataFrame([rows[epoch] for epoch in sorted(rows)], columns=[*_HISTORY, *metrics, *counts])
    for name in counts:
        frame[name] = frame[name].fillna(0)
    return frame.astype(dict.fromkeys(("epoch", "step", *counts), "int64"))


def failure_text(run_id: str, events: list[Event]) -> str:
    """Say what went wrong: rank, host, cause, traceback, last lines of output."""
    failed = list(of_kind(events, "rank_failed"))
    ended = list(of_kind(events, "run_failed"))
    if not ended:
        return f"run {run_id} failed: its scheduler is gone before the run told an end"
    lines = [f"run {run_id} failed: {ended[-1].data['cause']}"]
    if failed:
        event = failed[-1]
        lines.append(f"rank {event.rank} on {event.data['host']}, generation {event.generation}")
        for title, key in (("traceback", "traceback"), ("last lines of its output", "log_tail")):
            text = str(event.data[key]).strip()
            if text and not (key == "log_tail" and event.data["traceback"]):
                lines += [f"{title}:", text]
    return "\n".join(lines)


def text_of(run: Run) -> str:
    """Return a run as two lines of text."""
    return f"Run {run.id}: {run.status}\n  {run.summary}\n  {progress_of(run.milestones)}"


def progress_of(events: list[Event]) -> str:
    """Say how far a run came and how well it does."""
    epochs = list(of_kind(events, "epoch_finished"))
    begun = next(of_kind(events, "train_started"), None)
    if not epochs:
        return "no epoch finished yet"
    last = epochs[-1].data
    total = f" of {begun.data['num_epochs']}" if begun else ""
    metrics: dict[str, float] = next((e.data["metrics"] for e in reversed(epochs) if e.data["metrics"]), {})
    figures = [] if last["train_loss"] is None else [f"loss {last['train_loss']:.4f}"]
    figures += [f"{name.replace('_', ' ')} {value:.4f}" for name, value in metrics.items()]
    return f"epoch {last['epoch']}{total}, {format_seconds(last['elapsed_s'])}: {', '.join(figures)}"


_COLOURS = {"finished": "#1a7f37", "failed": "#cf222e", "stopped": "#8a6100", "paused": "#8a6100"}


def html_of(run: Run) -> str:
    """Return a run as a card; everything from outside is escaped."""
    colour = _COLOURS.get(run.status, "#0969da")
    failure = ""
    if run.status == Status.FAILED:
        text = html.escape(failure_text(run.id, run.milestones))
        failure = f'<pre style="margin:8px 0 0;white-space:pre-wrap;font-size:12px">{text}</pre>'
    return (
        '<div style="border:1px solid var(--jp-border-color1,#d0d7de);border-radius:6px;padding:10px 14px;'
        'max-width:760px;font-family:var(--jp-ui-font-family,sans-serif)">'
        f"<div><b>Run</b> <code>{html.escape(run.id)}</code> "
        f'<span style="background:{colour};color:#fff;border-radius:10px;padding:1px 9px;font-size:12px">'
        f"{run.status}</span></div>"
        f'<div style="margin-top:4px">{html.escape(run.summary)}</div>'
        f'<div style="margin-top:4px;opacity:.8">{html.escape(progress_of(run.milestones))}</div>{failure}</div>'
    )
