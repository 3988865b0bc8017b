"""The edges of the loaders' data by destination, with the columns by which neighbours are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.core.errors import Findings, InputError
from workbench.gather.loader_check import check_vector, count_nodes
from workbench.graph import Graph
from workbench.graph.convert import EDGE_COLUMNS
from workbench.sampling.columns import note_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnNames:
    """The columns that weigh and date edges, or date nodes; None where there is none."""

    weight: str | None = None
    time: str | None = None


def open_topology(data: Any, names: ColumnNames, findings: Findings) -> tuple[Graph, ColumnNames]:
    """Return the graph that is sampled, and its names of the columns; their order of edges stays known.

    Raises
    ------
    InputError
        With every finding so far, where the edges are wrong.
    """
    if isinstance(data, Graph):
        return data, _names_in(data, names, findings)
    if data.edge_index is None:
        fix = "set data.edge_index; for no edge at all, torch.empty((2, 0), dtype=torch.long)"
        findings.add("data.edge_index", "the edges, (2, m)", "None", fix)
        raise InputError(findings.subject, findings.errors)
    edge_index, num_nodes = data.edge_index, count_nodes(data)
    node_data, edge_data = _columns(data, names, num_nodes, edge_index.shape[-1], findings)
    try:
        return Graph.from_edge_index(edge_index, num_nodes, node_data=node_data, edge_data=edge_data), names
    except InputError as error:
        findings.items.extend(error.findings)
        raise InputError(findings.subject, findings.errors) from error


def _columns(
    data: Any, names: ColumnNames, num_nodes: int, num_edges: int, findings: Findings
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of nodes and of edges that the sampler reads, as PyG tells them apart."""
    node_data: dict[str, Any] = {}
    edge_data: dict[str, Any] = {}
    for argument, name in (("weight_attr", names.weight), ("time_attr", names.time)):
        if name is None:
            continue
        if name not in data:
            known = sorted(str(key) for key in data.keys())  # noqa: SIM118 - a Data is no mapping
            findings.add(argument, f"a column of the data: {known}", repr(name), f"set data[{name!r}]")
        elif argument == "time_attr" and data.is_node_attr(name):
            node_data[name] = check_vector(f"data[{name!r}]", data[name], num_nodes, "for each node", findings)
        else:
            column = check_vector(f"data[{name!r}]", data[name], num_edges, "for each edge", findings)
            if column is not None and argument == "weight_attr":
                note_weights(column, f"data[{name!r}]", findings)  # here edges have the numbers that the user knows
            edge_data[name] = column
    findings.raise_if_any()
    return node_data, edge_data


def _names_in(graph: Graph, names: ColumnNames, findings: Findings) -> ColumnNames:
    """Return the graph's own names of the columns: PyG's ``edge_weight`` is its ``weight``."""
    found = {}
    for argument, name, columns in (
        ("weight_attr", names.weight, (graph.edge_data,)),
        ("time_attr", names.time, (graph.node_data, graph.edge_data)),
    ):
        choices = [choice for choice in (name, EDGE_COLUMNS.get(name or "")) if choice is not None]
        held = [choice for choice in choices if any(choice in column for column in columns)]
        if name is not None and not held:
            known = sorted({key for column in columns for key in column})
            findings.add(argument, f"a column of the graph: {known}", repr(name), "pass it to the graph's constructor")
        found[argument] = held[0] if held else None
    return ColumnNames(weight=found["weight_attr"], time=found["time_attr"])
