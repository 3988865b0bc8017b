"""Bytes moved, by kind, beside what the formulas of communication predict."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from workbench.core.events import Event
from workbench.core.units import format_bytes
from workbench.dashboard.base import PANELS, Panel
from workbench.dashboard.steps import STEP_COMPLETED, StepRecord
from workbench.dashboard.words import RECENT, median, percent, recent

_KINDS = {
    "gather": ("Gather, feature rows", "Feature rows brought to the ranks for their batches"),
    "gather_remote": ("Gather, remote rows", "Feature rows that ranks sent to others, whose batches have their nodes"),
    "request": ("Requests for rows", "Ids of nodes, sent to their owners"),
    "exchange": ("Halo exchange", "Rows of other ranks' nodes, sent around the layers"),
    "halo_forward": ("Halo exchange, forward", "Rows of other ranks' nodes, fetched before a message-passing layer"),
    "halo_backward": ("Halo exchange, backward", "Gradients of those rows, sent back to their owners"),
    "halo_statistics": (
        "Halo exchange, degrees",
        "Degrees of other ranks' nodes, fetched once for layers that read them",
    ),
    "transpose_forward": ("Rows and columns, forward", "Rows sent as columns before a propagation, and back after it"),
    "transpose_backward": ("Rows and columns, backward", "Gradients of those, on the same ways back"),
    "batch_norm": ("Batch statistics", "Sums over ranks for BatchNorm: the size of the buffers, each rank"),
    "all_reduce": (
        "All-reduce, gradients",
        "Gradients handed to the sum over ranks: the size of the buffer, each rank",
    ),
    "all_reduce_modelled": ("All-reduce on the wire", "Modelled, not measured: what a ring moves for these sums"),
    "parameter_average": ("Averages of parameters", "Parameters handed to the mean over ranks, every few steps"),
    "parameter_push": ("To the parameter server", "Gradients, the size of the parameters, each rank"),
    "parameter_pull": ("From the parameter server", "Parameters read back, each rank"),
    "history_push": ("Histories written", "Rows of own nodes, kept for the batches that read them later"),
    "history_pull": ("Histories read", "Rows of other batches' nodes, as they were when last computed"),
    "history_remote": ("Histories, remote rows", "History rows that ranks sent to others, whose batches read them"),
    "broadcast": ("Broadcast", "Sent from one rank to all others"),
    "all_gather": ("All-gather", "Collected by every rank from all others"),
    "evaluate": ("Evaluation", "Moved for exact inference"),
    "control": ("Control", "Agreement between ranks: pause, stop, counts"),
    "control_modelled": ("Control on the wire", "Modelled, not measured: what a ring moves for these sums"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficState:
    steps: tuple[Mapping[str, int], ...] = ()
    totals: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    predicted: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))  # bytes a step, all ranks
    formulas: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@PANELS.register("traffic")
@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficPanel(Panel[TrafficState]):
    """Bytes by kind: a step of all ranks (median of the last 20), what it was predicted to be, and since the start."""

    kinds: ClassVar[frozenset[str]] = frozenset({STEP_COMPLETED, "traffic_predicted"})

    def initial(self) -> TrafficState:
        return TrafficState()

    def reduce(self, state: TrafficState, event: Event) -> TrafficState:
        if event.kind == "traffic_predicted":
            predicted, formulas = MappingProxyType(event.data["bytes"]), MappingProxyType(event.data["formulas"])
            return dataclasses.replace(state, predicted=predicted, formulas=formulas)
        record: StepRecord = event.data["record"]
        moved: dict[str, int] = {}
        for rank in record.ranks:
            for kind, count in rank.bytes.items():
                moved[kind] = moved.get(kind, 0) + count
        totals = {kind: state.totals.get(kind, 0) + moved.get(kind, 0) for kind in {**state.totals, **moved}}
        return dataclasses.replace(
            state, steps=recent(state.steps, MappingProxyType(moved)), totals=MappingProxyType(totals)
        )

    def view(self, state: TrafficState) -> Mapping[str, Any]:
        order = list(_KINDS)
        kinds = sorted({**state.totals, **state.predicted}, key=lambda kind: (_place(order, kind), kind))
        rows = [_row(state, kind) for kind in kinds]
        measured = [row for row in rows if not row["modelled"]]
        step = sum(row["step_bytes"] for row in measured)
        both = [row for row in measured if row["predicted_bytes"] is not None]
        predicted = sum(row["predicted_bytes"] for row in both)
        covered = sum(row["step_bytes"] for row in both)
        ratio = covered / predicted if predicted and state.steps else None
        return {
            "line": f"{format_bytes(step)} a step{_compared(ratio, covered, step)}"
            if state.steps
            else "no step finished yet",
            "rows": rows,
            "step_bytes": step,
            "predicted_bytes": predicted if both else None,
            "ratio": ratio,
            "total_bytes": sum(row["total_bytes"] for row in measured),
            "num_steps": min(len(state.steps), RECENT),
        }


def _place(order: list[str], kind: str) -> int:
    return order.index(kind) if kind in order else len(order)


def _compared(ratio: float | None, covered: float, step: float) -> str:
    """``1.04 -> ', 4% above predicted'``; where other kinds have no prediction, of those that have one."""
    if ratio is None:
        return ""
    side = "above" if ratio > 1 else "below"
    words = "as predicted" if abs(ratio - 1) < 0.005 else f"{percent(abs(ratio - 1))} {side} predicted"
    return f", {words}" if covered >= 0.95 * step else f"; {format_bytes(covered)} of it {words}"


def _row(state: TrafficState, kind: str) -> dict[str, Any]:
    name, hint = _KINDS.get(kind, (kind.replace("_", " ").capitalize(), ""))
    step = median(moved.get(kind, 0) for moved in state.steps)
    predicted = state.predicted.get(kind)
    return {
        "kind": kind,
        "name": name,
        "hint": hint,
        "modelled": kind.endswith("_modelled"),
        "step_bytes": step or 0,
        "predicted_bytes": predicted,
        "formula": state.formulas.get(kind, ""),
        "ratio": step / predicted if step is not None and predicted else None,
        "total_bytes": state.totals.get(kind, 0),
    }
