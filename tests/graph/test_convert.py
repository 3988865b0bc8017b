"""To and from PyG, networkx and SciPy: nothing is lost, original order is restored."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from torch_geometric.data import Data, HeteroData

from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.testing.graphs import NAMED


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), min_size=1, max_size=40))
def test_pyg_gets_its_edges_and_their_data_back_in_order(pairs: list[tuple[int, int]]) -> None:
    edge_index = torch.tensor(pairs).T.contiguous()
    count = edge_index.size(1)
    data = Data(
        edge_index=edge_index,
        x=torch.randn(8, 3),
        y=torch.arange(8) % 2,
        edge_attr=torch.arange(count * 2).reshape(count, 2),
        edge_weight=torch.arange(count, dtype=torch.float64),
        edge_type=torch.arange(count),
        edge_time=torch.arange(count),
        train_mask=torch.arange(8) < 3,
        val_mask=torch.arange(8) == 3,
        test_mask=torch.arange(8) > 4,
    )
    back = Graph.from_pyg(data).to_pyg()
    assert set(back.keys()) - {"num_nodes"} == {key for key in data.keys() if data[key] is not None}  # noqa: SIM118
    for key in set(back.keys()) - {"num_nodes"}:
        assert torch.equal(back[key], data[key]), key
    assert back.num_nodes == 8


@pytest.mark.parametrize("name", NAMED)
def test_a_graph_survives_pyg(name: str) -> None:
    graph = NAMED[name]()
    back = Graph.from_pyg(graph.to_pyg())
    assert back.fingerprint == graph.fingerprint
    np.testing.assert_array_equal(back.train_nodes, graph.train_nodes)
    assert (back.y is None) == (graph.y is None)


def test_pyg_tensors_are_copies() -> None:
    graph = NAMED["path"]()
    data = graph.to_pyg()
    data.x.zero_()
    assert graph.x.any()


def test_masks_with_several_columns_are_chosen_from() -> None:
    masks = torch.zeros(4, 2, dtype=torch.bool)
    masks[0, 0] = masks[2, 1] = True
    data = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=4, train_mask=masks)
    assert Graph.from_pyg(data).train_nodes.tolist() == [0]
    assert Graph.from_pyg(data, split=1).train_nodes.tolist() == [2]


def test_further_attributes_become_columns() -> None:
    data = Data(edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=5, pos=torch.ones(5, 2), note="text")
    data.edge_time = torch.tensor([7, 8, 9])
    graph = Graph.from_pyg(data)
    assert graph.node_data["pos"].shape == (5, 2)
    assert graph.edge_data["time"].tolist() == [7, 8, 9]


def test_keywords_are_put_over_what_pyg_carries() -> None:
    data = Data(edge_index=torch.tensor([[0], [1]]), x=torch.ones(2, 1))
    graph = Graph.from_pyg(data, x=np.zeros((2, 3)), name="mine")
    assert graph.num_features == 3
    assert graph.name == "mine"


@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_a_transposed_adjacency_matrix_is_read() -> None:
    indices, weight = torch.tensor([[1, 2], [0, 1]]), torch.tensor([0.5, 2.0])  # rows are destinations
    data = Data(adj_t=torch.sparse_coo_tensor(indices, weight, (3, 3)), x=torch.ones(3, 1))
    graph = Graph.from_pyg(data)
    assert graph.edge_index().tolist() == [[0, 1], [1, 2]]
    assert graph.edge_data["weight"].tolist() == [0.5, 2.0]


@pytest.mark.parametrize(
    ("data", "fix"),
    [(HeteroData(), "to_homogeneous"), ([Data()], r"dataset\[0\]"), (Data(x=torch.ones(2, 1)), "set data.edge_index")],
)
def test_what_is_no_homogeneous_data_is_refused(data: Any, fix: str) -> None:
    with pytest.raises(InputError, match=fix):
        Graph.from_pyg(data)


def test_networkx_undirected_edges_run_both_ways() -> None:
    graph = Graph.from_networkx(nx.karate_club_graph(), label="club")
    assert (graph.num_nodes, graph.num_edges) == (34, 156)
    assert graph.is_symmetric()
    assert graph.class_names == ("Mr. Hi", "Officer")
    assert graph.edge_data["weight"].sum() == 2 * 231


def test_networkx_directed_graphs_multigraphs_and_names() -> None:
    made = nx.MultiDiGraph()
    made.add_node("c", x=[1.0, 2.0], y=1)
    made.add_node("a", x=[3.0, 4.0], y=0)
    made.add_edge("a", "c", weight=2.0)
    made.add_edge("a", "c", weight=3.0)
    made.add_edge("c", "c", weight=4.0)
    graph = Graph.from_networkx(made)
    assert graph.edge_index().tolist() == [[0, 1, 1], [0, 0, 0]]
    assert graph.edge_data["weight"].tolist() == [4.0, 2.0, 3.0]
    assert graph.node_names is not None
    assert graph.node_names.tolist() == ["c", "a"]
    assert graph.x.tolist() == [[1, 2], [3, 4]]
    assert graph.y is not None
    assert graph.y.tolist() == [1, 0]


@pytest.mark.parametrize("made", [nx.Graph(), nx.empty_graph(3), nx.path_graph(4), nx.Graph([(0, 0), (0, 1)])])
def test_small_networkx_graphs(made: nx.Graph) -> None:
    graph = Graph.from_networkx(made)
    assert graph.num_nodes == made.number_of_nodes()
    assert graph.num_edges == 2 * made.number_of_edges() - nx.number_of_selfloops(made)


def test_an_unknown_label_attribute_is_named() -> None:
    with pytest.raises(InputError, match="'team'"):
        Graph.from_networkx(nx.karate_club_graph(), label="team")


def test_nodes_without_the_label_attribute_are_unlabelled() -> None:
    made = nx.path_graph(3)
    made.nodes[1]["kind"] = "b"
    graph = Graph.from_networkx(made, label="kind")
    assert graph.y is not None
    assert graph.y.tolist() == [-1, 0, -1]


@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.csr_matrix, sparse.csc_array, sparse.lil_array])
def test_scipy_matrices_of_any_kind(kind: Any) -> None:
    matrix = kind(np.array([[0, 2.0, 0], [0, 0, 1], [0, 0, 0]]))
    graph = Graph.from_scipy(matrix, name="m")
    assert graph.num_nodes == 3
    assert graph.edge_index().tolist() == [[0, 1], [1, 2]]
    assert graph.edge_data["weight"].tolist() == [2.0, 1.0]


def test_a_scipy_matrix_of_ones_has_no_weights() -> None:
    assert "weight" not in Graph.from_scipy(sparse.eye_array(3, k=1)).edge_data


@pytest.mark.parametrize("matrix", [np.eye(3), sparse.csr_array(np.ones((2, 3)))])
def test_what_is_no_square_sparse_matrix_is_refused(matrix: Any) -> None:
    with pytest.raises(InputError, match="matrix"):
        Graph.from_scipy(matrix)
