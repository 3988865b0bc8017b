"""Memory and load of every process of the run."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from workbench.core.events import Event
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.service import SEVERAL, with_service
from workbench.dashboard.steps import STEP_COMPLETED, StepRecord
from workbench.dashboard.words import percent, rank_name, sampler_name

HIGH = 0.8  # share of its limit from which a process is called close to it
Key = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A trainer or sampler, as it was measured last."""

    role: str
    index: int
    worker: str
    rss_bytes: int
    peak_bytes: int
    limit_bytes: int | None
    cpu_percent: float
    gpu: Mapping[str, Any] | None
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryState:
    processes: Mapping[Key, Process] = field(default_factory=lambda: MappingProxyType({}))
    rings: Mapping[int, tuple[int, int]] = field(default_factory=lambda: MappingProxyType({}))
    serves: Mapping[int, int] = field(default_factory=lambda: MappingProxyType({}))  # sampler -> rank


@PANELS.register("memory")
@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPanel(Panel[MemoryState]):
    """Resident memory against its limit, load, and the batches that wait for each rank."""

    kinds: ClassVar[frozenset[str]] = frozenset({"resources_measured", "batch_sampled", STEP_COMPLETED})

    def initial(self) -> MemoryState:
        return MemoryState()

    def reduce(self, state: MemoryState, event: Event) -> MemoryState:
        if event.kind == STEP_COMPLETED:
            record: StepRecord = event.data["record"]
            rings = {r.rank: (r.ring_filled, r.ring_slots) for r in record.ranks if r.ring_slots is not None}
            known = {rank: (filled or 0, slots) for rank, (filled, slots) in rings.items() if slots is not None}
            return dataclasses.replace(state, rings=MappingProxyType(known))
        data = event.data
        if event.kind == "batch_sampled":
            serves = with_service(state.serves, data["sampler"], event.rank)
            return state if serves is state.serves else dataclasses.replace(state, serves=serves)
        key = (data["role"], data["index"])
        before = state.processes.get(key)
        process = Process(
            **{name: data[name] for name in ("role", "index", "worker", "rss_bytes", "limit_bytes", "cpu_percent")},
            gpu=data.get("gpu"),
            peak_bytes=max(data["rss_bytes"], before.peak_bytes if before else 0),
            time_s=event.time_s,
        )
        return dataclasses.replace(state, processes=MappingProxyType({**state.processes, key: process}))

    def view(self, state: MemoryState) -> Mapping[str, Any]:
        order = sorted(state.processes, key=lambda key: (key[0] != "trainer", key[1]))
        rows = [_row(state, state.processes[key]) for key in order]
        return {"line": _line(rows), "rows": rows, "has_gpu": any(row["gpu"] is not None for row in rows)}


def _row(state: MemoryState, process: Process) -> dict[str, Any]:
    is_rank = process.role == "trainer"
    ring = state.rings.get(process.index) if is_rank else None
    row = {name: getattr(process, name) for name in ("role", "index", "worker", "rss_bytes", "peak_bytes")}
    return {
        **row,
        "rank": process.index if is_rank else state.serves.get(process.index, SEVERAL),
        "name": rank_name(process.index) if is_rank else sampler_name(process.index, process.index),
        "limit_bytes": process.limit_bytes,
        "share": process.rss_bytes / process.limit_bytes if process.limit_bytes else None,
        "cpu_percent": process.cpu_percent,
        "gpu": None if process.gpu is None else dict(process.gpu),
        "ring": "" if ring is None else f"{ring[0]} of {ring[1]}",
    }


def _line(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return "not measured yet"
    limited = [row for row in rows if row["share"] is not None]
    if not limited:
        gpus = [row["gpu"] for row in rows if row["gpu"] is not None and row["gpu"]["limit_bytes"]]
        if gpus:
            most = max(gpu["used_bytes"] / gpu["limit_bytes"] for gpu in gpus)
            return f"GPU memory at {percent(most)} of the device's"
        return "no memory limit is set"
    fullest = max(limited, key=lambda row: row["share"])
    return f"{fullest['name'].lower()} at {percent(fullest['share'])} of its limit"
