"""From a list of PyG graphs to one: many independent graphs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.graph.build import fields_from_edges
from workbench.graph.convert import EDGE_COLUMNS, NOT_COLUMNS
from workbench.graph.graph_set import GRAPH_IDS
from workbench.graph.inputs import check_split, to_numpy

Array = NDArray[Any]
SUBJECT = "Graph.from_pyg_list"


def fields_from_pyg_list(items: Any, splits: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the disjoint union of PyG ``Data`` objects.

    Parameters
    ----------
    items : sequence of Data
        Each with one label ``y`` (or none of them), the same columns of ``x``, and further node and edge attributes
        that all of them have.
    splits : mapping of ``train_graphs``, ``val_graphs``, ``test_graphs`` -> positions in the list, a mask, or None
    more : mapping
        Put over what the list gives.
    """
    findings, graphs = Findings(SUBJECT), list(items)
    _check_items(graphs, findings)
    sizes = np.array([int(item.num_nodes) for item in graphs], np.int64)
    _check_sizes(sizes, findings)
    labels = _labels(graphs, findings)
    findings.raise_if_any()
    starts = np.cumsum(sizes) - sizes
    ids = np.repeat(np.arange(len(graphs)), sizes)
    edges = [to_numpy(item.edge_index).astype(np.int64) + start for item, start in zip(graphs, starts, strict=True)]
    node_data, edge_data = _columns(graphs, findings)
    given: dict[str, Any] = {"node_data": {**node_data, GRAPH_IDS: ids}, "edge_data": edge_data}
    given |= {"x": _joined(graphs, "x", findings), "y": None if labels is None else labels[ids]}
    for name, value in splits.items():
        chosen = None if value is None else check_split(name, value, len(graphs), findings)
        if chosen is not None:
            given[name.replace("_graphs", "_nodes")] = np.flatnonzero(np.isin(ids, chosen))
    findings.raise_if_any()
    return fields_from_edges(np.concatenate(edges, axis=1), len(ids), given | dict(more), SUBJECT)


def _check_items(graphs: Sequence[Any], findings: Findings) -> None:
    if not graphs:
        findings.add("graphs", "at least one torch_geometric.data.Data", "an empty list", "pass list(dataset)")
    for i, item in enumerate(graphs):
        if hasattr(item, "node_types") or getattr(item, "edge_index", None) is None:
            got = type(item).__name__ + (" without edge_index" if hasattr(item, "edge_index") else "")
            findings.add(f"graphs[{i}]", "a homogeneous torch_geometric.data.Data", got, "pass list(dataset)")
            break
    findings.raise_if_any()


def _check_sizes(sizes: Array, findings: Findings) -> None:
    empty = np.flatnonzero(sizes == 0)
    if len(empty):
        got = f"{len(empty):,} without, first graphs[{int(empty[0])}]"
        findings.add("graphs", "graphs that have a node", got, "leave those graphs out")


def _labels(graphs: Sequence[Any], findings: Findings) -> Array | None:
    """Return one label a graph, or None where no graph has one."""
    values = [None if getattr(item, "y", None) is None else to_numpy(item.y).reshape(-1) for item in graphs]
    if all(value is None for value in values):
        return None
    for i, value in enumerate(values):
        if value is None or len(value) != 1:
            got = "none" if value is None else f"{len(value)} values"
            findings.add(f"graphs[{i}].y", "one label a graph, -1 where unknown", got, "give every graph one label")
            return None
    return np.concatenate([value for value in values if value is not None])


def _columns(graphs: Sequence[Any], findings: Findings) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the node and edge attributes that every graph has."""
    shared = set.intersection(*(set(item.keys()) for item in graphs)) - NOT_COLUMNS
    nodes: dict[str, Array] = {}
    edges: dict[str, Array] = {}
    for key in sorted(shared):
        if all(item.is_edge_attr(key) for item in graphs):
            edges[EDGE_COLUMNS.get(key, key)] = _joined(graphs, key, findings)
        elif all(item.is_node_attr(key) for item in graphs):
            nodes[key] = _joined(graphs, key, findings)
    return nodes, edges


def _joined(graphs: Sequence[Any], key: str, findings: Findings) -> Any:
    """Return an attribute of all graphs, one below another; note graphs that lack it, or have other columns."""
    values = [None if getattr(item, key, None) is None else to_numpy(item[key]) for item in graphs]
    if all(value is None for value in values):
        return None
    wanted = next(value.shape[1:] for value in values if value is not None)
    for i, value in enumerate(values):
        if value is None or value.shape[1:] != wanted:
            got = "none" if value is None else f"shape {value.shape}"
            fix = f"give every graph {key} with the same columns"
            findings.add(f"graphs[{i}].{key}", f"rows of shape {wanted}, as the others have", got, fix)
            return None
    return np.concatenate([value for value in values if value is not None])
