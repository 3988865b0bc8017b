"""What the doctor finds in a graph, and that its fixes mend it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench.graph import Graph, SparseRows, check_graph, datasets
from workbench.testing.graphs import NAMED, build, clique, karate


def told(graph: Graph) -> dict[str, str]:
    return {finding.where: finding.severity for finding in check_graph(graph)}


def ring(num_nodes: int = 30, **data: Any) -> Graph:
    ids = np.arange(num_nodes)
    base: dict[str, Any] = {
        "x": np.random.default_rng(0).normal(size=(num_nodes, 3)),
        "y": ids * 2 // num_nodes,
        "train_nodes": ids[::3],
        "val_nodes": ids[1::3],
        "test_nodes": ids[2::3],
    }
    edges = np.stack([ids, (ids + 1) % num_nodes])
    return Graph.from_edge_index(np.concatenate([edges, edges[::-1]], axis=1), num_nodes, **(base | data))


def test_a_sound_graph_has_no_findings() -> None:
    assert check_graph(ring()) == ()
    assert check_graph(karate()) == ()


@pytest.mark.parametrize("name", NAMED)
def test_every_finding_says_where_what_and_how_to_mend_it(name: str) -> None:
    for finding in check_graph(NAMED[name]()):
        assert all((finding.where, finding.expected, finding.got, finding.fix))


def test_the_gravest_come_first() -> None:
    order = ["error", "warning", "info"]
    graph = NAMED["directed"]().with_data(train_nodes=None)
    severities = [finding.severity for finding in check_graph(graph)]
    assert severities[0] == "error"
    assert severities == sorted(severities, key=order.index)


def test_directed_and_parallel_edges_are_mended_by_the_fix_that_is_offered() -> None:
    for name in ("directed", "multigraph"):
        graph = NAMED[name]()
        assert any("to_undirected()" in finding.fix for finding in check_graph(graph))
        assert not any("to_undirected()" in finding.fix for finding in check_graph(graph.to_undirected()))


@pytest.mark.parametrize(
    ("name", "where", "got"),
    [
        ("empty", "graph", "an empty graph"),
        ("no_edges", "edges", "none"),
        ("self_loops", "edges", "3 self-loops"),
        ("isolated_nodes", "nodes", "5 isolated nodes (62.5%)"),
        ("two_components", "edges", "2 components"),
        ("unlabelled", "x", "none"),
        ("unlabelled", "y", "none"),
    ],
)
def test_edges_and_missing_data(name: str, where: str, got: str) -> None:
    assert any(finding.where == where and got in finding.got for finding in check_graph(NAMED[name]()))


def test_a_heavy_hub_is_named() -> None:
    star = build("star", [(0, i) for i in range(1, 1500)], 1500).with_data(
        node_names=["<hub>", *(f"leaf {i}" for i in range(1499))]
    )
    finding = next(finding for finding in check_graph(star) if finding.where == "degrees")
    assert "0 (<hub>) has 1,499 in-edges" in finding.got
    assert "fanouts" in finding.fix


@pytest.mark.parametrize(
    ("x", "got", "severity"),
    [
        (np.full((30, 2), 7.0), "the same in every row", "warning"),
        (np.arange(60.0).reshape(30, 2) * 100, "up to 5.9e+03", "warning"),
        (np.arange(60.0).reshape(30, 2) * np.array([1, 1e-5]), "standard deviations", "warning"),
        (np.vstack([np.zeros((2, 2)), np.random.default_rng(0).normal(size=(28, 2))]), "2 rows of zeros", "info"),
    ],
)
def test_features_that_train_badly(x: np.ndarray, got: str, severity: str) -> None:
    found = [finding for finding in check_graph(ring(x=x)) if got in finding.got]
    assert [finding.severity for finding in found] == [severity]


def test_sparse_features_are_looked_at_too() -> None:
    rows = SparseRows(
        indptr=np.arange(31),
        indices=np.arange(30) % 3,
        values=np.full(30, np.nan, np.float32),
        num_columns=3,
    )
    graph = ring().with_data(x=None)
    opened = Graph(indptr=graph.indptr, indices=graph.indices, node_data=type(graph.node_data)({"x": rows}))
    assert told(opened)["x"] == "error"


def test_splits_and_classes() -> None:
    assert told(ring(train_nodes=None))["train_nodes"] == "error"
    assert told(ring(val_nodes=None))["val_nodes"] == "warning"
    labels = ring().y
    assert labels is not None
    findings = check_graph(ring(train_nodes=[0, 3], class_names=["low", "high"]))
    assert any(finding.got == "1 class without a training node: high" for finding in findings)
    partly = np.where(np.arange(30) % 3 == 1, -1, labels)
    assert told(ring(y=partly))["y"] == "info"
    assert told(ring(y=np.zeros(30, int)))["y"] == "warning"
    assert told(clique().with_data(y=np.arange(6), num_classes=6))["homophily"] == "info"


def test_debian_is_sound_but_has_a_hub_and_lonely_packages() -> None:
    findings = check_graph(datasets.load("debian"))
    assert {finding.severity for finding in findings} == {"info"}
    assert any("libc6" in finding.got for finding in findings)
