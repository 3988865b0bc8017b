"""From and to other libraries' graphs: PyG, networkx, SciPy. (Parquet files: parquet.py.)"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import Findings
from workbench.graph.build import fields_from_edges
from workbench.graph.inputs import to_numpy
from workbench.graph.node_data import SPLITS

if TYPE_CHECKING:
    from workbench.graph.graph import Graph

# PyG's name of an edge column -> the workbench's.
EDGE_COLUMNS = {"edge_weight": "weight", "edge_attr": "attr", "edge_type": "type", "edge_time": "time"}
_MASKS = {"train_mask": "train_nodes", "val_mask": "val_nodes", "test_mask": "test_nodes"}
NOT_COLUMNS = {"edge_index", "adj_t", "num_nodes", "x", "y", "ptr", "batch", *_MASKS}


def fields_from_pyg(data: Any, split: int, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a PyG ``Data``: its edges, x, y, masks, and every further node or edge attribute."""
    subject = "Graph.from_pyg"
    _check_pyg(data, subject)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG warns where it must infer the number from the edges
        num_nodes = data.num_nodes
    given: dict[str, Any] = {"x": data.x, "y": data.y}
    for mask, name in _MASKS.items():
        if mask in data:
            given[name] = _one_column(data[mask], split)
    node_data, edge_data = {}, {}
    for key in data.keys():  # noqa: SIM118 - a Data is no mapping
        if key in NOT_COLUMNS or not hasattr(data[key], "shape"):
            continue
        if data.is_edge_attr(key):
            edge_data[EDGE_COLUMNS.get(key, key)] = data[key]
        elif data.is_node_attr(key):
            node_data[key] = data[key]
    edge_index = data.edge_index
    if edge_index is None:
        edge_index, weight = _from_adj_t(data.adj_t)
        edge_data |= {"weight": weight}
    given |= {"node_data": node_data, "edge_data": edge_data}
    return fields_from_edges(edge_index, num_nodes, given | dict(more), subject)


def _check_pyg(data: Any, subject: str) -> None:
    findings = Findings(subject)
    kind = type(data).__name__
    if hasattr(data, "node_types"):
        fix = "pass data.to_homogeneous(), whose node and edge types become columns"
        findings.add("data", "a homogeneous torch_geometric.data.Data", kind, fix)
    elif not hasattr(data, "edge_index"):
        fix = "pass a Data object, or use Graph.from_edge_index"
        if hasattr(data, "__getitem__"):
            fix = "pass dataset[0], or all its graphs to Graph.from_pyg_list"
        findings.add("data", "a torch_geometric.data.Data", kind, fix)
    elif data.edge_index is None and getattr(data, "adj_t", None) is None:
        findings.add("data.edge_index", "the edges, (2, m)", "None", "set data.edge_index")
    findings.raise_if_any()


def _one_column(mask: Any, split: int) -> Any:
    return mask[:, split] if mask.ndim == 2 else mask


def _from_adj_t(adj_t: Any) -> tuple[Any, Any]:
    """Return edges and weights of a transposed adjacency matrix: its rows are destinations."""
    if hasattr(adj_t, "coo"):
        destination, source, weight = adj_t.coo()
        return np.stack([to_numpy(source), to_numpy(destination)]), weight
    pairs = adj_t.to_sparse_coo().coalesce()
    return to_numpy(pairs.indices())[::-1], pairs.values()


def to_pyg(graph: Graph) -> Any:
    """Return a PyG ``Data`` with copies of the arrays, edges and edge data in their original order."""
    import torch
    from torch_geometric.data import Data

    back = None
    if graph.edge_order is not None:
        back = np.empty(graph.num_edges, graph.edge_order.dtype)
        back[graph.edge_order] = np.arange(graph.num_edges, dtype=back.dtype)
    edge_index = graph.edge_index()
    data = Data(edge_index=torch.from_numpy(edge_index if back is None else edge_index[:, back]))
    data.num_nodes = graph.num_nodes
    for name, column in graph.node_data.items():
        if name in SPLITS:
            mask = np.zeros(graph.num_nodes, bool)
            mask[column] = True
            data[name.replace("_nodes", "_mask")] = torch.from_numpy(mask)
        elif getattr(column, "dtype", np.dtype(object)).kind in "fiub":
            data[name] = torch.from_numpy(np.array(column))
    names = {ours: theirs for theirs, ours in EDGE_COLUMNS.items()}
    for name, column in graph.edge_data.items():
        if column.dtype.kind in "fiub":
            clash = f"edge_{name}" if name in graph.node_data else name
            data[names.get(name, clash)] = torch.from_numpy(np.array(column if back is None else column[back]))
    return data


def fields_from_scipy(matrix: Any, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a sparse adjacency matrix; weights that are all 1 are not kept."""
    subject = "Graph.from_scipy"
    findings = Findings(subject)
    if not hasattr(matrix, "tocoo"):
        fix = "pass scipy.sparse.csr_array(matrix)"
        findings.add("matrix", "a SciPy sparse matrix", type(matrix).__name__, fix)
    elif matrix.shape[0] != matrix.shape[1]:
        findings.add("matrix", "as many rows as columns", f"shape {matrix.shape}", "pass the (n, n) adjacency matrix")
    findings.raise_if_any()
    entries = matrix.tocoo()
    edge_index = np.stack([entries.row, entries.col])
    edge_data = {} if bool(np.all(entries.data == 1)) else {"weight": entries.data}
    given = {"edge_data": edge_data, **more}
    return fields_from_edges(edge_index, matrix.shape[0], given, subject)


def fields_from_networkx(graph: Any, label: str | None, more: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a networkx graph: nodes in its order, attributes that all nodes or edges have as columns."""
    subject = "Graph.from_networkx"
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed")):
        findings = Findings(subject)
        findings.add("graph", "a networkx graph", type(graph).__name__, "pass nx.Graph(...) or nx.DiGraph(...)")
        findings.raise_if_any()
    nodes = list(graph.nodes)
    position = {node: i for i, node in enumerate(nodes)}
    edges = list(graph.edges(data=True))
    source = np.fromiter((position[u] for u, _, _ in edges), np.int64, len(edges))
    destination = np.fromiter((position[v] for _, v, _ in edges), np.int64, len(edges))
    edge_data = _shared_attributes([attributes for _, _, attributes in edges])
    if not graph.is_directed():
        apart = np.flatnonzero(source != destination)
        source, destination = np.append(source, destination[apart]), np.append(destination, source[apart])
        edge_data = {key: np.concatenate([value, value[apart]]) for key, value in edge_data.items()}
    given = _node_attributes(graph, nodes, label, subject)
    given["edge_data"] = edge_data
    if nodes != list(range(len(nodes))):
        given["node_names"] = [str(node) for node in nodes]
    return fields_from_edges(np.stack([source, destination]), len(nodes), given | dict(more), subject)


def _node_attributes(graph: Any, nodes: list[Any], label: str | None, subject: str) -> dict[str, Any]:
    columns = _shared_attributes([graph.nodes[node] for node in nodes])
    given: dict[str, Any] = {key: columns.pop(key) for key in ("x", "y", *_MASKS) if key in columns}
    if label is not None:
        values = [graph.nodes[node].get(label) for node in nodes]
        known = sorted({str(value) for value in values if value is not None})
        if not known:
            findings = Findings(subject)
            findings.add("label", "an attribute of the nodes", repr(label), f"use one of {sorted(columns)}")
            findings.raise_if_any()
        number = {name: i for i, name in enumerate(known)}
        given["y"] = np.array([-1 if value is None else number[str(value)] for value in values], np.int64)
        given["class_names"] = known
        columns.pop(label, None)
    given["node_data"] = columns
    return given


def _shared_attributes(attributes: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the attributes that every item has, as columns, where they make an array."""
    shared = set.intersection(*(set(item) for item in attributes)) if attributes else set()
    columns = {str(key): to_numpy([item[key] for item in attributes]) for key in sorted(shared, key=str)}
    return {key: column for key, column in columns.items() if column.dtype.kind in "fiubU"}
