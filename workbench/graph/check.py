"""What one should know about a graph before training on it: each finding with its consequence and a one-line fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Finding, Findings
from workbench.graph.graph_set import GRAPH_IDS, check_graph_set
from workbench.graph.inputs import counted
from workbench.graph.node_data import SPLITS

if TYPE_CHECKING:
    from workbench.graph.graph import Graph
    from workbench.graph.stats import GraphStats

Array = NDArray[Any]
ROWS_LOOKED_AT = 4096  # of x: evenly spaced, so that a mapped file larger than memory is checked quickly
LARGE_VALUE = 100.0
UNEQUAL_SCALES = 1000.0
HEAVY_HUB_SHARE, HEAVY_HUB_DEGREE = 0.05, 1000
LOW_HOMOPHILY = 0.2


def check_graph(graph: Graph) -> tuple[Finding, ...]:
    """Return everything about a graph that a person should know before training on it, the gravest first.

    ``error``: training would fail or be meaningless; ``warning``: probably not what was meant; ``info``: a property
    that explains results. Takes O(m), and looks at 4,096 rows of the features.
    """
    findings = Findings(f"doctor({graph.name!r})")
    stats = graph.stats()
    _check_edges(stats, findings)
    _check_degrees(graph, stats, findings)
    _check_features(graph, findings)
    _check_labels(graph, stats, findings)
    _check_splits(graph, findings)
    if GRAPH_IDS in graph.node_data:
        check_graph_set(graph, findings)
    gravity = {"error": 0, "warning": 1, "info": 2}
    return tuple(sorted(findings.items, key=lambda finding: gravity[finding.severity]))


def _check_edges(stats: GraphStats, findings: Findings) -> None:
    if stats.num_nodes == 0:
        findings.add("graph", "nodes", "an empty graph", "pass edges or num_nodes=")
        return
    if stats.num_edges == 0:
        fix = "check edge_index; without edges a GNN is a plain network on x"
        findings.add("edges", "at least one", "none", fix, "warning")
    if not stats.symmetric:
        got = "a directed graph: messages run along the edges only, and nodes without in-edges hear nothing"
        fix = "graph = graph.to_undirected(), unless the direction is meant"
        findings.add("edges", "every edge beside its reverse", got, fix, "warning")
    if stats.num_duplicates:
        got = f"{counted(stats.num_duplicates, 'parallel edge')}: a neighbour counts as often as it is joined"
        fix = "graph = graph.to_undirected() keeps one of each, unless their number is meant"
        findings.add("edges", "each pair joined once", got, fix, "warning")
    if stats.num_self_loops:
        got = counted(stats.num_self_loops, "self-loop")
        fix = "nothing to do: GCN brings its own and replaces these, SAGE counts a node among its neighbours"
        findings.add("edges", "no self-loops", got, fix, "info")


def _check_degrees(graph: Graph, stats: GraphStats, findings: Findings) -> None:
    if stats.num_isolated and stats.num_edges:
        share = stats.num_isolated / stats.num_nodes
        got = f"{counted(stats.num_isolated, 'isolated node')} ({share:.1%}): only their own features can classify them"
        findings.add("nodes", "neighbours for every node", got, "nothing to do, or add edges for them", "info")
    components = stats.num_components - stats.num_isolated
    if components > 1:
        got = f"{components:,} components beside the isolated nodes, the largest of {stats.largest_component:,} nodes"
        findings.add("edges", "one component", got, "nothing to do: partitioners and samplers handle it", "info")
    hub = stats.in_degrees
    if hub.max >= HEAVY_HUB_DEGREE and hub.max >= HEAVY_HUB_SHARE * stats.num_nodes:
        got = f"node {_name(graph, hub.argmax)} has {hub.max:,} in-edges, the median node {hub.median:g}"
        fix = 'bound what a node reads: strategy="mini_batch" with fanouts such as (15, 10)'
        findings.add("degrees", f"no node with more than {HEAVY_HUB_SHARE:.0%} of the nodes", got, fix, "info")


def _name(graph: Graph, node: int) -> str:
    return f"{node}" if graph.node_names is None else f"{node} ({graph.node_names[node]})"


def _check_features(graph: Graph, findings: Findings) -> None:
    if graph.num_nodes == 0:
        return
    if graph.x is None:
        fix = "graph = graph.with_data(x=np.log1p(graph.in_degrees())[:, None]), or features of your own"
        findings.add("x", "features", "none", fix, "warning")
        return
    step = max(1, graph.num_nodes // ROWS_LOOKED_AT)
    rows = np.asarray(graph.x[np.arange(0, graph.num_nodes, step)])
    looked = "" if step == 1 else f" (of {len(rows):,} rows looked at)"
    if not np.isfinite(rows).all():
        count = int(np.count_nonzero(~np.isfinite(rows)))
        got = f"{count:,} NaN or infinite{looked}"
        findings.add("x", "finite numbers", got, "graph = graph.with_data(x=np.nan_to_num(graph.x))")
        return
    _check_scale(rows, looked, findings)
    empty = np.count_nonzero(~rows.any(axis=1))
    if empty:
        got = f"{counted(int(empty), 'row')} of zeros{looked}: such nodes live on their neighbours alone"
        findings.add("x", "something known of every node", got, "nothing to do, or fill them in", "info")


def _check_scale(rows: Array, looked: str, findings: Findings) -> None:
    if rows.size == 0:
        return
    largest = float(np.abs(rows).max())
    spread = rows.std(axis=0)
    varied = spread[spread > 0]
    scaled = "x = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6), then graph = graph.with_data(x=x)"
    if largest > LARGE_VALUE:
        fix = f"np.log1p for counts, or {scaled}"
        findings.add("x", f"values up to about {LARGE_VALUE:g}", f"up to {largest:.3g}{looked}", fix, "warning")
    elif len(varied) and varied.max() > UNEQUAL_SCALES * varied.min() and (rows % 1 != 0).any():
        got = f"standard deviations from {varied.min():.2g} to {varied.max():.2g}{looked}"
        findings.add("x", "columns of one scale", got, scaled, "warning")
    if len(varied) == 0 and len(rows) > 1:
        got = f"the same in every row{looked}"
        findings.add("x", "rows that differ", got, "pass features that tell nodes apart", "warning")


def _check_labels(graph: Graph, stats: GraphStats, findings: Findings) -> None:
    if graph.num_nodes == 0:
        return
    if graph.y is None:
        fix = "graph = graph.with_data(y=labels), -1 where unknown"
        findings.add("y", "labels to learn", "none: node classification is not possible", fix, "warning")
        return
    if graph.y.ndim == 2:
        _check_targets(graph, findings)
        return
    if stats.num_labelled < stats.num_nodes:
        bare = stats.num_nodes - stats.num_labelled
        got = f"{counted(bare, 'node')} without ({bare / stats.num_nodes:.1%})"
        fix = "nothing to do: they pass messages and are left out of the loss"
        findings.add("y", "a label for every node", got, fix, "info")
    if stats.num_labelled and max(stats.nodes_per_class) == stats.num_labelled and stats.num_classes < 2:
        findings.add("y", "at least two classes", "one", "check the labels", "warning")
    if stats.homophily is not None and stats.homophily < LOW_HOMOPHILY:
        got = f"{stats.homophily:.2f}: neighbours seldom share a class"
        fix = (
            'prefer model="sage", which keeps a node apart from its neighbours, and compare with a model without edges'
        )
        findings.add("homophily", f"{LOW_HOMOPHILY} or more", got, fix, "info")


def _check_targets(graph: Graph, findings: Findings) -> None:
    """Note targets that are unknown, of a scale that is hard to learn, or the same in all training nodes."""
    y = np.asarray(graph.y)
    unknown = np.isnan(y)
    if unknown.any():
        got = f"{counted(int(unknown.sum()), 'value')} unknown ({unknown.mean():.1%})"
        findings.add("y", "a target for every node", got, "nothing to do: they are left out of the loss", "info")
    trained = y[graph.train_nodes]
    largest = float(np.nanmax(np.abs(trained), initial=0.0))
    if largest > LARGE_VALUE:
        fix = "y = (y - np.nanmean(y, axis=0)) / np.nanstd(y, axis=0), then graph = graph.with_data(y=y)"
        findings.add("y", f"values up to about {LARGE_VALUE:g}", f"up to {largest:.3g} in training", fix, "warning")
    spread = np.nanmax(trained, axis=0, initial=-np.inf) - np.nanmin(trained, axis=0, initial=np.inf)
    constant = np.flatnonzero(~(spread > 0))
    if len(trained) and len(constant):
        shown = ", ".join(map(str, constant[:4].tolist())) + (", ..." if len(constant) > 4 else "")
        got = f"{counted(len(constant), 'column')} with one value or none: {shown}"
        findings.add("y", "targets that differ among training nodes", got, "leave out those columns", "warning")


def _check_splits(graph: Graph, findings: Findings) -> None:
    if graph.y is None:
        return
    if not len(graph.train_nodes):
        fix = (
            "nodes = rng.permutation(n); graph = graph.with_data(train_nodes=nodes[:k], val_nodes=..., test_nodes=...)"
        )
        findings.add("train_nodes", "nodes to train on", "none", fix)
        return
    for split in SPLITS[1:]:
        if not len(getattr(graph, split)):
            fix = f"graph = graph.with_data({split}=...)"
            got = "none: this figure cannot be measured"
            findings.add(split, "nodes to measure on", got, fix, "warning")
    if graph.y.ndim == 2:
        return
    trained = np.bincount(graph.y[graph.train_nodes].clip(min=0), minlength=graph.num_classes)
    present = np.bincount(graph.y[graph.y >= 0], minlength=graph.num_classes)
    missing = np.flatnonzero((trained == 0) & (present > 0))
    if len(missing):
        names = ", ".join(_class_name(graph, i) for i in missing[:4].tolist()) + (", ..." if len(missing) > 4 else "")
        got = f"{counted(len(missing), 'class', 'classes')} without a training node: {names}"
        findings.add("train_nodes", "nodes of every class", got, "draw the split within each class", "warning")


def _class_name(graph: Graph, label: int) -> str:
    return str(label) if graph.class_names is None else graph.class_names[label]
