"""From Parquet files: one row an edge, and one row a node."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.core.given import require_path
from workbench.graph.build import fields_from_edges

Array = NDArray[Any]
SOURCE, DESTINATION, NODE = "source", "destination", "id"
_SPLIT_NAMES = {"train": "train_nodes", "val": "val_nodes", "valid": "val_nodes", "test": "test_nodes"}


def fields_from_parquet(edges: str | Path, nodes: str | Path | None, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a graph kept as tables.

    Parameters
    ----------
    edges : path
        Columns ``source`` and ``destination``; every further column of numbers is edge data.
    nodes : path, optional
        One row a node. ``id`` (default: the row number) is what edges refer to, whole numbers or text; ``x`` a list
        of numbers; ``y`` or ``label``; ``split`` one of train, val, test; ``name``; further columns are node data.
    """
    subject = "Graph.from_parquet"
    for name, path in (("edges", edges), ("nodes", "" if nodes is None else nodes)):
        require_path(path, name, subject)
    edge_table = _read(edges, "edges", subject, needed=(SOURCE, DESTINATION))
    node_table = {} if nodes is None else _read(nodes, "nodes", subject, needed=())
    given = _node_fields(node_table)
    num_nodes = len(next(iter(node_table.values()))) if node_table else None
    edge_index = np.stack([edge_table.pop(SOURCE), edge_table.pop(DESTINATION)])
    ids = node_table.get(NODE)
    if ids is not None:
        edge_index = _renumber(edge_index, ids, subject)
    elif edge_index.dtype.kind in "OU":
        names, flat = np.unique(edge_index.astype(np.str_), return_inverse=True)
        edge_index, num_nodes = flat.reshape(2, -1), len(names)
        given["node_names"] = names
    given["edge_data"] = {name: column for name, column in edge_table.items() if column.dtype.kind in "fiub"}
    return fields_from_edges(edge_index, num_nodes, given | dict(more), subject)


def _read(path: str | Path, argument: str, subject: str, needed: tuple[str, ...]) -> dict[str, Array]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    findings = Findings(subject)
    if not Path(path).exists():
        findings.add(argument, "a Parquet file or a folder of them", f"no such file: {path}", "correct the path")
        findings.raise_if_any()
    try:
        table = pq.read_table(path)
    except pa.ArrowInvalid as error:
        findings.add(argument, "a Parquet file", f"{path}: {str(error).splitlines()[0]}", "write it as Parquet")
        findings.raise_if_any()
    for name in needed:
        if name not in table.column_names:
            findings.add(f"{argument}[{name!r}]", "a column", f"columns {table.column_names}", f"rename it to {name!r}")
        elif table[name].null_count:
            findings.add(f"{argument}[{name!r}]", "no nulls", f"{table[name].null_count:,} nulls", "drop those rows")
    findings.raise_if_any()
    return {name: _to_array(table[name]) for name in table.column_names}


def _to_array(column: Any) -> Array:
    """Return a column as an array; lists of one length make a matrix."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        rows = len(column)
        flat = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return np.asarray(flat).reshape(rows, -1) if rows and len(flat) % rows == 0 else np.asarray(flat)
    return np.asarray(column.to_numpy())


def _node_fields(table: Mapping[str, Array]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    rest = dict(table)
    if "x" in rest:
        given["x"] = rest.pop("x")
    label = next((rest.pop(name) for name in ("y", "label") if name in rest), None)
    if label is not None and label.dtype.kind in "OU":
        classes, given["y"] = np.unique(label.astype(np.str_), return_inverse=True)
        given["class_names"] = classes.tolist()
    elif label is not None:
        given["y"] = label
    if "split" in rest:
        split = rest.pop("split").astype(np.str_)
        for value in sorted(set(split.tolist()) & set(_SPLIT_NAMES)):
            given[_SPLIT_NAMES[value]] = split == value
    if "name" in rest:
        given["node_names"] = rest.pop("name").tolist()
    elif NODE in rest and rest[NODE].dtype.kind in "OU":
        given["node_names"] = rest[NODE].tolist()
    rest.pop(NODE, None)
    given["node_data"] = {name: column for name, column in rest.items() if column.dtype.kind in "fiub"}
    return given


def _renumber(edge_index: Array, ids: Array, subject: str) -> Array:
    """Return the rows at which the nodes table holds the ids that edges refer to."""
    order = np.argsort(ids, kind="stable")
    ordered = ids[order]
    findings = Findings(subject)
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(twice):
        got = f"{len(twice):,} repeated, first {ordered[twice[0]]}"
        findings.add("nodes['id']", "each id once", got, "drop the repeated rows")
    place = np.minimum(np.searchsorted(ordered, edge_index), max(0, len(ids) - 1))
    unknown = ordered[place] != edge_index if len(ids) else np.ones(edge_index.shape, bool)
    if unknown.any():
        got = f"{int(unknown.sum()):,} ids that nodes lacks, first {edge_index[unknown].flat[0]}"
        findings.add("edges", "ids that stand in nodes['id']", got, "add those nodes, or drop those edges")
    findings.raise_if_any()
    return order[place]
