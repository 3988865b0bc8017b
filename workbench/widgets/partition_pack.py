"""The partition explorer's state as JSON and arrays: facts of the graph, the map, one column a partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.rng import generator
from workbench.core.units import format_bytes, format_count
from workbench.graph.layout import GraphLayout
from workbench.partition import PARTITIONERS, node_methods
from workbench.partition.quality import PartitionQuality
from workbench.widgets.partition_names import compared_with, label_of, method_label, name_of, part_counts
from workbench.widgets.partition_results import Made

if TYPE_CHECKING:
    from workbench.graph import Graph

MAX_EDGES = 200_000  # drawn one by one; more are bundled, or sampled for a static picture, which both say so
MAX_EDGES_OF_LARGE = 100_000  # of a static picture of a graph of more nodes than LARGE
LARGE = 500_000
NO_CLASS = 255
SAME = 0.005  # two figures that differ by less are the same to a reader


def pack_facts(graph: Graph) -> dict[str, Any]:
    """Return what the header says of the graph."""
    symmetric = graph.is_symmetric()
    degrees = graph.in_degrees()
    pairs = graph.num_edges // 2
    edges = f"edges, {format_count(graph.num_edges)} directed" if symmetric else "directed edges"
    mean = graph.num_edges / graph.num_nodes
    classes = f", {graph.num_classes} classes" if _classes(graph) is not None else ""
    tiles = [
        [format_count(graph.num_nodes), "nodes", ""],
        [format_count(pairs if symmetric else graph.num_edges), *_split(edges)],
        [f"{mean:.2f}", "mean degree", f", max {format_count(int(degrees.max(initial=0)))}"],
        [format_count(graph.num_features), "features", classes],
        [format_count(len(graph.train_nodes)), "training nodes", ""],
    ]
    return {
        "name": graph.name,
        "tiles": tiles,
        "num_nodes": graph.num_nodes,
        "num_edges": graph.num_edges,
        "symmetric": symmetric,
        "num_features": graph.num_features,
        "num_classes": graph.num_classes,
        "has_classes": _classes(graph) is not None,
        "has_train": bool(len(graph.train_nodes)),
        "class_names": [str(name) for name in (graph.class_names or ())][:NO_CLASS],
    }


def _split(text: str) -> list[str]:
    head, comma, rest = text.partition(",")
    return [head, comma + rest]


def pack_methods() -> list[dict[str, str]]:
    """Return every method that can be shown, one that divides nodes, with its name for people and its summary."""
    entries = [PARTITIONERS.entry(name) for name in node_methods()]
    return [{"key": entry.name, "label": method_label(entry.name), "summary": entry.summary} for entry in entries]


def _classes(graph: Graph) -> np.ndarray | None:
    y = graph.y
    if y is None or y.ndim != 1 or not np.issubdtype(y.dtype, np.integer) or not graph.num_classes:
        return None
    return np.where(y < 0, NO_CLASS, y % NO_CLASS).astype(np.uint8)


def pack_map(graph: Graph, placed: GraphLayout) -> dict[str, Any]:
    """Return positions (uint16 pairs), edges (uint32 pairs; none where they are bundled), classes and training bits."""
    num_pairs = graph.num_edges // 2 if graph.is_symmetric() else graph.num_edges
    is_bundled = num_pairs > MAX_EDGES
    train = np.zeros(graph.num_nodes, dtype=np.bool_)
    train[graph.train_nodes] = True
    return {
        **_places(placed),
        "edges": np.zeros(0, dtype=np.uint32) if is_bundled else drawn_edges(graph)[0],
        "num_pairs": num_pairs,
        "is_bundled": is_bundled,
        "classes": _classes(graph),
        "train": np.packbits(train),
        "is_sketch": False,
    }


def pack_sketch(graph: Graph, placed: GraphLayout) -> dict[str, Any]:
    """Return what :func:`pack_map` does of a rough layout, without edges, classes and training bits."""
    none = np.zeros(0, dtype=np.uint32)
    rest = {"edges": none, "num_pairs": graph.num_edges, "is_bundled": False, "classes": None, "train": none}
    return {**_places(placed), **rest, "is_sketch": True}


def _places(placed: GraphLayout) -> dict[str, Any]:
    return {
        "positions": np.rint(placed.positions * 65535).astype(np.uint16),
        "strip_y": placed.strip_y,
        "num_small_components": placed.num_small_components,
        "num_small_nodes": placed.num_small_nodes,
    }


def drawn_edges(graph: Graph) -> tuple[np.ndarray, int]:
    """Return the edges to draw (uint32 pairs; a uniform sample where there are too many), and how many there are."""
    symmetric = graph.is_symmetric()
    limit = MAX_EDGES_OF_LARGE if graph.num_nodes > LARGE else MAX_EDGES
    num_pairs = graph.num_edges // 2 if symmetric else graph.num_edges
    rng = generator(0, graph.num_edges)
    if num_pairs <= limit:
        edge_ids = np.arange(graph.num_edges)
    else:
        wanted = int(limit * (2.1 if symmetric else 1.0))  # half of a symmetric graph's edges are the other direction
        edge_ids = np.sort(rng.choice(graph.num_edges, min(wanted, graph.num_edges), replace=False, shuffle=False))
    destination = np.searchsorted(graph.indptr, edge_ids, side="right") - 1
    pairs = np.stack([graph.indices[edge_ids], destination], axis=1)
    if symmetric:
        pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    if len(pairs) > limit:
        pairs = pairs[np.sort(rng.choice(len(pairs), limit, replace=False, shuffle=False))]
    return np.ascontiguousarray(pairs, dtype=np.uint32), num_pairs


def pack_column(made: Made, shown: Sequence[Made], widths: Sequence[int]) -> dict[str, Any]:
    """Return everything that is shown of one partition beside the others of `shown`."""
    quality, divided = made.quality, made.partition
    several, other = len(part_counts(shown)) > 1, compared_with(made, shown)
    narrow = np.uint8 if divided.num_parts <= 256 else np.uint16
    cut = quality.edge_cut if quality.edge_cut_pairs is None else quality.edge_cut_pairs
    recursive = divided.method == "metis" and divided.params.get("scheme") == "auto" and divided.num_parts <= 8
    return {
        "method": divided.method,
        "label": label_of(quality, several),
        "name": name_of(quality, several),
        "sub": _subtitle(divided.method, recursive),
        "num_parts": divided.num_parts,
        "cut": cut,
        "cut_ratio": quality.edge_cut_ratio,
        "figures": pack_figures(made, shown, widths),
        "against": name_of(other.quality, several) if other else None,
        "repaired": list(divided.repaired_parts),
        "nodes": quality.part_nodes,
        "in_edges": quality.part_in_edges,
        "train": quality.part_train_nodes,
        "halo": quality.part_halo_nodes,
        "boundary": quality.part_boundary_nodes,
        "traffic": quality.traffic,
        "cut_edges": quality.cut_edges,
        "assignment": divided.assignment.astype(narrow),
        "elapsed_s": quality.elapsed_s,
    }


def _subtitle(method: str, recursive: bool) -> str:
    if method == "metis":
        return "recursive bisection, cut, nodes balanced" if recursive else "k-way, cut, nodes balanced"
    summaries = {
        "random": "uniform, no balance asked",
        "contiguous": "blocks of node ids",
        "hash": "hash of the node id",
    }
    return summaries.get(method) or PARTITIONERS.entry(method).summary


def pack_figures(made: Made, shown: Sequence[Made], widths: Sequence[int]) -> list[dict[str, Any]]:
    """Return the table of quality of one partition, compared with another of `shown`."""
    other = compared_with(made, shown)
    return figure_rows(made.quality, other.quality if other else None, widths)


def figure_rows(
    quality: PartitionQuality, other: PartitionQuality | None, widths: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the table of quality: label, text, meaning, and how it compares with the other partition."""
    figures: list[tuple[str, str, float, float | None, str, str]] = []
    for figure in quality.figures():
        theirs = None if other is None else getattr(other, figure.name)
        figures.append((figure.label, figure.text, figure.value, theirs, figure.meaning, figure.name))
    figures[4:4] = [_bytes_row(quality, other, widths, index) for index in range(len(widths))]
    rows = []
    for label, text, value, theirs, meaning, name in figures:
        row: dict[str, Any] = {"name": name, "label": label, "text": text, "meaning": meaning}
        if other is not None and theirs is not None:
            row["verdict"], row["kind"] = compare(value, theirs, judged=other.num_parts == quality.num_parts)
        rows.append(row)
    return rows


def _bytes_row(
    quality: PartitionQuality, other: PartitionQuality | None, widths: Sequence[int], index: int
) -> tuple[str, str, float, float | None, str, str]:
    """Return the bytes that one layer reads of halos; the layers are numbered where there are several widths."""
    width = widths[index]
    num_bytes, theirs = (None if one is None else one.bytes_per_layer(width) for one in (quality, other))
    assert num_bytes is not None
    layer, name = ("Bytes a layer", "bytes") if len(widths) == 1 else (f"Bytes of layer {index + 2}", f"bytes_{index}")
    label, meaning = f"{layer}, width {width}, float32", "rows exchanged a layer times the width"
    return label, format_bytes(num_bytes), num_bytes, theirs, meaning, name


def compare(value: float, other: float, *, judged: bool = True) -> tuple[str, str]:
    """Say in words how a figure compares with another, less being better: (text, better | worse | same).

    Of partitions into different numbers of parts neither is better for cutting less: not `judged`, they are compared.
    """
    if value == other or (other and abs(value / other - 1) < SAME):
        return "= same", "same"
    if not judged and not (value and other):
        return ("none", "same") if not value else ("more than none", "same")
    if not value or not other:
        return ("▲ better, none", "better") if not value else ("▼ worse, against none", "worse")
    ratio, better = value / other, value < other
    if 2 / 3 <= ratio <= 1.5:
        text = f"{abs(ratio - 1) * 100:.0f}% {'less' if better else 'more'}"
    else:
        factor = 1 / ratio if better else ratio
        shown = f"{float(f'{factor:.2g}'):,.0f}" if factor >= 1000 else f"{factor:.3g}"
        text = f"{shown}× {'less' if better else 'more'}"
    if not judged:
        return text, "same"
    return f"{'▲ better' if better else '▼ worse'}, {text}", "better" if better else "worse"
