"""The records of runs to be compared: from runs, ids or folders, without executing anything of theirs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from workbench.core.errors import Findings
from workbench.dashboard.comparison import Comparison, RunRecord, record_of
from workbench.runtime.event_log import scan_log
from workbench.runtime.run_folder import RunFolder
from workbench.runtime.run_report import MILESTONES, status_of


def listed_runs(runs: Any) -> list[Any]:
    """Return runs, ids and folders as a list without doubles; one alone is a list of one."""
    alone = isinstance(runs, (str, Path)) or hasattr(runs, "subscribe")
    given = [runs] if alone else list(runs) if isinstance(runs, Iterable) else None
    findings = Findings("compare")
    if given is None:
        findings.add("runs", "runs, or ids that wb.runs() shows", type(runs).__name__, "pass a list of them")
        findings.raise_if_any()
    known: dict[str, Any] = {}
    for run in given or ():
        if isinstance(run, (str, Path)):
            folder = RunFolder(path=Path(run)) if (Path(run) / "events.log").is_file() else RunFolder.find(str(run))
            known.setdefault(folder.id, folder)
        elif hasattr(run, "subscribe"):
            known.setdefault(run.id, run)
        else:
            findings.add("runs", "runs, or ids that wb.runs() shows", type(run).__name__, "leave it out")
    findings.raise_if_any()
    return list(known.values())


def record(run: Any) -> RunRecord:
    """Return the record of a run, or of a folder, as it is now."""
    if isinstance(run, RunFolder):
        events = list(scan_log(run.log, {*MILESTONES, "run_created"}))
        return record_of(run.id, events, status=str(status_of(events)))
    milestones: Any = getattr(run, "milestones", None)
    config = run.config.to_json() if hasattr(run, "config") else None
    told = run.events if milestones is None else milestones
    return record_of(run.id, told, status=str(run.status), summary=getattr(run, "summary", ""), config=config)


def compare(runs: Any) -> Comparison:
    """Return runs beside each other: history, differing settings, time to a value, Pareto front.

    Parameters
    ----------
    runs : sequence of Run, str or Path
        Runs, their ids, or their folders.

    Raises
    ------
    InputError
        Where there is none, or one is unknown.
    """
    return Comparison([record(run) for run in listed_runs(runs)])
