"""The frozen picture of the neighbourhood explorer: HTML and SVG without scripts, for saved notebooks."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.units import format_bytes, format_count
from workbench.sampling.explosion_record import Explosion, Growth, format_fanouts, format_share

INK, INK2 = "var(--jp-ui-font-color1,#1f2328)", "var(--jp-ui-font-color2,#57606a)"
LINE, PAPER = "var(--jp-border-color2,#d0d7de)", "var(--jp-layout-color1,#fff)"
ALL, SAMPLED, WALKS = "#0072B2", "#E69F00", "#999999"
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 300, 52, 176, 28, 44


def static_page(graph: Mapping[str, Any], result: Explosion) -> str:
    """Return the sentence, the growth per hop and both tables; `graph` as :func:`pack_graph` describes it."""
    batches = f"{result.sampled.num_batches} batch{'es' if result.sampled.num_batches > 1 else ''}"
    state = f"exact, {batches}" if not result.is_estimate else "estimate"
    if result.is_estimate and result.sampled.num_batches:
        state = f"estimate from {batches}"
    facts = (
        f"{graph['name']}: {format_count(result.num_nodes)} nodes, {format_count(result.num_edges)} directed edges, "
        f"mean degree {graph['mean_degree']:.1f}, largest {format_count(graph['hub_degree'])} ({graph['hub']})"
    )
    ways = (
        ("All neighbours", ALL, result.all_neighbors),
        (f"Sampled, fanouts {format_fanouts(result.fanouts)}", SAMPLED, result.sampled),
    )
    font = 'font:13px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif'
    return (
        f"<div style='{font};color:{INK};font-variant-numeric:tabular-nums;max-width:960px'>"
        f"<p style='margin:0;font-weight:600'>Neighbourhood explorer</p>"
        f"<p style='margin:0;font-size:11px;color:{INK2}'>{html.escape(facts)}; {state}</p>"
        f"<p style='margin:8px 0;font-size:16px'>{html.escape(result.sentence)}</p>"
        f"{growth_picture(result)}" + "".join(_table(title, color, growth) for title, color, growth in ways) + "</div>"
    )


def growth_picture(result: Explosion) -> str:
    """Return the growth per hop on a log axis as SVG; the wedge between slots and nodes is the redundancy."""
    full, sampled = result.all_neighbors, result.sampled
    series = (
        ("tree slots, all", full.tree_slots.mean, ALL, "6 3", 1.5),
        ("walks (d^L)", result.walks, WALKS, "2 4", 1.5),
        ("tree slots, sampled", sampled.tree_slots.mean, SAMPLED, "6 3", 1.5),
        ("unique nodes, all", full.unique_nodes.mean, ALL, "", 2.5),
        ("unique nodes, sampled", sampled.unique_nodes.mean, SAMPLED, "", 2.5),
    )
    low = math.floor(math.log10(max(result.num_seeds, 1)))
    top = max(float(values.max()) for _, values, *_ in series)
    high = max(math.ceil(math.log10(max(top, result.num_nodes, 1))), low + 1)

    def x(hop: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * hop / result.depth

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(max(value, 1.0)) - low) / (high - low)

    parts = [_axes(result, range(low, high + 1), x, y)]
    up = [f"{x(h):.1f} {y(v):.1f}" for h, v in enumerate(full.tree_slots.mean)]
    down = [f"{x(h):.1f} {y(v):.1f}" for h, v in enumerate(full.unique_nodes.mean)][::-1]
    parts.append(f'<path d="M{"L".join(up + down)}Z" fill="{ALL}" opacity=".1"/>')
    for _, values, color, dash, width in series:
        points = "L".join(f"{x(h):.1f} {y(v):.1f}" for h, v in enumerate(values))
        style = f'fill="none" stroke="{color}" stroke-width="{width}" stroke-dasharray="{dash}"'
        parts.append(f'<path d="M{points}" {style}/>')
    wanted = [y(values[-1]) for _, values, *_ in series]
    for (name, values, color, dash, _), at in zip(series, spread_labels(wanted, 27), strict=True):
        left = x(result.depth) + 36
        line = f'<path d="M{left - 18} {at:.1f}h12" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"/>'
        parts += [line, _text(left, at - 1, format_count(values[-1]), INK, bold=True), _text(left, at + 11, name)]
    label = html.escape(f"Growth per hop. {result.sentence}", quote=True)
    attributes = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="{label}"'
    return f'<svg {attributes} style="max-width:100%">{"".join(parts)}</svg>'


def _axes(result: Explosion, decades: Sequence[int] | range, x: Any, y: Any) -> str:
    right = WIDTH - RIGHT
    parts = [_text(0, 9, "Count up to the hop (log)"), _text((LEFT + right) / 2, HEIGHT - 6, "Hop", anchor="middle")]
    for decade in decades:
        at = y(10.0**decade)
        parts.append(f'<path d="M{LEFT} {at:.1f}H{right}" stroke="{LINE}" opacity=".5"/>')
        parts.append(_text(LEFT - 8, at + 4, format_short(10.0**decade), anchor="end"))
    for hop in range(result.depth + 1):
        parts.append(_text(x(hop), HEIGHT - BOTTOM + 16, str(hop) if hop else "seeds", anchor="middle"))
    at = y(result.num_nodes)
    parts.append(f'<path d="M{LEFT} {at:.1f}H{right}" stroke="{INK2}"/>')
    parts.append(_text(LEFT + 4, at - 5, f"whole graph {format_count(result.num_nodes)}", INK))
    return "".join(parts)


def spread_labels(wanted: Sequence[float], gap: float) -> list[float]:
    """Return positions near the wanted ones, in the same order from top to bottom, at least `gap` apart."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [wanted[i] for i in order]
    for _ in range(40):
        for i in range(1, len(placed)):
            lack = gap - (placed[i] - placed[i - 1])
            if lack > 0:
                placed[i], placed[i - 1] = placed[i] + lack / 2, placed[i - 1] - lack / 2
    shift = max(0.0, placed[-1] - (HEIGHT - BOTTOM)) if placed else 0.0
    result = [0.0] * len(wanted)
    for position, i in enumerate(order):
        result[i] = placed[position] - shift
    return result


def format_short(value: float) -> str:
    """``1e4 -> '10 k'``, ``1e9 -> '1 G'``."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if value >= limit:
            return f"{value / (1e3 if unit == 'k' else limit):g} {unit}"
    return f"{value:,.0f}"


def _text(x: float, y: float, words: str, color: str = INK2, *, anchor: str = "start", bold: bool = False) -> str:
    style = f"font-size:11px;fill:{color};{'font-weight:600;' if bold else ''}paint-order:stroke"
    attributes = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" stroke="{PAPER}" stroke-width="3"'
    return f'<text {attributes} style="{style}">{html.escape(words)}</text>'


def _table(title: str, color: str, growth: Growth) -> str:
    heads = ("Hop", "Tree slots", "Unique nodes", "Edges", "Share of graph", "Redundancy", "Feature bytes")
    rows = []
    for hop in range(len(growth.share)):
        size = format_bytes(growth.feature_bytes[hop]) if growth.row_bytes else "–"
        counts = (growth.tree_slots.mean, growth.unique_nodes.mean, growth.num_edges.mean)
        cells = [str(hop), *(format_count(values[hop]) for values in counts)]
        cells += [format_share(growth.share[hop]), f"{growth.redundancy[hop]:,.1f} ×", size]
        rows.append("".join(f"<td style='text-align:right;padding:2px 8px'>{cell}</td>" for cell in cells))
    head = "".join(
        f"<th style='text-align:right;font-weight:400;font-size:11px;padding:2px 8px'>{h}</th>" for h in heads
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    caption = f"<caption style='text-align:left;font-weight:600;padding:8px 0 4px;color:{INK}'>"
    swatch = f"<i style='display:inline-block;width:16px;height:3px;background:{color};vertical-align:3px'></i>"
    return (
        f"<table>{caption}{swatch} {html.escape(title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
