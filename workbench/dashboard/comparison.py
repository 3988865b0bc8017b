"""Runs beside each other: what they measured by epoch, how their settings differ, who is best at what cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workbench.core.errors import Findings
from workbench.core.events import Event

if TYPE_CHECKING:
    import pandas as pd

LOSS = "train_loss"
COSTS = ("step", "epoch", "elapsed_s", "bytes")
_NO_DIFFERENCE = ("format", "name", "graph.folder")  # they decide no result


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """What a comparison needs of a run: ``rows`` has one mapping an epoch, with ``bytes`` summed since the start."""

    id: str
    status: str = ""
    summary: str = ""
    config: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    rows: tuple[Mapping[str, Any], ...] = ()
    main: str = ""  # the metric that counts first (accuracy, f1, ...)
    lower_is_better: frozenset[str] = frozenset()


def record_of(
    run_id: str,
    events: Iterable[Event],
    *,
    status: str = "",
    summary: str = "",
    config: Mapping[str, Any] | None = None,
) -> RunRecord:
    """Return the record of a run from its events; where a restart repeated an epoch, its last telling counts."""
    epochs: dict[int, Mapping[str, Any]] = {}
    main, lower = "", frozenset[str]()
    for event in events:
        if event.kind == "epoch_finished":
            epochs[event.data["epoch"]] = event.data
        elif event.kind == "train_started":
            main, lower = str(event.data["metric"]), frozenset(event.data.get("lower_is_better", ()))
        elif event.kind == "run_created" and config is None:
            config, summary = event.data["config"], summary or event.data["summary"]
    rows, moved = [], 0
    for epoch in sorted(epochs):
        data = epochs[epoch]
        moved += sum(count for kind, count in data["bytes"].items() if not kind.endswith("_modelled"))
        row = {name: data[name] for name in ("epoch", "step", "elapsed_s", LOSS)}
        rows.append(MappingProxyType({**row, "bytes": moved, **data["metrics"]}))
    return RunRecord(
        id=run_id,
        status=status,
        summary=summary,
        config=config or {},
        rows=tuple(rows),
        main=main,
        lower_is_better=lower,
    )


def flattened(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """``{'strategy': {'name': 'x', 'params': {'q': 1}}} -> {'strategy': 'x', 'strategy.q': 1}``."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        name = prefix if key in ("params", "name") and prefix else f"{prefix}.{key}" if prefix else key
        if isinstance(value, Mapping):
            flat |= flattened(value, name)
        else:
            flat[name] = value
    return flat


class Comparison:
    """Runs beside each other.

    Parameters
    ----------
    records : sequence of RunRecord
        In the order in which they are shown.
    """

    def __init__(self, records: Sequence[RunRecord]) -> None:
        if not records:
            findings = Findings("compare")
            findings.add("runs", "at least one run", "none", "pass runs, or ids that wb.runs() shows")
            findings.raise_if_any()
        self.records = tuple(records)

    @property
    def metrics(self) -> list[str]:
        """Return what can be compared: the metric that counts first of the first run, other metrics, the loss."""
        names = dict.fromkeys(name for record in self.records for row in record.rows for name in row)
        found = [name for name in names if name not in COSTS]
        first = f"val_{next((record.main for record in self.records if record.main), '')}"
        return sorted(found, key=lambda name: (name != first, name == LOSS, not name.startswith("val_"), name))

    @property
    def history(self) -> pd.DataFrame:
        """Return one row a run and epoch: run, epoch, step, elapsed_s, bytes (since the start), losses, metrics."""
        import pandas as pd

        rows = [{"run": record.id, **row} for record in self.records for row in record.rows]
        frame = pd.DataFrame(rows, columns=["run", "epoch", "step", "elapsed_s", "bytes", *self.metrics])
        return frame.astype(dict.fromkeys([LOSS, *self.metrics], "float64")) if LOSS in frame else frame

    @property
    def differences(self) -> pd.DataFrame:
        """Return the configuration where runs differ: one row a setting, one column a run; empty where none does."""
        import pandas as pd

        return pd.DataFrame(self.differing(), columns=["setting", *(record.id for record in self.records)])

    def differing(self) -> list[dict[str, Any]]:
        """Return the same as mappings: ``{"setting": name, run id: value, ...}``."""
        flat = {record.id: flattened(record.config) for record in self.records}
        names = dict.fromkeys(name for config in flat.values() for name in config)
        rows = []
        for name in names:
            values = {run_id: _text(config.get(name)) for run_id, config in flat.items()}
            if name not in _NO_DIFFERENCE and len(set(values.values())) > 1:
                rows.append({"setting": name, **values})
        return rows

    def is_lower_better(self, metric: str) -> bool:
        """Say whether less of a metric is better."""
        lower = {name for record in self.records for name in record.lower_is_better}
        return metric == LOSS or metric.partition("_")[2] in lower

    def best(self, metric: str) -> list[dict[str, Any] | None]:
        """Return for each run the row of its best epoch by a metric, or None where it was never measured."""
        sign = -1 if self.is_lower_better(metric) else 1
        found: list[dict[str, Any] | None] = []
        for record in self.records:
            rows = [row for row in record.rows if is_number(row.get(metric))]
            found.append(dict(max(rows, key=lambda row: sign * row[metric])) if rows else None)
        return found

    def usual_target(self, metric: str) -> float | None:
        """Return what every run reaches that measured the metric: the worst of their best values."""
        values = [row[metric] for row in self.best(metric) if row is not None]
        return (max(values) if self.is_lower_better(metric) else min(values)) if values else None

    def reached(self, metric: str, target: float) -> list[dict[str, Any] | None]:
        """Return for each run the row of the first epoch at which a metric was at least as good, or None."""
        sign = -1 if self.is_lower_better(metric) else 1
        return [
            next(
                (dict(row) for row in record.rows if is_number(row.get(metric)) and sign * (row[metric] - target) >= 0),
                None,
            )
            for record in self.records
        ]

    def time_to(self, metric: str | None = None, target: float | None = None) -> pd.DataFrame:
        """Return what each run took to reach a value: run, epoch, step, elapsed_s, bytes, the value; NaN: never.

        Parameters
        ----------
        metric : str, optional
            One of `metrics`, the first by default.
        target : float, optional
            By default what every run reaches.
        """
        import pandas as pd

        name = self.checked(metric)
        wanted = self.usual_target(name) if target is None else float(target)
        reached = [None] * len(self.records) if wanted is None else self.reached(name, wanted)
        columns = ["epoch", "step", "elapsed_s", "bytes", name]
        rows = [
            {"run": record.id, **{column: (row or {}).get(column, math.nan) for column in columns}}
            for record, row in zip(self.records, reached, strict=True)
        ]
        return pd.DataFrame(rows, columns=["run", *columns])

    def pareto(self, metric: str | None = None, cost: str = "elapsed_s") -> pd.DataFrame:
        """Return each run's best value and what it had cost by then: run, cost, metric, ``on_front``.

        A run is on the front where no other is at least as good and as cheap, and better in one of both.
        """
        import pandas as pd

        name = self.checked(metric)
        if cost not in COSTS:
            findings = Findings("compare")
            findings.add("cost", f"one of {list(COSTS)}", repr(cost), "pass one of these")
            findings.raise_if_any()
        best = self.best(name)
        points = [(row[cost], row[name]) if row is not None else None for row in best]
        front = pareto_front(points, lower_is_better=self.is_lower_better(name))
        rows = [
            {
                "run": record.id,
                cost: point[0] if point else math.nan,
                name: point[1] if point else math.nan,
                "on_front": on,
            }
            for record, point, on in zip(self.records, points, front, strict=True)
        ]
        return pd.DataFrame(rows, columns=["run", cost, name, "on_front"])

    def checked(self, metric: str | None) -> str:
        """Return the name of a metric that some run measured; the first by default."""
        metrics = self.metrics
        if metric is None and metrics:
            return metrics[0]
        if metric not in metrics:
            findings = Findings("compare")
            findings.add("metric", f"one of {metrics}", repr(metric), "pass one that a run has measured")
            findings.raise_if_any()
        return str(metric)

    def __repr__(self) -> str:
        return f"Comparison({', '.join(record.id for record in self.records)})"

    def _repr_html_(self) -> str:
        tables = [self.time_to(), self.differences] if self.metrics else [self.differences]
        return "".join(table.to_html(index=False) for table in tables)


def is_number(value: Any) -> bool:
    """Say whether a value is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def pareto_front(points: Sequence[tuple[float, float] | None], *, lower_is_better: bool = False) -> list[bool]:
    """Say of each (cost, value) whether no other point dominates it; a run without a point is never on the front."""
    sign = -1.0 if lower_is_better else 1.0
    told = [(cost, sign * value) for cost, value in (point for point in points if point is not None)]

    def is_dominated(cost: float, value: float) -> bool:
        return any(c <= cost and v >= value and (c < cost or v > value) for c, v in told)

    return [point is not None and not is_dominated(point[0], sign * point[1]) for point in points]


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(_text, value))})"
    return "–" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
