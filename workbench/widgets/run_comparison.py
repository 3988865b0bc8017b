"""RunComparison: runs over one another, what differs between them, who is best at what cost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.dashboard.comparison import COSTS, Comparison
from workbench.widgets.asks import Progress, answers
from workbench.widgets.base import WorkbenchWidget, asset
from workbench.widgets.comparison_export import exported, write
from workbench.widgets.comparison_records import listed_runs, record
from workbench.widgets.comparison_static import metric_words, run_rows, static_html, text_summary, verdict
from workbench.widgets.dashboard_run import ENDED

logger = logging.getLogger(__name__)
LOOK_EVERY_S = 2.0
MAX_POINTS = 512  # of a curve; longer ones are thinned for the view, never for an export


class RunComparison(WorkbenchWidget):
    """Runs over one another by step, epoch, seconds or bytes.

    The curves of a metric, who reaches a value first, settings that differ, and a Pareto plot of the best value
    against its cost; as CSV, Parquet and HTML, and its pictures as PNG. Runs at work move on as their epochs end.

    Parameters
    ----------
    runs : sequence of Run, str or Path
        Runs, their ids, or their folders.

    Raises
    ------
    InputError
        Where there is none, or one is unknown.
    """

    _esm = asset("run_comparison.js")

    def __init__(self, runs: Any) -> None:
        self._runs = listed_runs(runs)
        self._comparison = Comparison([record(run) for run in self._runs])
        self._closed = threading.Event()
        super().__init__(_live=False)
        if any(self._is_at_work(run) for run in self._runs):
            threading.Thread(target=self._follow, name="workbench-comparison", daemon=True).start()

    @property
    def comparison(self) -> Comparison:
        """Return what is shown, as tables: history, differences, time_to(...), pareto(...)."""
        return self._comparison

    def export(self, path: str | Path, *, metric: str | None = None) -> Path:
        """Write the history to a .csv or .parquet file, or the picture to an .html file; return its path.

        Raises
        ------
        InputError
            Where the file's name ends in something else.
        """
        return write(self._comparison, path, metric)

    @staticmethod
    def _is_at_work(run: Any) -> bool:
        return hasattr(run, "subscribe") and str(run.status) not in ENDED

    def _follow(self) -> None:
        """Look for finished epochs until no run is at work."""
        try:
            while not self._closed.wait(LOOK_EVERY_S):
                at_work = any(self._is_at_work(run) for run in self._runs)
                self.look()
                if not at_work:
                    return
        except Exception:
            logger.exception("the comparison of runs stopped following them")

    def look(self) -> bool:
        """Take in what runs have measured since; return whether anything changed."""
        records = [record(run) if hasattr(run, "subscribe") else old for run, old in self._with_old()]
        if records == list(self._comparison.records):
            return False
        with self.state_lock:
            self._comparison = Comparison(records)
            self.refresh()
        return True

    def _with_old(self) -> list[tuple[Any, Any]]:
        return list(zip(self._runs, self._comparison.records, strict=True))

    def snapshot(self) -> Mapping[str, Any]:
        """Return every run's curves as arrays, the tables, and the metrics that can be chosen."""
        comparison = self._comparison
        metrics = comparison.metrics
        return {
            "metrics": [{"name": name, "title": metric_words(name), "lower": self._lower(name)} for name in metrics],
            "runs": [
                {"run": r.id, "status": r.status, "summary": r.summary, "points": _curves(r.rows, metrics)}
                for r in comparison.records
            ],
            "targets": {name: comparison.usual_target(name) for name in metrics},
            "verdicts": {name: verdict(comparison, name) for name in metrics},
            "best": {
                name: [None if row is None else {c: row[c] for c in (*COSTS, name)} for row in comparison.best(name)]
                for name in metrics
            },
            "rows": {name: run_rows(comparison, name, comparison.usual_target(name)) for name in metrics},
            "differences": comparison.differing(),
        }

    def _lower(self, metric: str) -> bool:
        return self._comparison.is_lower_better(metric)

    @answers("reached")
    def _reached(self, _progress: Progress, *, metric: str, target: float) -> Mapping[str, Any]:
        name = self._comparison.checked(metric)
        return {"rows": run_rows(self._comparison, name, float(target))}

    @answers("file")
    def _file(self, _progress: Progress, *, form: str, metric: str | None = None) -> Mapping[str, Any]:
        return {"bytes": exported(self._comparison, form, metric), "name": f"runs.{form}"}

    def static_html(self) -> str:
        """Return the comparison as HTML and SVG without scripts."""
        return static_html(self._comparison)

    def text_summary(self) -> str:
        """Return the comparison in a sentence."""
        return text_summary(self._comparison)

    def close(self) -> None:
        """Stop following the runs, and free the widget."""
        if hasattr(self, "_closed"):
            self._closed.set()
        super().close()


def _curves(rows: Any, metrics: list[str]) -> dict[str, np.ndarray]:
    """Return {metric: float64 (points, 5)}: step, epoch, elapsed_s, bytes, value, where it was measured."""
    curves = {}
    for name in metrics:
        told = [[*(row[cost] for cost in COSTS), row[name]] for row in rows if row.get(name) is not None]
        every = -(-len(told) // MAX_POINTS)
        kept = told[:: max(every, 1)] + (told[-1:] if every > 1 and (len(told) - 1) % every else [])
        curves[name] = np.array(kept, np.float64).reshape(-1, len(COSTS) + 1)
    return curves
