"""What more parts bring, and what they cost: less work in each part against more transfer.

Nothing of computing is measured here. The in-edges that the largest part aggregates bound the time of a layer; with c
seconds an in-edge and epoch the time of N epochs is ``start + N (c E + t)``, E being those in-edges and t the transfer
of an epoch. More parts pay off where c is above the value at which both times are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.core.units import format_bytes, format_count, format_seconds
from workbench.widgets.partition_cost import CostSettings, ExchangeCost, epochs_of
from workbench.widgets.partition_names import method_label


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Few parts against many of one method.

    `edge_s` is the time an in-edge and epoch, in seconds, above which many parts win; 0 where they win in any case,
    None where they never do.
    """

    few: ExchangeCost
    many: ExchangeCost
    edge_s: float | None
    text: str


def scaling(costs: Sequence[ExchangeCost], settings: CostSettings) -> list[Scaling]:
    """Compare, for every method that is shown with several numbers of parts, the fewest with the most."""
    compared = []
    for method in dict.fromkeys(cost.method for cost in costs):
        ordered = sorted((cost for cost in costs if cost.method == method), key=lambda cost: cost.num_parts)
        if len(ordered) > 1:
            compared.append(_compare(ordered[0], ordered[-1], settings))
    return compared


def _compare(few: ExchangeCost, many: ExchangeCost, settings: CostSettings) -> Scaling:
    saved_edges = few.busiest_edges - many.busiest_edges
    extra_s = (many.after(settings.epochs) - few.after(settings.epochs)) / settings.epochs
    edge_s = None if saved_edges <= 0 else max(0.0, extra_s / saved_edges)
    text = (
        f"{method_label(few.method)} in {many.num_parts} instead of {few.num_parts} parts: the largest part aggregates "
        f"{format_count(many.busiest_edges)} instead of {format_count(few.busiest_edges)} in-edges a layer, and the "
        f"busiest receives {format_bytes(many.busiest_bytes)} instead of {format_bytes(few.busiest_bytes)} an epoch. "
        f"{_when(few, many, edge_s, settings)}."
    )
    return Scaling(few=few, many=many, edge_s=edge_s, text=text)


def _when(few: ExchangeCost, many: ExchangeCost, edge_s: float | None, settings: CostSettings) -> str:
    """Say when many parts win; partitioning and transfer of all epochs are counted."""
    if edge_s is None:
        return f"{many.num_parts} parts do not pay off: no part has less to compute"
    if edge_s == 0:
        return f"{many.num_parts} parts pay off in any case: to make (as measured here) and transfer take no longer"
    return (
        f"Over {epochs_of(settings)}, the time to partition as measured here included, {many.num_parts} parts pay off "
        f"where computing takes more than {_short_time(edge_s)} an in-edge and epoch"
    )


def _short_time(seconds: float) -> str:
    return (
        f"{seconds * 1e9:.3g} ns"
        if seconds < 1e-6
        else f"{seconds * 1e6:.3g} µs"
        if seconds < 1e-3
        else format_seconds(seconds)
    )
