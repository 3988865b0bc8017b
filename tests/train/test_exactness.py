"""A model that parts cannot compute exactly is refused before anything starts, by the layer that differs first."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import APPNP, GPSConv, LayerNorm, PairNorm, SAGEConv, TopKPooling, global_mean_pool
from torch_geometric.utils import dropout_edge

from tests.train.halo_runs import mixed_graph
from workbench.core.errors import Findings
from workbench.graph import Graph
from workbench.models import MODELS
from workbench.testing.nets import CLASSES, EXACT, INEXACT, WIDTH, Net, sage
from workbench.train.exactness import refuse_inexact

GRAPH = mixed_graph(WIDTH, CLASSES)
Between = Callable[[Tensor, "Layers"], Tensor]


class Layers(nn.Module):
    """Two layers, and what `between` does with the rows between them."""

    def __init__(self, between: Between) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.between = SAGEConv(WIDTH, WIDTH), SAGEConv(WIDTH, CLASSES), between

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.between(self.first(x, edge_index), self)
        out: Tensor = self.second(x, edge_index)
        return out


class Attending(Layers):
    def __init__(self) -> None:
        super().__init__(lambda x, module: module.attention(x, x, x)[0])
        self.attention = nn.MultiheadAttention(WIDTH, 1)


class EdgesTurned(Layers):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.second(self.first(x, edge_index.flip(0)), edge_index)
        return out


class EdgesDropped(Layers):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        kept = dropout_edge(edge_index, 0.5, training=self.training)[0]
        out: Tensor = self.second(self.first(x, kept), edge_index)
        return out


def told(module: nn.Module, graph: Graph = GRAPH, *, keyed: bool = True) -> list[str]:
    findings, before = Findings("launch"), copy.deepcopy(module.state_dict())
    refuse_inexact(module, graph, findings, keyed=keyed)
    assert all(torch.equal(a, b) for a, b in zip(before.values(), module.state_dict().values(), strict=True))
    return [f"{finding.where}: {finding.got}" for finding in findings.errors]


GLOBAL: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "mean": (INEXACT["mean"], "model: what Mean.forward does between conv (SAGEConv) and head (Linear), in evaluation"),
    "pool": (
        lambda: Layers(lambda x, _: x + global_mean_pool(x, None)),
        "model: what Layers.forward does between first (SAGEConv) and second (SAGEConv), in evaluation",
    ),
    "statistics in training alone": (
        lambda: Layers(lambda x, module: x - x.mean(0) if module.training else x),
        "model: what Layers.forward does between first (SAGEConv) and second (SAGEConv), in training",
    ),
    "functional batch norm": (
        lambda: Layers(lambda x, module: functional.batch_norm(x, None, None, training=True)),
        "model: what Layers.forward does between first (SAGEConv) and second (SAGEConv), in evaluation",
    ),
    "pooling by rank": (
        lambda: nn.ModuleDict({"pool": TopKPooling(WIDTH), "sum": SAGEConv(WIDTH, WIDTH, aggr="median")}),
        "model.pool: TopKPooling ranks all nodes",
    ),
    "global attention": (lambda: Net(lambda: GPSConv(WIDTH, SAGEConv(WIDTH, WIDTH))), "model.convs.0: GPSConv attends"),
    "attention": (Attending, "model: attention (MultiheadAttention), in evaluation"),
    "degrees of its own": (INEXACT["degree_of_its_own"], "model: convs.0 (DegreeConv), in evaluation"),
    "edges turned": (lambda: EdgesTurned(lambda x, _: x), "model: first (SAGEConv): ValueError"),
    "dropout inside APPNP": (
        lambda: Net(lambda: APPNP(K=2, alpha=0.1, dropout=0.3)),
        "model.convs.0: APPNP(dropout) drops edges at every propagation",
    ),
}


@pytest.mark.parametrize("name", GLOBAL)
def test_what_reads_all_nodes_is_named_by_its_place(name: str) -> None:
    make, expected = GLOBAL[name]
    found, *_ = told(make())
    assert found.startswith(expected)


def test_known_layers_are_all_named_at_once() -> None:
    module = Net(sage, norm=lambda: PairNorm())
    module.norms[2] = LayerNorm(WIDTH, mode="graph").double()
    assert [line.split(" ")[0] for line in told(module)] == ["model.norms.0:", "model.norms.1:", "model.norms.2:"]
    assert "LayerNorm(mode='graph') takes mean and variance over all nodes" in told(module)[2]


@pytest.mark.parametrize("name", ["gcn_weighted", "gat", "residual_batch_norm_gcn", "cheb", "branches", "gcn2"])
def test_what_is_exact_passes(name: str) -> None:
    assert told(EXACT[name][0]()) == []


def test_single_precision_constants_and_random_numbers_of_its_own_are_no_reason() -> None:
    assert told(Layers(lambda x, _: torch.addmm(torch.ones(WIDTH), x, torch.eye(WIDTH)))) == []
    assert told(EdgesDropped(lambda x, _: x)) == []


def test_a_model_with_random_numbers_of_its_own_is_remarked_on() -> None:
    def remarks(module: nn.Module) -> list[str]:
        findings = Findings("launch")
        refuse_inexact(module, GRAPH, findings, keyed=True)
        return [finding.got for finding in findings.items if finding.severity == "warning"]

    (remark,) = remarks(EdgesDropped(lambda x, _: x))
    assert remark.startswith("EdgesDropped draws others in training")
    assert remarks(Layers(lambda x, _: functional.dropout(x))) == []


def test_dropout_of_rows_that_are_neither_nodes_nor_edges_needs_drawn_masks() -> None:
    def drop_weights(x: Tensor, module: Layers) -> Tensor:
        return x @ functional.dropout(torch.eye(WIDTH, dtype=x.dtype), 0.5, module.training)

    (found,) = told(Layers(drop_weights))
    assert "Fix: dropout_masks='drawn'" in found
    assert told(Layers(drop_weights), keyed=False) == []


@pytest.mark.parametrize("num_nodes", [1, 2, 3])
def test_tiny_graphs_and_graphs_without_edges_are_no_trouble(num_nodes: int) -> None:
    graph = Graph.from_edge_index(
        np.zeros((2, 0), np.int64),
        num_nodes,
        x=np.ones((num_nodes, WIDTH), np.float32),
        y=np.zeros(num_nodes, np.int64),
    )
    assert told(MODELS.create("gcn", hidden_channels=4).build(WIDTH, CLASSES), graph) == []
