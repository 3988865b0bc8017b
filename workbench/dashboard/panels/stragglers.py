"""Which rank the others wait for, how long, and what about its part or its batches makes it late."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from workbench.core.events import Event
from workbench.core.phases import Phase
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.steps import STEP_COMPLETED, RankStep, StepRecord
from workbench.dashboard.words import counted, mean, milliseconds, percent, recent

WORTH_TELLING = 0.05  # of a step: ranks that come closer together than that are called even
MORE = 1.15  # times the others' mean from which a difference is called a cause
COMPUTE = (Phase.FORWARD, Phase.BACKWARD, Phase.UPDATE)
EXCHANGE = (Phase.EXCHANGE,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a rank works, and on what."""

    part: int | None
    host: str
    worker: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StragglersState:
    places: Mapping[int, Place] = field(default_factory=lambda: MappingProxyType({}))
    steps: tuple[StepRecord, ...] = ()


@PANELS.register("stragglers")
@dataclass(frozen=True, slots=True, kw_only=True)
class StragglersPanel(Panel[StragglersState]):
    """By rank over the last 20 steps: how often it came last, how late, and its part, edges, computing and waiting.

    A rank is late by the mean time that the others waited for ranks in a step, less its own: what they would have
    gained. The last one in a step is the one that waited least.
    """

    kinds: ClassVar[frozenset[str]] = frozenset({"gang_starting", "rank_ready", STEP_COMPLETED})

    def initial(self) -> StragglersState:
        return StragglersState()

    def reduce(self, state: StragglersState, event: Event) -> StragglersState:
        match event.kind:
            case "gang_starting":
                return StragglersState(places=state.places)
            case "rank_ready":
                data = event.data
                place = Place(part=data["part"], host=str(data["host"]), worker=str(data["worker"]))
                return dataclasses.replace(state, places=MappingProxyType({**state.places, event.rank: place}))
        return dataclasses.replace(state, steps=recent(state.steps, event.data["record"]))

    def view(self, state: StragglersState) -> Mapping[str, Any]:
        ranks = sorted({share.rank for record in state.steps for share in record.ranks})
        rows = [_row(state, rank) for rank in ranks]
        for row in rows:
            row["why"] = _why(row, [other for other in rows if other is not row])
        return {
            "title": "Stragglers",
            "line": _line(rows, len(state.steps)),
            "used": len(rows) != 1,
            "rows": rows,
            "num_steps": len(state.steps),
        }


def _waited_s(share: RankStep) -> float:
    return share.phase_s.get(Phase.WAIT_FOR_RANK, 0.0)


def lateness_s(record: StepRecord, rank: int) -> float:
    """Return the mean seconds that the others waited for ranks in a step, less the rank's own; negative: it waited."""
    own = next((_waited_s(share) for share in record.ranks if share.rank == rank), 0.0)
    others = [_waited_s(share) for share in record.ranks if share.rank != rank]
    return (sum(others) / len(others) - own) if others else 0.0


def _row(state: StragglersState, rank: int) -> dict[str, Any]:
    shares = [share for record in state.steps for share in record.ranks if share.rank == rank]
    last_in = sum(min(record.ranks, key=_waited_s).rank == rank for record in state.steps if len(record.ranks) > 1)
    place = state.places.get(rank)

    def seconds(*phases: Phase) -> float:
        return mean(sum(share.phase_s.get(phase, 0.0) for phase in phases) for share in shares) or 0.0

    return {
        "rank": rank,
        "part": place.part if place else None,
        "host": place.host if place else "",
        "worker": place.worker if place else "",
        "last_in": last_in,
        "late_ms": _ms(mean(lateness_s(record, rank) for record in state.steps) or 0.0),
        "step_ms": _ms(mean(record.duration_s for record in state.steps) or 0.0),
        "compute_ms": _ms(seconds(*COMPUTE)),
        "wait_for_batch_ms": _ms(seconds(Phase.WAIT_FOR_BATCH)),
        "exchange_ms": _ms(seconds(*EXCHANGE)),
        "num_nodes": round(mean(share.num_nodes for share in shares) or 0.0),
        "num_edges": round(mean(share.num_edges for share in shares) or 0.0),
    }


def _ms(seconds: float) -> float:
    return float(f"{seconds * 1e3:.4g}")


def _is_late(row: Mapping[str, Any]) -> bool:
    return bool(row["late_ms"] > WORTH_TELLING * row["step_ms"] > 0)


def _why(row: Mapping[str, Any], others: list[dict[str, Any]]) -> str:
    """Say what sets a late rank apart from the others: more edges, longer computing, batches that come late."""
    if not others or not _is_late(row):
        return ""

    def over(name: str) -> float:
        return float(row[name]) - sum(float(other[name]) for other in others) / len(others)

    causes = {name: over(name) for name in ("compute_ms", "wait_for_batch_ms", "exchange_ms")}
    longest = max(causes, key=lambda name: causes[name])
    if causes[longest] <= 0:
        return ""
    extra = milliseconds(causes[longest] / 1e3)
    if longest == "wait_for_batch_ms":
        return f"waits {extra} longer for its batches"
    if longest == "exchange_ms":
        return f"exchanges {extra} longer"
    edges = sum(other["num_edges"] for other in others) / len(others)
    if edges and row["num_edges"] > MORE * edges:
        return f"computes {extra} longer, on {percent(row['num_edges'] / edges - 1)} more edges"
    return f"computes {extra} longer, on as many edges"


def _line(rows: list[dict[str, Any]], num_steps: int) -> str:
    if not num_steps:
        return "no step finished yet"
    if len(rows) < 2:
        return "one rank: it waits for nobody"
    worst = max(rows, key=lambda row: row["late_ms"])
    if not _is_late(worst):
        return "all ranks are even"
    part = "" if worst["part"] is None else f", part {worst['part']},"
    late = milliseconds(worst["late_ms"] / 1e3)
    return f"rank {worst['rank']}{part} late by {late}, last in {worst['last_in']} of {counted(num_steps, 'step')}"
