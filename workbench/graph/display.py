"""How a graph shows itself: one line of text, and a card in a notebook. Names from data are escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.core.units import format_bytes, format_count

if TYPE_CHECKING:
    from workbench.graph.graph import Graph
    from workbench.graph.stats import Degrees, GraphStats

Row = tuple[str, str, str]  # label, value, meaning (shown on hover)


def graph_text(graph: Graph) -> str:
    """``Graph('debian': 63,436 nodes, 670,836 edges, 512 features, 58 classes)``."""
    parts = [f"{graph.num_nodes:,} nodes", f"{graph.num_edges:,} edges"]
    if graph.num_features:
        parts.append(f"{graph.num_features:,} features")
    if graph.num_classes:
        parts.append(f"{graph.num_classes:,} {_columns(graph)}")
    return f"Graph({graph.name!r}: {', '.join(parts)})"


def _columns(graph: Graph) -> str:
    """Say what ``num_classes`` counts: classes of labels, or columns of targets."""
    if graph.y is None or graph.y.ndim == 1:
        return "classes"
    return "target" if graph.y.shape[1] == 1 else "targets"


def graph_html(graph: Graph) -> str:
    """Return the card of a graph: counts, data, splits, and its degree distribution as a small picture."""
    rows: list[Row] = [
        ("nodes", f"{graph.num_nodes:,}", "number of nodes"),
        ("edges", f"{graph.num_edges:,}", "directed edges: an undirected edge counts twice"),
        ("features", _features(graph), "x: one row a node"),
        (_columns(graph), f"{graph.num_classes:,}" if graph.num_classes else "no labels", f"{_columns(graph)} of y"),
        ("train / val / test", _splits(graph), "nodes of the three splits"),
    ]
    for title, columns in (("node data", graph.node_data), ("edge data", graph.edge_data)):
        own = [name for name in columns if name not in {"x", "y", "train_nodes", "val_nodes", "test_nodes"}]
        if own:
            rows.append((title, ", ".join(own), f"further columns: graph.{title.replace(' ', '_')}[name]"))
    topology = graph.indptr.nbytes + graph.indices.nbytes
    rows.append(("topology", format_bytes(topology), "bytes of indptr and indices"))
    rows.append(("fingerprint", graph.fingerprint[:12], f"BLAKE2b of the topology: {graph.fingerprint}"))
    return _card(f"Graph · {graph.name}", rows, degree_picture(graph.in_degrees()))


def _features(graph: Graph) -> str:
    if graph.x is None:
        return "none"
    kept = "" if type(graph.x) is np.ndarray else ", mapped" if isinstance(graph.x, np.memmap) else ", sparse"
    return f"{graph.num_features:,} × float32, {format_bytes(graph.x.nbytes)}{kept}"


def _splits(graph: Graph) -> str:
    sizes = [len(graph.train_nodes), len(graph.val_nodes), len(graph.test_nodes)]
    return " / ".join(f"{size:,}" for size in sizes) if any(sizes) else "none"


def stats_rows(stats: GraphStats) -> list[Row]:
    """Return the statistics as label, value and meaning."""
    largest = f", the largest {stats.largest_component:,} nodes" if stats.num_components > 1 else ""
    homophily = "no labels" if stats.homophily is None else f"{stats.homophily:.2f}"
    direction = "yes" if stats.symmetric else "no"
    splits = f"{stats.num_train:,} / {stats.num_val:,} / {stats.num_test:,}"
    simple = "of the graph made undirected, without self-loops and parallel edges"
    return [
        ("nodes", f"{stats.num_nodes:,}", "number of nodes"),
        ("edges", f"{stats.num_edges:,}", "directed edges: an undirected edge counts twice"),
        ("undirected", direction, "every edge stands beside its reverse"),
        ("degree", _degrees(stats.degrees), f"neighbours a node, {simple}"),
        ("in-degree", _degrees(stats.in_degrees), "in-edges a node: what a message-passing layer reads"),
        ("out-degree", _degrees(stats.out_degrees), "out-edges a node"),
        ("isolated nodes", f"{stats.num_isolated:,}", "nodes without an edge to another node"),
        ("self-loops", f"{stats.num_self_loops:,}", "edges from a node to itself"),
        ("parallel edges", f"{stats.num_duplicates:,}", "edges beyond the first from one node to another"),
        ("components", f"{stats.num_components:,}{largest}", "weakly connected components"),
        ("homophily", homophily, "share of edges within one class, among edges between labelled nodes"),
        ("features", f"{stats.num_features:,}", "columns of x"),
        ("classes", f"{stats.num_classes:,}", "classes of y"),
        ("labelled nodes", f"{stats.num_labelled:,}", "nodes with a label"),
        ("train / val / test", splits, "nodes of the three splits"),
        ("topology", format_bytes(stats.topology_bytes), "bytes of indptr and indices"),
        ("data", format_bytes(stats.data_bytes), "bytes of node and edge data"),
    ]


def _degrees(degrees: Degrees) -> str:
    return f"mean {degrees.mean:.1f}, median {degrees.median:g}, p99 {degrees.p99:g}, max {format_count(degrees.max)}"


def stats_text(stats: GraphStats) -> str:
    """Return the statistics as lines of text."""
    return "\n".join([f"GraphStats({stats.name!r})", *(f"  {row[0]:<20}{row[1]}" for row in stats_rows(stats))])


def stats_html(stats: GraphStats) -> str:
    """Return the statistics as a table with the meaning of each number on hover."""
    return _card(f"Statistics · {stats.name}", stats_rows(stats), "")


_STYLE = (
    "font: 13px/1.5 var(--jp-ui-font-family, system-ui, sans-serif); color: var(--jp-ui-font-color1, currentColor);"
    "border: 1px solid var(--jp-border-color2, #c8c8c8); border-radius: 8px; padding: 10px 14px; display: inline-flex;"
    "gap: 28px; align-items: flex-start; flex-wrap: wrap; background: var(--jp-layout-color1, transparent)"
)
_FAINT = "color: var(--jp-ui-font-color2, gray)"
_BAR = "#2e8bc9"  # readable on white and on black, and for every kind of colour vision
_NUMBER = "font-variant-numeric: tabular-nums"


def _card(title: str, rows: list[Row], picture: str) -> str:
    cells = "".join(
        f'<div style="{_FAINT}" title="{escape(meaning)}">{escape(label)}</div>'
        f'<div style="{_NUMBER}" title="{escape(meaning)}">{escape(value)}</div>'
        for label, value, meaning in rows
    )
    grid = f'<div style="display: grid; grid-template-columns: max-content auto; column-gap: 18px">{cells}</div>'
    head = f'<div style="font-weight: 600; margin-bottom: 4px">{escape(title)}</div>'
    return f'<div style="{_STYLE}"><div>{head}{grid}</div>{picture}</div>'


def degree_picture(degrees: NDArray[np.int64], width: int = 270, height: int = 120) -> str:
    """Return the distribution of in-degrees as SVG: nodes (log scale) in each doubling of the degree."""
    if len(degrees) == 0:
        return ""
    counts = degree_histogram(degrees)
    label = f"In-degrees: {int((degrees == 0).sum()):,} nodes have none, the largest is {int(degrees.max()):,}"
    size = f'viewBox="-4 -18 {width + 8} {height + 54}" width="{width + 8}" height="{height + 54}"'
    body = _bars(counts, width, height) + _axes(counts, width, height)
    return f'<svg role="img" aria-label="{label}" {size}>{body}</svg>'


def _bars(counts: NDArray[np.int64], width: int, height: int) -> str:
    tall = np.log10(counts + 1.0) / np.log10(counts.max() + 1.0) * height
    step = width / len(counts)
    return "".join(
        f'<rect x="{i * step + 1:.1f}" y="{height - bar:.1f}" width="{max(1.0, step - 2):.1f}" height="{bar:.1f}" '
        f'rx="1.5" fill="{_BAR}"><title>in-degree {degree_bin(i)}: {int(count):,} nodes</title></rect>'
        for i, (bar, count) in enumerate(zip(tall.tolist(), counts.tolist(), strict=True))
    )


def _axes(counts: NDArray[np.int64], width: int, height: int) -> str:
    text = 'font-size="11" fill="currentColor" opacity="0.75"'
    last = f'<text x="{width}" y="{height + 14}" {text} text-anchor="end">{degree_bin(len(counts) - 1)}</text>'
    meaning = "in-degree (edges), doubling from bar to bar"
    return (
        f'<line x1="0" x2="{width}" y1="{height}" y2="{height}" stroke="currentColor" opacity="0.4"/>'
        f'<text x="0" y="-7" {text}>nodes (log scale), tallest bar {int(counts.max()):,}</text>'
        f'<text x="0" y="{height + 14}" {text}>{degree_bin(0)}</text>{last if len(counts) > 1 else ""}'
        f'<text x="{width / 2}" y="{height + 30}" {text} text-anchor="middle">{meaning}</text>'
    )


def degree_histogram(degrees: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of nodes with degree 0, 1, 2-3, 4-7, 8-15, ... ."""
    bins = np.where(degrees > 0, np.floor(np.log2(np.maximum(degrees, 1))).astype(np.int64) + 1, 0)
    return np.bincount(bins)


def degree_bin(index: int) -> str:
    """Name a bar: ``0``, ``1``, ``2–3``, ``4–7``, ... ."""
    return str(index) if index < 2 else f"{2 ** (index - 1):,}–{2**index - 1:,}"
