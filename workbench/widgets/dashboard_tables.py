"""The dashboard's tables as HTML without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.units import format_bytes, format_count
from workbench.dashboard.panels.phases import BETWEEN
from workbench.widgets.figures import bar, chip, table, text_of
from workbench.widgets.theme import part_color, phase_color

View = Mapping[str, Any]


def phases(view: View) -> str:
    """Return milliseconds a step by phase and rank."""
    if not view["ranks"]:
        return "<p>No step finished yet.</p>"
    heads = ["Phase", *(f"Rank {r['rank']}, ms" for r in view["ranks"])]
    rows, between = [], []
    for row in (row for row in view["rows"] if row["used"]):
        cells = [named(_phase_chip(row["phase"]), row["name"]), *map(_ms, row["ms"])]
        (between if row["group"] == BETWEEN else rows).append(cells)
    rows.append(["<b>Step</b>", *(f"<b>{_ms(ms)}</b>" for ms in view["step_ms"])])
    num = range(1, len(heads))
    note = f"Milliseconds a step, mean of the last {view['num_steps']} steps; batches are made meanwhile."
    if between:
        rows += [[f'<span class="sec">{BETWEEN}</span>', *("" for _ in num)], *between]
    drawn = table(heads, rows, label="Milliseconds a step by phase and rank", num=num)
    return f'{drawn}<p class="db-note">{note}</p>'


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _phase_chip(phase: str) -> str:
    return '<i class="wb-chip wb-hatched"></i>' if phase.startswith("wait") else chip(phase_color(phase))


def named(mark: str, name: str) -> str:
    """Return a name behind its mark."""
    return f'<span class="wb-name">{mark}{text_of(name)}</span>'


def traffic(view: View) -> str:
    """Return bytes by kind, measured beside predicted where there is a prediction."""
    if not view["rows"]:
        return "<p>Nothing moved yet.</p>"
    beside = view["predicted_bytes"] is not None
    most = max(*(max(row["step_bytes"], row["predicted_bytes"] or 0) for row in view["rows"]), 1)
    rows = [
        [
            text_of(row["name"] + (", modelled" if row["modelled"] else "")),
            bar(row["step_bytes"] / most, "var(--wb-hatch)" if row["modelled"] else "var(--wb-ink2)"),
            format_bytes(row["step_bytes"]),
            *(_beside(row) if beside else ()),
            format_bytes(row["total_bytes"]),
        ]
        for row in view["rows"]
    ]
    more = ["Predicted", "Ratio"] if beside else []
    heads = ["Kind", f"0 to {format_bytes(most)} a step", "Measured a step", *more, "Since the start"]
    return table(heads, rows, label="Bytes by kind", num=range(2, len(heads)))


def _beside(row: View) -> tuple[str, str]:
    if row["predicted_bytes"] is None:
        return "", ""
    return format_bytes(row["predicted_bytes"]), "" if row["ratio"] is None else f"{row['ratio']:.2f}"


def memory(view: View) -> str:
    """Return memory and load of each process."""
    if not view["rows"]:
        return "<p>Not measured.</p>"
    most = max(row["rss_bytes"] for row in view["rows"])
    rows = []
    for row in view["rows"]:
        limit = "" if row["limit_bytes"] is None else f" of {format_bytes(row['limit_bytes'])}"
        mark = chip(_served_color(row["rank"]), outlined=row["role"] != "trainer")
        share = row["share"] if row["share"] is not None else row["rss_bytes"] / most
        rows.append(
            [
                named(mark, row["name"]),
                bar(share, "var(--wb-ink2)"),
                format_bytes(row["rss_bytes"]) + limit,
                f"{row['cpu_percent']:.0f}%",
                *([_gpu(row["gpu"])] if view["has_gpu"] else []),
            ]
        )
    limited = all(row["limit_bytes"] is not None for row in view["rows"])
    scale = "0 to its limit" if limited else f"0 to {format_bytes(most)}"
    heads = ["Process", scale, "Memory", "CPU, of a core", *(["GPU memory"] if view["has_gpu"] else [])]
    return table(heads, rows, label="Memory and load of each process", num=range(2, len(heads)))


def _gpu(gpu: View | None) -> str:
    return "–" if gpu is None else f"{format_bytes(gpu['used_bytes'])} of {format_bytes(gpu['limit_bytes'])}"


def _served_color(rank: int) -> str:
    return part_color(rank) if rank >= 0 else "var(--wb-ink2)"


def _ranked(row: View) -> str:
    part = "" if row["part"] is None else f", part {row['part']}"
    return named(chip(part_color(row["rank"])), f"Rank {row['rank']}{part}")


def cache(view: View) -> str:
    """Return feature rows by where they were found."""
    if not view["rows"]:
        return "<p>Every feature row is read where it lies; no cache is used.</p>"
    rows = [
        [
            _ranked(row),
            *(format_count(row[name]) for name in ("num_local", "num_cached", "num_remote")),
            "–" if row["hit_ratio"] is None else f"{row['hit_ratio']:.2f}",
        ]
        for row in view["rows"]
    ]
    heads = ["Rank", "Own", "Cached", "Fetched", "Hit ratio"]
    return table(heads, rows, label="Feature rows a step by where they were found", num=range(1, 5))


def staleness(view: View) -> str:
    """Return the ages of what was read, by source."""
    if not view["rows"]:
        return "<p>Every read is of the same step: the strategy is synchronous.</p>"
    rows = [
        [
            text_of(row["name"]),
            "–" if row["mean_age"] is None else f"{row['mean_age']:.3g}",
            f"{row['oldest']:,}",
            "none" if row["bound"] is None else f"{row['bound']:,}",
            format_count(row["total_cold"]),
        ]
        for row in view["rows"]
    ]
    heads = ["What is read", "Mean age, steps", "Oldest", "Bound", "Read before written"]
    return table(heads, rows, label="Ages of what was read in the last steps", num=range(1, 5))


def stragglers(view: View) -> str:
    """Return how late each rank is."""
    if len(view["rows"]) < 2:
        return "<p>No step finished yet.</p>" if not view["rows"] else "<p>One rank: it waits for nobody.</p>"
    rows = [
        [
            _ranked(row),
            f"{row['last_in']} of {view['num_steps']}",
            _ms(row["late_ms"]),
            format_count(row["num_edges"]),
            _ms(row["compute_ms"]),
            text_of(row["why"]),
        ]
        for row in view["rows"]
    ]
    heads = ["Rank", "Last in", "Late, ms a step", "Edges", "Compute, ms", "Why"]
    return table(heads, rows, label="How late each rank is", num=range(1, 5))
