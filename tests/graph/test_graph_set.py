"""Many graphs in one: built from a list, checked, split, and read from TU's text files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from workbench.core.errors import Findings, InputError
from workbench.graph import Graph, datasets
from workbench.graph.datasets.tu import find_raw
from workbench.graph.graph_set import check_graph_set, graph_set, nodes_of, random_split
from workbench.testing import graphs


def ring(num_nodes: int, label: int, width: int = 3, **more: Any) -> Data:
    """Return a ring with its chord of edge weights."""
    nodes = torch.arange(num_nodes)
    edge_index = torch.stack([nodes, (nodes + 1) % num_nodes])
    weight = torch.arange(num_nodes, dtype=torch.float32) + label
    x = torch.full((num_nodes, width), float(label))
    return Data(x=x, edge_index=edge_index, y=torch.tensor([label]), edge_weight=weight, age=nodes, **more)


def rings(*sizes: int, **splits: Any) -> Graph:
    return Graph.from_pyg_list([ring(size, i % 2) for i, size in enumerate(sizes)], **splits)


def faults(graph: Graph) -> dict[str, str]:
    findings = Findings("graph")
    assert check_graph_set(graph, findings) == (not findings.errors)
    return {finding.where: finding.got for finding in findings.items}


def test_a_list_becomes_a_union_with_labels_splits_and_columns() -> None:
    graph = rings(3, 1, 4, 2, train_graphs=[0, 2], val_graphs=[False, True, False, False], name="rings")
    found = graph_set(graph)
    assert (graph.num_nodes, graph.num_edges, graph.name, found.num_graphs) == (10, 10, "rings", 4)
    assert found.starts.tolist() == [0, 3, 4, 8, 10]
    assert found.y is not None
    assert found.y.tolist() == [0, 1, 0, 1]
    assert (found.train_graphs.tolist(), found.val_graphs.tolist(), found.test_graphs.tolist()) == ([0, 2], [1], [])
    assert graph.train_nodes.tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert graph.node_data["age"].tolist() == [0, 1, 2, 0, 0, 1, 2, 3, 0, 1]
    source, destination = graph.edge_index()
    ids = graph.node_data["graph_ids"]
    assert (ids[source] == ids[destination]).all()
    local = source - found.starts[ids[source]]
    assert graph.edge_data["weight"].tolist() == (local + found.y[ids[source]]).tolist()
    assert faults(graph) == {}


def test_graphs_without_labels_are_a_union_too() -> None:
    parts = [ring(3, 0), ring(2, 1)]
    for part in parts:
        del part.y
    graph = Graph.from_pyg_list(parts)
    assert graph.y is None
    assert graph_set(graph).y is None


@pytest.mark.parametrize(
    ("parts", "where", "got"),
    [
        ([], "graphs", "an empty list"),
        (["no graph"], "graphs[0]", "str"),
        ([ring(3, 0), Data(x=torch.ones(2, 3))], "graphs[1]", "Data without edge_index"),
        (
            [ring(3, 0), Data(edge_index=torch.zeros(2, 0, dtype=torch.int64), num_nodes=0)],
            "graphs",
            "1 without, first graphs[1]",
        ),
        ([ring(3, 0), ring(3, 1, width=2)], "graphs[1].x", "shape (3, 2)"),
        (
            [ring(3, 0), Data(edge_index=torch.tensor([[0], [1]]), y=torch.tensor([1]), num_nodes=2)],
            "graphs[1].x",
            "none",
        ),
        ([ring(3, 0), Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)], "graphs[1].y", "none"),
        ([Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2, y=torch.ones(2))], "graphs[0].y", "2 values"),
    ],
)
def test_what_a_list_lacks_is_named(parts: list[Any], where: str, got: str) -> None:
    with pytest.raises(InputError) as caught:
        Graph.from_pyg_list(parts)
    assert {finding.where: finding.got for finding in caught.value.findings}[where] == got


def test_splits_of_graphs_are_checked_as_splits_of_nodes_are() -> None:
    with pytest.raises(InputError, match=r"train_graphs: .* first 4 at train_graphs\[1\]"):
        rings(3, 2, train_graphs=[0, 4])
    with pytest.raises(InputError, match="splits that share no node"):
        rings(3, 2, train_graphs=[0], val_graphs=[0, 1])


def test_what_is_no_union_says_why() -> None:
    where = "graph.node_data['graph_ids']"
    assert faults(graphs.path(4)) == {where: "no such column"}

    def numbered(*ids: Any) -> dict[str, str]:
        return faults(graphs.build("apart", [(0, 1), (2, 3)], 4).with_data(node_data={"graph_ids": np.array(ids)}))

    assert numbered(0.0, 0.0, 1.0, 1.0)[where] == "float64 of shape (4,)"
    assert numbered(0, 0, 2, 2)[where] == "2 at node 2, after 0"
    assert numbered(1, 1, 0, 0)[where] == "1 at node 0, after nothing"
    assert numbered(0, 1, 1, 1)["edges"] == "2 edges between two, first from node 1 to 0"
    found = numbered(0, 0, 1, 1)
    assert found["graph.y"] == "several in graph 0"
    assert found["graph.train_nodes"] == "2 nodes of 2 graphs that have 4"


def test_nodes_of_graphs_come_in_the_order_asked_for() -> None:
    nodes, number = nodes_of(graph_set(rings(3, 1, 2)).starts, np.array([2, 0]))
    assert nodes.tolist() == [4, 5, 0, 1, 2]
    assert number.tolist() == [0, 0, 1, 1, 1]
    assert [len(part) for part in nodes_of(np.array([0, 3]), np.zeros(0, np.int64))] == [0, 0]


def test_a_random_split_takes_its_share_of_each_class() -> None:
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    parts = random_split(labels, train_share=0.6, val_share=0.2, random=np.random.default_rng(0))
    assert sorted(np.concatenate(parts).tolist()) == list(range(100))
    assert [np.bincount(labels[part]).tolist() for part in parts] == [[30, 18, 12], [10, 6, 4], [10, 6, 4]]


@pytest.mark.parametrize(
    ("name", "counts"), [("mutag", (135, 2545, 5626, 6, 2)), ("enzymes", (600, 19580, 74564, 21, 6))]
)
def test_collections_of_tu_are_read_from_their_text_files(name: str, counts: Any, data_root: Path) -> None:
    """The sizes are those that PyG's TUDataset counts (mean edges 20.8 and 62.1 undirected)."""
    graph = datasets.load(name, root=data_root)
    found = graph_set(graph)
    assert (found.num_graphs, graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == counts
    assert faults(graph) == {}
    assert len(found.train_graphs) == pytest.approx(0.8 * found.num_graphs, abs=3)
    assert sum(map(len, (found.train_graphs, found.val_graphs, found.test_graphs))) == found.num_graphs
    other = graph_set(datasets.load(name, root=data_root / "tu" / name.upper(), rng_seed=1))
    assert other.train_graphs.tolist() != found.train_graphs.tolist()


def test_missing_and_broken_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"MUTAG_A\.txt"):
        datasets.load("mutag", root=tmp_path)
    raw = tmp_path / "MUTAG" / "raw"
    raw.mkdir(parents=True)
    (raw / "MUTAG_A.txt").write_text("1, 2\n2, 1\n")
    (raw / "MUTAG_graph_indicator.txt").write_text("1\none\n")
    (raw / "MUTAG_graph_labels.txt").write_text("1\n")
    assert find_raw(tmp_path, "MUTAG") == raw
    with pytest.raises(InputError, match="fetch the file again"):
        datasets.load("mutag", root=tmp_path)
    (raw / "MUTAG_graph_indicator.txt").write_text("1\n1\n")
    graph = datasets.load("mutag", root=tmp_path)
    assert (graph.num_nodes, graph.num_edges, np.asarray(graph.x).tolist()) == (2, 2, [[1.0], [1.0]])
