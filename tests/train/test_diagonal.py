"""Diagonal enhancement: A~ + lambda diag(A~), in training, behind boundaries and in exact inference alike."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import ChebConv, GATConv, GCNConv, SAGEConv

from workbench.core.errors import InputError, RunError
from workbench.graph import Graph
from workbench.models import ModelInputs, call_model
from workbench.testing import graphs
from workbench.testing.rank_context import train_here
from workbench.train import SoloTransport, resolve
from workbench.train.diagonal import enhance
from workbench.train.inference import LayerwiseInference

NewFolder = Callable[[], Path]


class TwoLayers(nn.Module):
    def __init__(self, in_channels: int = 4, out_channels: int = 3, layer: Any = GCNConv) -> None:
        super().__init__()
        self.first, self.second = layer(in_channels, 6), layer(6, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        weight = () if edge_weight is None else (edge_weight,)
        return self.second(torch.relu(self.first(x, edge_index, *weight)), edge_index, *weight)


@pytest.fixture
def graph() -> Graph:
    return graphs.random(50, 160)


def matrix(graph: Graph, weight: Tensor | None) -> Tensor:
    """Return the dense A~; row v has what v reads. One self-loop a node, of its own weight where the graph has one."""
    source, destination = (torch.from_numpy(ids) for ids in graph.edge_index())
    values = torch.ones(len(source), dtype=torch.float64) if weight is None else weight
    is_loop, loops = source == destination, torch.ones(graph.num_nodes, dtype=torch.float64)
    loops[source[is_loop]] = values[is_loop]
    dense = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
    dense.index_put_((destination[~is_loop], source[~is_loop]), values[~is_loop], accumulate=True)
    dense += torch.diag(loops)
    root = dense.sum(dim=1).rsqrt()
    return root[:, None] * dense * root[None, :]


def by_hand(model: TwoLayers, x: Tensor, dense: Tensor, strength: float) -> Tensor:
    dense = dense + strength * torch.diag(dense.diag())
    for layer in (model.first, model.second):
        x = dense @ layer.lin(x) + layer.bias
        x = torch.relu(x) if layer is model.first else x
    return x


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("strength", [0.5, 1.0])
def test_the_layers_use_the_enhanced_matrix(strength: float, weighted: bool, graph: Graph) -> None:
    torch.manual_seed(0)
    model, x = TwoLayers().double(), torch.from_numpy(np.array(graph.x)).double()
    weight = torch.rand(graph.num_edges, dtype=torch.float64) + 0.5 if weighted else None
    inputs = ModelInputs(x=x, edge_index=torch.from_numpy(graph.edge_index()), edge_weight=weight)
    plain = call_model(model, inputs)
    undo = enhance(model, strength)
    expected = by_hand(model, x, matrix(graph, weight), strength)
    torch.testing.assert_close(call_model(model, inputs), expected, rtol=1e-12, atol=1e-12)
    assert not torch.allclose(expected, plain)
    torch.testing.assert_close(call_model(copy.deepcopy(model), inputs), expected, rtol=1e-12, atol=1e-12)
    undo()
    assert torch.equal(call_model(model, inputs), plain)
    assert all("forward" not in layer.__dict__ for layer in model.modules())


def test_exact_inference_layer_by_layer_uses_it_too(graph: Graph) -> None:
    """In pieces, where a boundary normalises the edges before the layer sees them."""
    torch.manual_seed(0)
    model = TwoLayers().double().eval()
    enhance(model, 0.7)
    inference = LayerwiseInference(
        graph=graph,
        transport=SoloTransport(),
        device=torch.device("cpu"),
        dtype=torch.float64,
        num_calls=2,
        piece_bytes=2048,
    )
    with torch.no_grad():
        found = inference.run(model, lambda rows: rows)
        expected = by_hand(model, torch.from_numpy(np.array(graph.x)).double(), matrix(graph, None), 0.7)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_a_run_trains_and_evaluates_with_it(graph: Graph, new_folder: NewFolder) -> None:
    """All clusters in one batch, plain SGD: losses and final outputs are those of the dense matrix."""
    torch.manual_seed(1)
    model = TwoLayers().double()
    words = {"num_clusters": 3, "clusters_per_batch": 3, "partitioner": "hash", "optimizer": "sgd", "lr": 0.5}
    resolved = resolve(graph, model, "cluster_batch", diagonal_enhancement=1.0, epochs=3, **words)
    run = train_here(resolved, new_folder())
    x, dense = torch.from_numpy(np.array(graph.x)).double(), matrix(graph, None)
    nodes, targets = torch.from_numpy(np.array(graph.train_nodes)), torch.from_numpy(np.array(graph.y))
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.5), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(by_hand(model, x, dense, 1.0)[nodes], targets[nodes])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert run.losses == pytest.approx(losses, rel=1e-10)
    expected = by_hand(model, x, dense, 1.0).detach().to(torch.float32).numpy()
    np.testing.assert_allclose(np.load(run.folder / "predictions.npy"), expected, rtol=1e-5, atol=1e-6)
    assert any("Diagonal enhancement" in told["text"] for told in run.told("log_written"))


@pytest.mark.parametrize(
    "layer",
    [
        SAGEConv,
        GATConv,
        lambda a, b: ChebConv(a, b, 2),
        lambda a, b: GCNConv(a, b, normalize=False),
        lambda a, b: GCNConv(a, b, add_self_loops=False),
    ],
)
def test_layers_without_such_a_matrix_are_refused(layer: Any) -> None:
    with pytest.raises(RunError, match="diagonal_enhancement: expected GCNConv"):
        enhance(TwoLayers(layer=layer), 1.0)


def test_a_model_without_graph_layers_is_refused() -> None:
    with pytest.raises(RunError, match="got none"):
        enhance(nn.Linear(4, 3), 1.0)


def test_a_launch_refuses_it_before_anything_starts(graph: Graph) -> None:
    with pytest.raises(InputError, match=r"diagonal_enhancement: expected GCNConv layers.*use model='gcn'"):
        resolve(graph, "gat", "cluster_batch", diagonal_enhancement=1.0, epochs=1, partitioner="hash", num_clusters=6)


def test_it_is_the_same_by_sparse_products(graph: Graph, new_folder: NewFolder) -> None:
    words = {"num_clusters": 6, "clusters_per_batch": 2, "partitioner": "hash", "diagonal_enhancement": 1.0}
    words |= {"epochs": 2, "dropout": 0.0, "hidden_channels": 6, "lr": 0.05}
    edge_wise, sparse, plain = (
        train_here(resolve(graph, "gcn", "cluster_batch", **{**words, **change}), new_folder()).losses
        for change in ({"sparse": False}, {"sparse": True}, {"diagonal_enhancement": 0.0})
    )
    assert sparse == pytest.approx(edge_wise, rel=1e-5)
    assert plain != pytest.approx(edge_wise, rel=1e-3)
