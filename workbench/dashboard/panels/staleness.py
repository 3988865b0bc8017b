"""How old the rows are that ranks read of others, of histories and of the parameters."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from workbench.core.events import Event
from workbench.core.params import param
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.series import Series
from workbench.dashboard.words import counted, recent

MAX_AGES = 24  # bars of a histogram; what is older shares the last
SOURCES = {
    "halo": "Halo rows",
    "halo_gradient": "Gradients of halo rows",
    "history": "Histories",
    "parameters": "Parameters",
}
_RANKS_AT_MOST = 64  # whose last steps are kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one rank read of one source in one step: rows by age, and rows that were never written."""

    step: int
    counts: Mapping[int, int]
    num_cold: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """``oldest`` is the greatest age ever read; ``total_cold`` the rows read as zeros since the start."""

    readings: Mapping[int, tuple[Reading, ...]] = field(default_factory=lambda: MappingProxyType({}))
    series: Series = field(default_factory=Series)
    bound: int | None = None
    oldest: int = 0
    beyond: int = 0  # reads older than the bound that the strategy gave: a fault of the strategy
    total_cold: int = 0
    last_cold_step: int = 0


State = Mapping[str, SourceState]


@PANELS.register("staleness")
@dataclass(frozen=True, slots=True, kw_only=True)
class StalenessPanel(Panel[State]):
    """Ages in steps of what was read in the last steps, the oldest ever read, its bound, and rows never written."""

    capacity: int = param(96, help="points kept of each source, at most", minimum=8)
    num_steps: int = param(20, help="steps that a histogram stands for", minimum=1, maximum=100)
    kinds: ClassVar[frozenset[str]] = frozenset({"staleness_measured", "run_restarting"})

    def initial(self) -> State:
        return MappingProxyType({})

    def reduce(self, state: State, event: Event) -> State:
        if event.kind == "run_restarting":
            step = event.data["from_step"]
            kept = {
                name: dataclasses.replace(source, series=source.series.rewound(step)[0], readings=MappingProxyType({}))
                for name, source in state.items()
            }
            return MappingProxyType(kept)
        name = event.data["source"]
        before = state.get(name) or SourceState(series=Series(capacity=self.capacity))
        return MappingProxyType({**state, name: self._read(before, event)})

    def _read(self, state: SourceState, event: Event) -> SourceState:
        data = event.data
        ages = {int(age): int(count) for age, count in zip(data["ages"], data["counts"], strict=True) if count}
        reading = Reading(step=data["step"], counts=MappingProxyType(ages), num_cold=data["num_cold"])
        readings = dict(state.readings)
        if event.rank in readings or len(readings) < _RANKS_AT_MOST:
            readings[event.rank] = recent(readings.get(event.rank, ()), reading, self.num_steps)
        series, mean = state.series, mean_age(ages)
        if mean is not None:
            series = series.add(data["step"], mean, low=min(ages), high=max(ages), weight=sum(ages.values()))
        bound = data["bound"]
        return dataclasses.replace(
            state,
            readings=MappingProxyType(readings),
            series=series,
            bound=bound,
            oldest=max(state.oldest, *ages, 0),
            beyond=state.beyond + sum(n for age, n in ages.items() if bound is not None and age > bound),
            total_cold=state.total_cold + reading.num_cold,
            last_cold_step=max(state.last_cold_step, reading.step if reading.num_cold else 0),
        )

    def view(self, state: State) -> Mapping[str, Any]:
        order = list(SOURCES)
        names = sorted(state, key=lambda name: (order.index(name) if name in order else len(order), name))
        rows = [_row(name, state[name]) for name in names]
        return {
            "title": "Staleness",
            "line": _line(rows),
            "used": bool(rows),
            "tone": "fail" if any(row["beyond"] for row in rows) else "",
            "rows": rows,
            "points": {name: state[name].series.points() for name in names},
        }


def mean_age(counts: Mapping[int, int]) -> float | None:
    """Return the mean age of rows, ``sum(age * count) / sum(count)``; None of nothing."""
    total = sum(counts.values())
    return sum(age * count for age, count in counts.items()) / total if total else None


def _together(readings: Iterable[Reading]) -> Counter[int]:
    counts: Counter[int] = Counter()
    for reading in readings:
        counts.update(reading.counts)
    return counts


def _row(name: str, source: SourceState) -> dict[str, Any]:
    readings = [reading for own in source.readings.values() for reading in own]
    counts = _together(readings)
    by_rank = {rank: mean_age(_together(own)) for rank, own in sorted(source.readings.items())}
    bars = [0] * (min(max(counts, default=0), MAX_AGES - 1) + 1)
    for age, count in counts.items():
        bars[min(age, MAX_AGES - 1)] += count
    return {
        "source": name,
        "name": SOURCES.get(name, name.replace("_", " ").capitalize()),
        "mean_age": mean_age(counts),
        "oldest": source.oldest,
        "bound": source.bound,
        "beyond": source.beyond,
        "num_cold": sum(reading.num_cold for reading in readings),
        "total_cold": source.total_cold,
        "last_cold_step": source.last_cold_step,
        "bars": bars if counts else [],
        "ranks": [{"rank": rank, "mean_age": mean} for rank, mean in by_rank.items()],
    }


def _line(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "none: every read is of the same step"
    if (worst := max(rows, key=lambda row: row["beyond"]))["beyond"]:
        return f"{worst['name'].lower()}: {counted(worst['beyond'], 'read')} older than the bound of {worst['bound']}"
    told = []
    for row in rows[:2]:
        mean = "nothing read" if row["mean_age"] is None else f"mean age {row['mean_age']:.2g}"
        told.append(f"{row['name'].lower()}: {mean}, at most {row['oldest']}" + _bound(row["bound"]))
    return "; ".join(told)


def _bound(bound: int | None) -> str:
    return "" if bound is None else f" of {bound}"
