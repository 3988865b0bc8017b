"""From what a person hands in to the fields of a :class:`Graph`: check everything, then build."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.graph import csc, inputs
from workbench.graph.node_data import SPLITS, Columns, Names

Array = NDArray[Any]


class GraphData(TypedDict, total=False):
    """Everything that a graph may carry beside its edges; the keywords of every constructor.

    Parameters
    ----------
    x : (n, f) array, tensor, SciPy sparse matrix or SparseRows
        Node features; kept as float32.
    y : (n,) whole numbers, -1 where unknown, or (n,) or (n, c) numbers, NaN where unknown
        Labels, or targets; a column of targets is kept as (n, 1).
    train_nodes, val_nodes, test_nodes : node ids or boolean mask
        Splits; PyG's names ``train_mask``, ``val_mask``, ``test_mask`` are taken too.
    node_data, edge_data : mapping of name -> column
        Further columns: n rows, or m rows in the order of the edges as given.
    num_classes : int
        Number of classes, where the labels do not show all of them.
    node_names, class_names : sequences of text
    name : str
    meta : mapping of JSON values
    """

    x: Any
    y: Any
    train_nodes: Any
    val_nodes: Any
    test_nodes: Any
    train_mask: Any
    val_mask: Any
    test_mask: Any
    node_data: Mapping[str, Any] | None
    edge_data: Mapping[str, Any] | None
    num_classes: int | None
    node_names: Any
    class_names: Any
    name: str
    meta: Mapping[str, Any]


def fields_from_edges(edge_index: Any, num_nodes: int | None, data: Mapping[str, Any], subject: str) -> dict[str, Any]:
    """Return the fields of a graph with these edges and this data, or raise one error with every finding."""
    findings = Findings(subject)
    data = _known(data, findings)
    count = _count_nodes(num_nodes, data, findings)
    edges = inputs.check_edge_index(edge_index, count, findings)
    if count is None:
        count = int(max(edges[0].max(), edges[1].max())) + 1 if edges is not None and len(edges[0]) else 0
    # Without edges and features nobody knows the number of nodes: what depends on it is not judged.
    nodes = node_fields(data, count, findings) if edges is not None or count else {}
    columns = _edge_columns(data, None if edges is None else len(edges[0]), findings)
    findings.raise_if_any()
    assert edges is not None
    topology = csc.build_csc(edges[0], edges[1], count)
    if topology.order is not None:
        columns = {name: column[topology.order] for name, column in columns.items()}
    return {
        "indptr": topology.indptr,
        "indices": topology.indices,
        "edge_order": topology.order,
        "edge_data": Columns(columns),
        "name": str(data.get("name") or "graph"),
        "meta": dict(data.get("meta") or {}),
        **nodes,
    }


def _known(data: Mapping[str, Any], findings: Findings) -> dict[str, Any]:
    """Drop what is None, take PyG's names of masks, and note keywords that nobody knows."""
    known = {}
    for key, value in data.items():
        if key not in GraphData.__annotations__:
            fix = f"put it into node_data={{{key!r}: ...}} or edge_data={{{key!r}: ...}}"
            findings.add(key, f"one of: {', '.join(GraphData.__annotations__)}", "an unknown keyword", fix)
        elif value is not None:
            known[key] = value
    for split in SPLITS:
        mask = known.pop(split.replace("_nodes", "_mask"), None)
        if mask is not None and split in known:
            name = split.replace("_nodes", "_mask")
            findings.add(f"{split}, {name}", "one of the two", "both", f"leave out {name}")
        elif mask is not None:
            known[split] = mask
    _check_meta(known.get("meta"), findings)
    return known


def _check_meta(meta: Any, findings: Findings) -> None:
    try:
        json.dumps(dict(meta or {}))
    except (TypeError, ValueError) as error:
        findings.add(
            "meta", "a mapping of JSON values", f"{type(error).__name__}: {error}", "convert to text or numbers"
        )


def _count_nodes(num_nodes: Any, data: Mapping[str, Any], findings: Findings) -> int | None:
    if num_nodes is None:
        counts = [inputs.rows_of(data[key]) for key in ("x", "y", "node_names") if key in data]
        return next((count for count in counts if count is not None), None)
    if isinstance(num_nodes, bool) or not isinstance(num_nodes, (int, np.integer)) or num_nodes < 0:
        findings.add("num_nodes", "a whole number from 0 up", repr(num_nodes), "pass the number of nodes")
        return None
    return int(num_nodes)


def node_fields(data: Mapping[str, Any], num_nodes: int, findings: Findings) -> dict[str, Any]:
    """Return the checked fields that concern nodes: columns, names, classes."""
    class_names = data.get("class_names")
    classes = None if class_names is None else tuple(str(name) for name in class_names)
    num_classes = data.get("num_classes")
    if classes is not None:
        if num_classes is not None and num_classes != len(classes):
            got = f"num_classes={num_classes} and {len(classes)} names"
            findings.add("class_names", "one name a class", got, "leave out num_classes")
        num_classes = len(classes)
    columns = _named_columns(data, num_nodes, num_classes, findings)
    names = data.get("node_names")
    if names is not None and len(names) != num_nodes:
        findings.add("node_names", f"num_nodes = {num_nodes:,} names", f"{len(names):,}", "pass one name a node")
    packed = names if names is None or isinstance(names, Names) else Names.from_strings(names)
    return {"node_data": Columns(columns), "names": packed, "class_names": classes, "class_count": num_classes}


def _named_columns(
    data: Mapping[str, Any], num_nodes: int, num_classes: int | None, findings: Findings
) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    if "x" in data:
        columns["x"] = inputs.check_features(data["x"], num_nodes, findings)
    if "y" in data:
        columns["y"] = inputs.check_labels(data["y"], num_nodes, num_classes, findings)
    for split in SPLITS:
        if split in data:
            columns[split] = inputs.check_split(split, data[split], num_nodes, findings)
    inputs.check_splits_together(columns, findings)
    for name, value in dict(data.get("node_data") or {}).items():
        if name in GraphData.__annotations__:
            findings.add(f"node_data[{name!r}]", "a name of your own", name, f"pass it as {name}=")
            continue
        columns[name] = _column(f"node_data[{name!r}]", value, num_nodes, "node", findings)
    return columns


def _edge_columns(data: Mapping[str, Any], num_edges: int | None, findings: Findings) -> dict[str, Any]:
    given = dict(data.get("edge_data") or {})
    return {
        name: _column(f"edge_data[{name!r}]", value, num_edges, "edge", findings)
        for name, value in given.items()
        if value is not None
    }


def _column(where: str, value: Any, num_rows: int | None, kind: str, findings: Findings) -> Array | None:
    column: Array = inputs.to_numpy(value)
    if column.dtype.kind == "T" or (column.dtype.kind == "O" and all(isinstance(item, str) for item in column.flat)):
        column = column.astype(np.str_)  # fixed width, which a folder can map
    if column.dtype.kind not in "fiubUS":
        findings.add(where, "numbers or text", f"type {column.dtype}", "convert it to a NumPy array of numbers")
        return None
    if column.ndim == 0 or (num_rows is not None and len(column) != num_rows):
        got = "a single value" if column.ndim == 0 else f"{len(column):,}"
        expected = f"one row a {kind}" + ("" if num_rows is None else f" ({num_rows:,})")
        findings.add(where, expected, got, f"pass one row a {kind}")
        return None
    if kind == "edge" and column.dtype.kind == "f" and not np.isfinite(column).all():
        bad = ~np.isfinite(column)
        first = int(np.argmax(bad.reshape(len(column), -1).any(axis=1)))
        got = f"{int(bad.sum()):,} NaN or infinite, first at edge {first}"
        findings.add(where, "finite numbers", got, "drop those edges, or give them a value")
    return np.ascontiguousarray(column)


def replaced_fields(graph: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `graph` that change when `data` is put over what it carries."""
    findings = Findings("graph.with_data")
    removed = {key for key, value in data.items() if value is None}
    given = _known(data, findings)
    own = {key: column for key, column in graph.node_data.items() if key not in GraphData.__annotations__}
    kept: dict[str, Any] = {key: column for key, column in graph.node_data.items() if key in GraphData.__annotations__}
    kept |= {"node_names": graph.names, "class_names": graph.class_names, "num_classes": graph.class_count}
    if "class_names" in given or "class_names" in removed or "num_classes" in given:
        kept["class_names"] = kept["num_classes"] = None
    merged = {key: value for key, value in (kept | given).items() if value is not None and key not in removed}
    merged["node_data"] = _merge(own, given.get("node_data"))
    edges = _edge_columns(given, graph.num_edges, findings)
    fields = node_fields(merged, graph.num_nodes, findings)
    findings.raise_if_any()
    kept_edges = _merge(dict(graph.edge_data), dict(given.get("edge_data") or {}))
    fields["edge_data"] = Columns({key: edges.get(key, column) for key, column in kept_edges.items()})
    fields["name"] = str(given.get("name", graph.name))
    fields["meta"] = Columns(given.get("meta", graph.meta))
    return fields | {"folder": None}


def _merge(columns: Mapping[str, Any], changes: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: value for key, value in {**columns, **(changes or {})}.items() if value is not None}


def undirected_fields(graph: Any) -> dict[str, Any]:
    """Return the fields of `graph` that change when its edges are made to run both ways."""
    source, destination, edge = csc.both_directions(graph.indices, csc.destinations(graph.indptr), graph.num_nodes)
    topology = csc.build_csc(source, destination, graph.num_nodes)
    columns = {name: column[edge] for name, column in graph.edge_data.items()}
    return {
        "indptr": topology.indptr,
        "indices": topology.indices,
        "edge_order": None,
        "edge_data": Columns(columns),
        "folder": None,
    }
