"""Where the feature rows of the ranks' steps come from: their own, a cache, or another rank."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from workbench.core.events import Event
from workbench.core.params import param
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.series import Series
from workbench.dashboard.words import counted, listed, mean, percent, recent

MAX_LINES = 8  # ranks with a curve; with more, the table tells
Counts = tuple[int, int, int]  # rows that the rank owns, that a cache held, that came from others


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheState:
    """By rank: the rows of its last steps, its hit ratio over steps, the rows since the start, and its part."""

    steps: Mapping[int, tuple[Counts, ...]] = field(default_factory=lambda: MappingProxyType({}))
    series: Mapping[int, Series] = field(default_factory=lambda: MappingProxyType({}))
    totals: Mapping[int, Counts] = field(default_factory=lambda: MappingProxyType({}))
    parts: Mapping[int, int | None] = field(default_factory=lambda: MappingProxyType({}))


@PANELS.register("cache")
@dataclass(frozen=True, slots=True, kw_only=True)
class CachePanel(Panel[CacheState]):
    """Feature rows by where they were found, and the hit ratio: ``cached / (cached + remote)``, of rows not owned."""

    capacity: int = param(96, help="points kept of each rank, at most", minimum=8)
    kinds: ClassVar[frozenset[str]] = frozenset({"rank_ready", "rows_gathered", "run_restarting"})

    def initial(self) -> CacheState:
        return CacheState()

    def reduce(self, state: CacheState, event: Event) -> CacheState:
        match event.kind:
            case "rank_ready":
                parts = MappingProxyType({**state.parts, event.rank: event.data["part"]})
                return dataclasses.replace(state, parts=parts)
            case "run_restarting":
                step = event.data["from_step"]
                series = {rank: kept.rewound(step)[0] for rank, kept in state.series.items()}
                return dataclasses.replace(state, series=MappingProxyType(series), steps=MappingProxyType({}))
        return self._gathered(state, event)

    def _gathered(self, state: CacheState, event: Event) -> CacheState:
        data, rank = event.data, event.rank
        counts: Counts = data["num_local"], data["num_cached"], data["num_remote"]
        before = state.totals.get(rank, (0, 0, 0))
        total = before[0] + counts[0], before[1] + counts[1], before[2] + counts[2]
        steps = {**state.steps, rank: recent(state.steps.get(rank, ()), counts)}
        series, ratio = dict(state.series), hit_ratio(counts)
        if ratio is not None and (rank in series or len(series) < MAX_LINES):
            series[rank] = series.get(rank, Series(capacity=self.capacity)).add(data["step"], ratio)
        return dataclasses.replace(
            state,
            steps=MappingProxyType(steps),
            series=MappingProxyType(series),
            totals=MappingProxyType({**state.totals, rank: total}),
        )

    def view(self, state: CacheState) -> Mapping[str, Any]:
        rows = [_row(state, rank) for rank in sorted(state.steps)]
        is_cached = any(total[1] for total in state.totals.values())
        return {
            "title": "Cache",
            "line": _line(rows, is_cached),
            "used": bool(state.totals),
            "cached": is_cached,
            "rows": rows,
            "points": {str(rank): state.series[rank].points() for rank in sorted(state.series) if is_cached},
            "total_rows": [sum(total[i] for total in state.totals.values()) for i in range(3)],
        }


def hit_ratio(counts: Counts) -> float | None:
    """``(local, cached, remote) -> cached / (cached + remote)``; None where every row was the rank's own."""
    _, cached, remote = counts
    return cached / (cached + remote) if cached + remote else None


def _row(state: CacheState, rank: int) -> dict[str, Any]:
    steps = state.steps[rank]
    local, cached, remote = (mean(step[i] for step in steps) or 0.0 for i in range(3))
    sums = sum(step[0] for step in steps), sum(step[1] for step in steps), sum(step[2] for step in steps)
    return {
        "rank": rank,
        "part": state.parts.get(rank),
        "num_local": round(local),
        "num_cached": round(cached),
        "num_remote": round(remote),
        "hit_ratio": hit_ratio(sums),
    }


def _line(rows: list[dict[str, Any]], is_cached: bool) -> str:
    if not rows:
        return "not used: no rank fetches feature rows of others"
    if not is_cached:
        remote, every = (sum(row[n] for row in rows for n in names) for names in (("num_remote",), _NAMES))
        return f"no cache; {percent(remote / every) if every else '0%'} of the rows come from other ranks"
    ratios = [row["hit_ratio"] for row in rows if row["hit_ratio"] is not None]
    if not ratios:
        return "nothing was read of others lately"
    if len(ratios) <= 3:
        return f"hit ratio {listed([f'{ratio:.2f}' for ratio in ratios])}"
    return f"hit ratio {min(ratios):.2f} to {max(ratios):.2f} over {counted(len(ratios), 'rank')}"


_NAMES = ("num_local", "num_cached", "num_remote")
