"""The runs of this home as a table, read from their folders alone."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from workbench.core.events import Event, of_kind
from workbench.runtime.ask import is_listening
from workbench.runtime.cluster import at_address
from workbench.runtime.run_folder import RunFolder, all_runs
from workbench.runtime.run_records import Status
from workbench.runtime.run_report import status_of

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("id", "status", "started", "epoch", "train_loss", "val_metric", "summary")


def runs_table() -> pd.DataFrame:
    """Return one row a run, the newest first; nothing of a run's folder is executed."""
    import pandas as pd

    answers: dict[str, bool] = {}
    return pd.DataFrame([_row(folder, answers) for folder in reversed(all_runs())], columns=list(COLUMNS))


def _row(folder: RunFolder, answers: dict[str, bool]) -> dict[str, Any]:
    events = folder.milestones()
    status = status_of(events)
    if not status.ended and not _is_supervised(folder, answers):
        status = Status.FAILED  # its scheduler is gone, and told no end
    epochs = list(of_kind(events, "epoch_finished"))
    last = epochs[-1].data if epochs else {}
    return {
        "id": folder.id,
        "status": str(status),
        "started": datetime.datetime.fromtimestamp(events[0].time_s).replace(microsecond=0) if events else None,
        "epoch": last.get("epoch", 0),
        "train_loss": last.get("train_loss", float("nan")),
        "val_metric": _latest_metric(epochs),
        "summary": folder.record["summary"],
    }


def _latest_metric(epochs: list[Event]) -> float:
    for event in reversed(epochs):
        for name, value in event.data["metrics"].items():
            if name.startswith("val_"):
                return float(value)
    return float("nan")


def is_at_work(folder: RunFolder) -> bool:
    """Say whether a run has not ended and its scheduler answers."""
    return not status_of(folder.milestones()).ended and _is_supervised(folder, {})


def _is_supervised(folder: RunFolder, answers: dict[str, bool]) -> bool:
    address = folder.cluster.get("address", "")
    if address not in answers:
        answers[address] = bool(address) and (at_address(address) is not None or is_listening(address))
    return answers[address]
