"""The partition explorer without scripts: maps as small PNGs, figures and costs as tables."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.units import format_count
from workbench.widgets.figures import chip, figure, picture, svg_text, table, text_of
from workbench.widgets.partition_cost import CostSettings
from workbench.widgets.partition_lead import lead_sentence, pack_costs
from workbench.widgets.partition_names import compared_with, label_of, listed, name_of, part_counts
from workbench.widgets.partition_pack import drawn_edges, pack_facts, pack_figures
from workbench.widgets.partition_results import Made, Results
from workbench.widgets.theme import PART_COLORS, part_color, viridis

if TYPE_CHECKING:
    from workbench.graph import Graph

MAP_WIDTH, MAP_HEIGHT = 452, 400
MAX_MATRIX_PARTS = 8
MAX_STATIC_EDGES = 8_000


def summary(graph: Graph, shown: Sequence[Made], settings: CostSettings, error: str) -> str:
    """Return the explorer in words."""
    head = f"Partition explorer: {graph.name}, {graph.num_nodes:,} nodes, {graph.num_edges:,} directed edges"
    if error:
        return f"{head}\n{error}"
    if not shown:
        return f"{head}\nThe partitions are being computed."
    lines = [f"{head}, {_parts(shown)}", lead_sentence(shown, settings)]
    for made in shown:
        figures = "; ".join(f"{one.label} {one.text}" for one in made.quality.figures())
        lines.append(f"{_label(made, shown)}: {figures}")
    return "\n".join(lines)


def _parts(shown: Sequence[Made]) -> str:
    """Return ``4 parts``, or ``2, 4 and 8 parts``."""
    return f"{listed([str(count) for count in part_counts(shown)])} parts"


def _label(made: Made, shown: Sequence[Made]) -> str:
    return label_of(made.quality, len(part_counts(shown)) > 1)


def static_page(graph: Graph, shown: Sequence[Made], settings: CostSettings, results: Results, error: str) -> str:
    """Return the picture of what is shown."""
    if not shown:
        words = "".join(f"<p>{text_of(line)}</p>" for line in summary(graph, shown, settings, error).split("\n"))
        return figure(words, label="Partition explorer", style="partition_explorer")
    facts = pack_facts(graph)
    tiles = "".join(
        f"<div><b>{text_of(value)}</b><small>{text_of(unit + more)}</small></div>"
        for value, unit, more in facts["tiles"]
    )
    head = (
        f'<div class="pe-top"><h2>Partition explorer</h2><span>{text_of(graph.name)}, '
        f"{_parts(shown)}</span></div>"
        f'<p class="pe-lead">{text_of(lead_sentence(shown, settings))}</p><div class="pe-facts">{tiles}</div>'
    )
    columns = "".join(_column(graph, made, shown, settings, results) for made in shown)
    body = f'{head}<div class="pe-columns">{columns}</div>{_costs(graph, shown, settings)}'
    return figure(body, label="Partition explorer", style="partition_explorer")


def _column(graph: Graph, made: Made, shown: Sequence[Made], settings: CostSettings, results: Results) -> str:
    quality, name, other = made.quality, _label(made, shown), compared_with(made, shown)
    rows = pack_figures(made, shown, settings.widths)
    heads = ["Quality", name] + ([f"against {name_of(other.quality, len(part_counts(shown)) > 1)}"] if other else [])
    cells = [
        [text_of(row["label"]), f"<b>{text_of(row['text'])}</b>"]
        + ([f'<span class="pe-{row["kind"]}">{text_of(row["verdict"])}</span>'] if other else [])
        for row in rows
    ]
    cut = quality.edge_cut if quality.edge_cut_pairs is None else quality.edge_cut_pairs
    head = (
        f'<div class="pe-map-head"><h3>{text_of(name)}</h3><span class="pe-cut"><b>{format_count(cut)}</b> '
        f"<small>edges cut, {quality.edge_cut_ratio * 100:.1f}% of all</small></span></div>"
    )
    quality_table = table(heads, cells, label=f"Quality of {name}", num=(1, 2))
    return f"<div>{head}{_map(graph, made, results, name)}{_matrix(made, shown)}{quality_table}</div>"


def _costs(graph: Graph, shown: Sequence[Made], settings: CostSettings) -> str:
    costs = pack_costs(graph, shown, settings)
    rows = [[text_of(row[0]), *(f"<b>{text_of(cell)}</b>" for cell in row[1:])] for row in costs["rows"]]
    verdict = "".join(f'<p class="pe-verdict">{text_of(words)}</p>' for words in costs["verdicts"] + costs["scaling"])
    body = table(["", *costs["labels"]], rows, label="What it costs", num=range(1, len(shown) + 1))
    return f'<div class="pe-cost"><h3>What it costs</h3><small>{text_of(costs["model"])}</small>{verdict}{body}</div>'


def _matrix(made: Made, shown: Sequence[Made]) -> str:
    """Return the traffic matrix of a few parts as a picture; all that are shown share one log scale."""
    traffic, parts = made.quality.traffic, made.partition.num_parts
    if traffic is None or parts > MAX_MATRIX_PARTS or not traffic.any():
        return ""
    everything = np.concatenate([one.quality.traffic.ravel() for one in shown if one.quality.traffic is not None])
    low, high = np.log(everything[everything > 0].min()), np.log(max(everything.max(), 2))
    side, left, top = 44, 36, 36
    drawn = [svg_text(left + parts * side / 2, 11, "owner, sends", anchor="middle")]
    for i in range(parts):
        x, y = left + i * side, top + i * side
        drawn.append(f'<rect x="{x + 10}" y="19" width="10" height="10" rx="2" style="fill:{part_color(i)}"/>')
        drawn.append(svg_text(x + 24, 28, i))
        drawn.append(f'<rect x="10" y="{y + 16}" width="10" height="10" rx="2" style="fill:{part_color(i)}"/>')
        drawn.append(svg_text(24, y + 25, i))
        for j in range(parts):
            rows = int(traffic[i, j])
            share = float((np.log(rows) - low) / max(high - low, 1e-9)) if rows else 0.0
            fill, ink = (viridis(share), "#111418" if share > 0.6 else "#ffffff") if rows else ("var(--wb-track)", "")
            box = f'x="{left + j * side}" y="{y}" width="{side - 2}" height="{side - 2}" rx="2"'
            drawn.append(f'<rect {box} style="fill:{fill}"/>')
            place = (left + (j + 0.5) * side - 1, y + side / 2 + 3)
            words = "own" if i == j else format_count(rows)
            drawn.append(svg_text(*place, words, anchor="middle", cls="pe-cell", fill=ink))
    size = left + parts * side
    label = f"Traffic matrix of {_label(made, shown)}, rows read a layer"
    head = "<h4>Traffic matrix, rows a layer; row: reader, column: owner</h4>"
    return f'<div class="pe-still-matrix">{head}{picture(size, size, label, "".join(drawn))}</div>'


def _map(graph: Graph, made: Made, results: Results, name: str) -> str:
    if not results.has_layout:
        return ""
    from workbench.widgets.asks import Progress

    placed = results.layout(Progress())
    image = _draw(graph, placed.positions, made.partition.assignment)
    parts = made.partition.num_parts
    label = f"Map of {graph.name} by {name}: nodes coloured by part"
    key = " ".join(f'<span class="wb-name">{chip(part_color(i))}{i}</span>' for i in range(min(parts, 8)))
    source = f"data:image/png;base64,{base64.b64encode(image).decode()}"
    return (
        f'<img class="pe-still" src="{source}" alt="{text_of(label)}" width="{MAP_WIDTH}"><p class="pe-key">{key}</p>'
    )


def _draw(graph: Graph, positions: np.ndarray, assignment: np.ndarray) -> bytes:
    """Draw nodes over edges into an indexed PNG with a transparent ground, readable on light and dark."""
    canvas = np.zeros((MAP_HEIGHT, MAP_WIDTH), dtype=np.uint8)
    places = positions * [MAP_WIDTH - 5, -(MAP_HEIGHT - 5)] + [2, MAP_HEIGHT - 3]
    edges, _ = drawn_edges(graph)
    edges = edges[:: max(1, len(edges) // MAX_STATIC_EDGES)].astype(np.int64)
    steps = np.linspace(0, 1, 64)[:, None, None]
    lines = places[edges[:, 0]] * (1 - steps) + places[edges[:, 1]] * steps
    x, y = np.rint(lines.reshape(-1, 2)).astype(np.int64).T
    hits = np.bincount(y * MAP_WIDTH + x, minlength=canvas.size).reshape(canvas.shape)
    canvas[hits > 0] = 9
    x, y = np.rint(places).astype(np.int64).T
    for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)) if len(places) < 50_000 else ((0, 0),):
        canvas[y + dy, x + dx] = 1 + assignment % 8
    palette = [(0, 0, 0, 0), *(_rgba(color, 255) for color in PART_COLORS), (128, 136, 144, 90)]
    return encode_png(canvas, palette)


def _rgba(color: str, alpha: int) -> tuple[int, int, int, int]:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return red, green, blue, alpha


def encode_png(pixels: np.ndarray, palette: Sequence[tuple[int, int, int, int]]) -> bytes:
    """Return an indexed PNG of uint8 pixels (height, width) with an RGBA palette."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    height, width = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels], axis=1)  # filter 0 in front of each row
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            chunk(b"PLTE", bytes(value for color in palette for value in color[:3])),
            chunk(b"tRNS", bytes(color[3] for color in palette)),
            chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            chunk(b"IEND", b""),
        ]
    )
