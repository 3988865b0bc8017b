"""Feature parallelism equals one process on the whole graph, in double precision, and moves what the formula says."""

from __future__ import annotations

import copy
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GATConv, GCNConv, GINConv, GraphConv, GraphNorm, SAGEConv, SGConv

from tests.train.halo_runs import CPU, KEY, WORLDS, Result, mixed_graph, on_the_whole_graph
from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.models import MODELS
from workbench.testing.nets import CLASSES, EXACT, WIDTH
from workbench.testing.rank_context import train_here
from workbench.train import resolve
from workbench.train.boundaries.columns import layers_of_mixed_columns
from workbench.train.columns import ColumnExchange, shares
from workbench.train.feature_run import ColumnRunner
from workbench.train.part_runner import PartInference
from workbench.train.thread_transport import run_in_threads
from workbench.train.transport import Transport

GRAPH = mixed_graph(WIDTH, CLASSES)
EXACTLY = 1e-10
BY_NAME: dict[str, dict[str, Any]] = {
    "gcn": {"hidden_channels": 6},
    "sage": {"hidden_channels": 6},
    "gin": {"hidden_channels": 6},
    "graph_conv": {"hidden_channels": 6},
    "sgc": {"K": 2},
    "appnp": {"K": 3, "hidden_channels": 6},
    "cheb": {"K": 3, "hidden_channels": 6},
}


def on_columns(module: nn.Module, num_ranks: int, *, graph: Graph = GRAPH, keyed: bool = False) -> list[Result]:
    """Train and evaluate copies of a module, one rank each; loss and gradients are those of all ranks."""
    copies = [copy.deepcopy(module).train() for _ in range(num_ranks)]

    def rank(transport: Transport) -> Result:
        model, runner = copies[transport.rank], ColumnRunner(graph, transport, CPU, torch.float64)
        inference = PartInference(runner, transport)
        transport.take_bytes()
        outputs = runner.forward(model, dropout_key=KEY if keyed else None)
        own = np.intersect1d(graph.train_nodes, runner.part.inner_nodes)
        rows = outputs[torch.from_numpy(own - runner.exchange.first)]
        loss = functional.cross_entropy(rows, torch.from_numpy(graph.y[own].copy()), reduction="sum")
        gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, materialize_grads=True)
        moved = Counter(transport.take_bytes())
        totals = torch.tensor([loss.item(), len(own)], dtype=torch.float64)
        for tensor in (totals, *gradients):
            transport.all_reduce(tensor)
        buffers = [buffer.clone() for buffer in model.buffers()]
        with torch.inference_mode():
            predictions = inference.run(model.eval(), lambda rows: rows)
        return Result(
            loss=(totals[0] / totals[1]).item(),
            gradients=[gradient / totals[1].item() for gradient in gradients],
            predictions=predictions,
            buffers=buffers,
            bytes=moved,
        )

    return run_in_threads(num_ranks, rank, through_memory=True)


def assert_equal(module: nn.Module, num_ranks: int, *, keyed: bool = False) -> list[Result]:
    whole, ranks = on_the_whole_graph(module, GRAPH, keyed=keyed), on_columns(module, num_ranks, keyed=keyed)
    for found in ranks:
        assert max(found.differences(whole).values()) < EXACTLY, found.differences(whole)
    return ranks


def build(name: str, **params: Any) -> nn.Module:
    torch.manual_seed(1)
    return MODELS.create(name, **params).build(WIDTH, CLASSES).double()


@pytest.mark.parametrize("num_ranks", WORLDS)
@pytest.mark.parametrize("name", BY_NAME)
def test_models_by_name_equal_the_whole_graph(name: str, num_ranks: int) -> None:
    assert_equal(build(name, dropout=0.5, **BY_NAME[name]), num_ranks, keyed=True)


SERVED = [name for name, (make, *_) in EXACT.items() if not list(layers_of_mixed_columns(make()))]


def test_most_nets_are_served() -> None:
    assert len(SERVED) >= len(EXACT) // 2


@pytest.mark.parametrize("num_ranks", [2, 3])
@pytest.mark.parametrize("name", SERVED)
def test_nets_as_people_write_them_equal_the_whole_graph(name: str, num_ranks: int) -> None:
    assert_equal(EXACT[name][0]().double(), num_ranks)


class Mixed(nn.Module):
    """A layer called twice, residuals, BatchNorm inside and outside, weights of edges that are learned."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.weigh, self.first = nn.Linear(2, 1), SAGEConv(WIDTH, WIDTH, project=True)
        self.inside = GINConv(nn.Sequential(nn.Linear(WIDTH, 6), nn.BatchNorm1d(6), nn.Linear(6, WIDTH)))
        self.norm, self.weighted, self.head = nn.BatchNorm1d(WIDTH), GraphConv(WIDTH, WIDTH), GCNConv(WIDTH, CLASSES)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        weight = self.weigh(edge_attr).squeeze(1).sigmoid()
        for _ in range(2):
            x = x + self.norm(self.first(x, edge_index)).relu()
        x = self.weighted(self.inside(x, edge_index), edge_index, weight)
        out: Tensor = self.head(x, edge_index, weight)
        return out


@pytest.mark.parametrize("num_ranks", WORLDS)
def test_a_model_of_everything_equals_the_whole_graph(num_ranks: int) -> None:
    assert_equal(Mixed().double(), num_ranks)


class TwoLayers(nn.Module):
    """The first layer propagates the features, the second what the first has learned."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = SAGEConv(WIDTH, 12), SAGEConv(12, CLASSES)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.second(self.first(x, edge_index), edge_index)
        return out


@pytest.mark.parametrize("num_ranks", [2, 3, 4])
def test_the_bytes_are_those_of_the_formula(num_ranks: int) -> None:
    """``2 n F s (p - 1) / p`` a layer and direction; a layer that reads the features moves no columns of them."""
    nodes = GRAPH.num_nodes - GRAPH.num_nodes % num_ranks
    graph = mixed_graph(WIDTH, CLASSES, num_nodes=nodes)
    moved: Counter[str] = Counter()
    for found in on_columns(TwoLayers().double(), num_ranks, graph=graph):
        moved += found.bytes
    one_way = nodes * 8 * (num_ranks - 1) // num_ranks
    assert moved["transpose_forward"] == one_way * (WIDTH + 2 * 12)
    assert moved["transpose_backward"] == one_way * (2 * 12)  # nothing before the first layer learns
    assert set(moved) == {"transpose_forward", "transpose_backward"}


def test_columns_and_rows_are_each_others_transposes() -> None:
    rows = torch.arange(7 * 5.0).reshape(7, 5)

    def rank(transport: Transport) -> None:
        exchange = ColumnExchange(7, transport)
        own = rows[exchange.first : exchange.last].clone().requires_grad_()
        columns = exchange.to_columns(own)
        assert torch.equal(columns, rows[:, exchange.own_columns(5)])
        back = exchange.to_rows(columns, 5)
        assert torch.equal(back, own)
        back.square().sum().backward()
        assert own.grad is not None
        assert torch.equal(own.grad, 2 * own)

    run_in_threads(3, rank, through_memory=True)
    assert shares(7, 3) == [0, 2, 4, 7]
    assert shares(1, 3) == [0, 0, 0, 1]


def test_layers_that_mix_columns_are_named() -> None:
    module = nn.ModuleDict({"good": SGConv(4, 4), "bad": GATConv(4, 4), "lstm": SAGEConv(4, 4, aggr="median")})
    assert dict(layers_of_mixed_columns(module)) == {
        "bad": "GATConv, whose messages may mix columns",
        "lstm": "SAGEConv with aggr='median'",
    }
    with pytest.raises(InputError, match=r"strategy='halo_exchange'") as caught:
        resolve(GRAPH, "gat", "feature_parallel", trainers=2, epochs=1)
    assert all(finding.where.startswith("model.") for finding in caught.value.findings)
    with pytest.raises(InputError, match="sparse=True, which maps columns"):
        resolve(GRAPH, "gcn", "feature_parallel", trainers=2, epochs=1, sparse=True)
    with pytest.raises(InputError, match="at most one a node"):
        resolve(GRAPH, "gcn", "feature_parallel", trainers=GRAPH.num_nodes + 1, epochs=1)


def test_a_model_that_reads_all_nodes_is_refused() -> None:
    class Centred(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = SAGEConv(WIDTH, CLASSES), GraphNorm(CLASSES)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            out: Tensor = self.norm(self.conv(x, edge_index))
            return out

    with pytest.raises(InputError, match="GraphNorm"):
        resolve(GRAPH, Centred(), "feature_parallel", trainers=2, epochs=1)


@pytest.mark.parametrize("trainers", [1, 2, 3])
def test_a_run_learns_what_the_whole_graph_learns(trainers: int, tmp_path: Path) -> None:
    words: dict[str, Any] = {"hidden_channels": 8, "dropout": 0.3, "epochs": 6, "lr": 0.05, "dropout_masks": "keyed"}
    ours = train_here(resolve(GRAPH, "gcn", "feature_parallel", trainers=trainers, **words), tmp_path / "ours")
    whole = train_here(resolve(GRAPH, "gcn", "full_graph", **words), tmp_path / "whole")
    assert ours.losses == pytest.approx(whole.losses, rel=1e-5)
