"""The sentences that compare partitions, and the costs with them as JSON for the view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.units import format_count
from workbench.partition.quality import PartitionQuality
from workbench.widgets.partition_cost import CostSettings, Verdict, cost_rows, exchange_cost, judge_alike
from workbench.widgets.partition_names import label_of, listed, method_in_sentence, method_label, part_counts
from workbench.widgets.partition_results import Made
from workbench.widgets.partition_scaling import scaling

if TYPE_CHECKING:
    from workbench.graph import Graph


def pack_costs(graph: Graph, made: Sequence[Made], settings: CostSettings) -> dict[str, Any]:
    """Return the predicted costs: the verdict, the table, and the lines of time against epochs."""
    costs = [exchange_cost(one.quality, settings) for one in made]
    several = len(part_counts(made)) > 1
    verdicts = judge_alike(costs, settings)
    only = verdicts[0] if verdicts and not several else None
    widths = [graph.num_features, *settings.widths, max(graph.num_classes, 1)]
    model = f"{len(settings.widths) + 1}-layer GraphSAGE {' → '.join(f'{width:,}' for width in widths)}"
    chosen = {"widths": list(settings.widths), "epochs": settings.epochs, "link_gbit": settings.link_gbit}
    return {
        "settings": chosen,
        "model": f"{model}, full graph, halo exchange, float32; predicted",
        "labels": [label_of(one.quality, several) for one in made],
        "ways": [[cost.method, cost.num_parts] for cost in costs],
        "rows": [[label, *texts] for label, texts in cost_rows(costs, settings)],
        "lines": [[cost.start_s, cost.after(settings.epochs)] for cost in costs],
        "verdicts": [_verdict_text(one, several) for one in verdicts],
        "scaling": [one.text for one in scaling(costs, settings)],
        "short": " ".join(f"{_in_parts(one.short, one.better.num_parts, several)}." for one in verdicts),
        "pays": bool(verdicts) and all(verdict.pays for verdict in verdicts),
        "crossing": _crossing(only, settings),
        "lead": lead_sentence(made, settings),
    }


def _in_parts(short: str, num_parts: int, several: bool) -> str:
    return f"{short} in {num_parts} parts" if several else short


def _verdict_text(verdict: Verdict, several: bool) -> str:
    return f"In {verdict.better.num_parts} parts: {verdict.text}" if several else verdict.text


def _crossing(verdict: Verdict | None, settings: CostSettings) -> list[float] | None:
    """Return (epochs, seconds) where the lines of the verdict cross, if they do inside the chart."""
    if verdict is None or verdict.epochs is None or verdict.epochs > settings.epochs:
        return None
    extra_s = verdict.better.start_s - verdict.other.start_s
    at = extra_s / (verdict.other.epoch_s - verdict.better.epoch_s)
    return [at, verdict.better.after(at)] if at > 0 else None


def lead_sentence(made: Sequence[Made], settings: CostSettings) -> str:
    """Say first what matters: how much is cut and exchanged, whether it pays, and where the best one is weakest."""
    counts = part_counts(made)
    several, most = len(counts) > 1, max(counts)
    best = min((one for one in made if one.partition.num_parts == most), key=lambda one: one.quality.comm_volume)
    text = _cuts_of_several(best, made) if several else _cuts(best, made)
    verdicts = judge_alike([exchange_cost(one.quality, settings) for one in made], settings)
    for verdict in verdicts:
        if verdict.better.num_parts == most:
            text += f" {_in_parts(verdict.short, most, several)}."
    return f"{text} {_weakest(best.quality, several)}".strip()


def _percent(made: Made) -> str:
    return f"{made.quality.edge_cut_ratio * 100:.1f}%"


def _cuts(best: Made, made: Sequence[Made]) -> str:
    """Say what partitions into the same number of parts cut and exchange."""
    text = f"{method_label(best.partition.method)} cuts {_percent(best)} of the edges"
    volume = f"a layer exchanges {format_count(best.quality.comm_volume)} rows"
    rest = [one for one in made if one is not best]
    if not rest:
        return f"{text}: {volume}."
    others = ", ".join(f"{method_in_sentence(one.partition.method)} {_percent(one)}" for one in rest)
    rows = " or ".join(format_count(one.quality.comm_volume) for one in rest)
    return f"{text}, {others}: {volume} instead of {rows}."


def _cuts_of_several(best: Made, made: Sequence[Made]) -> str:
    """Say what grows with the number of parts: the cut of every method, and the exchange of the best."""
    lines = {
        one.partition.method: [two for two in made if two.partition.method == one.partition.method] for one in made
    }
    own = lines.pop(best.partition.method)
    first, *later = own
    name = method_label(best.partition.method)
    cuts = [f"{_percent(first)} of the edges in {first.partition.num_parts} parts"]
    cuts += [f"{_percent(one)} in {one.partition.num_parts}" for one in later]
    rows = listed([format_count(one.quality.comm_volume) for one in own])
    text = f"{name} cuts {listed(cuts)}: a layer exchanges {rows} rows."
    for method, line in lines.items():
        text += f" {method_label(method)} cuts {listed([_percent(one) for one in line])}."
    return text


def _weakest(quality: PartitionQuality, several: bool) -> str:
    measures: Mapping[str, tuple[float, np.ndarray]] = {
        "nodes": (quality.node_balance, quality.part_nodes),
        "in-edges": (quality.edge_balance, quality.part_in_edges),
        "training nodes": (quality.train_balance, quality.part_train_nodes),
        "halo": (quality.halo_balance, quality.part_halo_nodes),
    }
    name, (value, counts) = max(measures.items(), key=lambda item: item[1][0])
    if value < 1.1:
        return ""
    whose = f"The weakest balance of {label_of(quality, several)}" if several else "Its weakest balance"
    return f"{whose}: {name}, {(value - 1) * 100:.0f}% above the mean in part {int(counts.argmax())}."
