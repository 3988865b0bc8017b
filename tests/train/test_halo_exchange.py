"""Halo exchange on any partition equals one process on the whole graph, in double precision, for any model."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import (
    BatchNorm,
    DiffGroupNorm,
    EdgeConv,
    GATConv,
    GINConv,
    GINEConv,
    SAGEConv,
    TransformerConv,
)

from tests.train.halo_runs import WORLDS, Result, mixed_graph, on_parts, on_the_whole_graph, partition_of
from workbench.models import MODELS
from workbench.testing.nets import CLASSES, EXACT, WIDTH, Net, sage

GRAPH = mixed_graph(WIDTH, CLASSES)
CASES = [*(f"random {p}" for p in WORLDS), *(f"metis {p}" for p in WORLDS[1:]), "empty 3", "empty 7"]
SMALL = {"hidden_channels": 6, "heads": 2, "edge_hidden_channels": 4, "K": 3, "edge_channels": 2}
EXACTLY = 1e-10


@functools.cache
def folder_of(case: str, root: Path) -> Path:
    return partition_of(GRAPH, case).write_parts(root / case.replace(" ", "_"))


@pytest.fixture(scope="session")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("parts")


def build(name: str, **params: Any) -> nn.Module:
    """Build a model of the registry, small, from fixed weights."""
    known = {info.name for info in MODELS.entry(name).params}
    torch.manual_seed(1)
    chosen = {key: value for key, value in {**SMALL, **params}.items() if key in known}
    return MODELS.create(name, **chosen).build(WIDTH, CLASSES).double()


class Residual(nn.Module):
    """Residuals around layers, a norm of every rank's rows, dropout on nodes and on attention."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.convs = nn.ModuleList([SAGEConv(WIDTH, WIDTH), GATConv(WIDTH, WIDTH, dropout=dropout)])
        self.norm, self.head, self.dropout = (
            BatchNorm(WIDTH, allow_single_element=True),
            nn.Linear(WIDTH, CLASSES),
            dropout,
        )
        self.double()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for conv in self.convs:
            x = x + functional.dropout(self.norm(conv(x, edge_index)).relu(), self.dropout, self.training)
        out: Tensor = self.head(x)
        return out


class Inside(nn.Module):
    """BatchNorm and dropout inside layers: on rows of nodes (GIN) and on rows of edges (EdgeConv)."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first = GINConv(
            nn.Sequential(nn.Linear(WIDTH, 6), nn.BatchNorm1d(6), nn.Dropout(dropout), nn.Linear(6, 6))
        )
        self.second = EdgeConv(
            nn.Sequential(nn.Linear(12, 6), nn.BatchNorm1d(6, momentum=None), nn.ReLU(), nn.Dropout(dropout)),
            aggr="mean",
        )
        self.head = nn.Linear(6, CLASSES)
        self.double()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.head(self.second(self.first(x, edge_index).relu(), edge_index))
        return out


class Weighing(nn.Module):
    """Edge weights that the model learns: their degrees carry gradients between ranks."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.weigh = nn.Linear(2, 1)
        self.gcn, self.cheb = build("gcn", dropout=0.0), build("cheb", dropout=0.0)
        self.double()

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        weight = self.weigh(edge_attr).squeeze(1).sigmoid()
        out: Tensor = self.gcn(x, edge_index, edge_weight=weight) + self.cheb(x, edge_index, edge_weight=weight)
        return out


class EdgeFeatures(nn.Module):
    """Features of edges by name, filled in for self-loops by the mean over a node's in-edges."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first, self.second = (
            GATConv(WIDTH, 6, edge_dim=2, fill_value="mean"),
            GINEConv(nn.Linear(6, 6), edge_dim=2),
        )
        self.third = TransformerConv(6, CLASSES, edge_dim=2, beta=True)
        self.double()

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        x = self.second(self.first(x, edge_index, edge_attr=edge_attr).relu(), edge_index, edge_attr).relu()
        out: Tensor = self.third(x, edge_index, edge_attr)
        return out


BY_HAND: dict[str, Callable[[], nn.Module]] = {
    **{name: make for name, (make, _) in EXACT.items() if "sample" not in name},
    "residual with BatchNorm": Residual,
    "BatchNorm inside layers": Inside,
    "learned edge weights": Weighing,
    "features of edges": EdgeFeatures,
    "DiffGroupNorm": lambda: Net(sage, norm=lambda: DiffGroupNorm(WIDTH, 3)),
    "no running statistics": lambda: Net(sage, norm=lambda: BatchNorm(WIDTH, track_running_stats=False)),
}
KINDS = (
    *(("sparse", True), ("norm", "batch"), ("jumping_knowledge", "cat"), ("residual", True)),
    *(("aggregation", "max"), ("aggregation", "pool")),
)


def has(name: str, key: str, value: Any) -> bool:
    """Say whether a model can be had in this form."""
    info = {info.name: info for info in MODELS.entry(name).params}.get(key)
    return info is not None and (info.choices is None or value in info.choices)


VARIANTS = {
    **{name: lambda name=name: build(name, dropout=0.0) for name in MODELS.names()},
    **{
        f"{name}, {key}={value}": lambda name=name, key=key, value=value: build(name, dropout=0.0, **{key: value})
        for name in MODELS.names()
        for key, value in KINDS
        if has(name, key, value)
    },
}
ALL = VARIANTS | BY_HAND
ON_EVERY_PARTITION = ("shared", "residual with BatchNorm", "BatchNorm inside layers", "learned edge weights")


@functools.cache
def expected(name: str) -> Result:
    return on_the_whole_graph(ALL[name](), GRAPH)


@pytest.mark.parametrize("name", ALL)
def test_a_model_on_parts_equals_the_model_on_the_whole_graph(name: str, root: Path) -> None:
    far = {}
    for case in CASES if name in (*MODELS.names(), *ON_EVERY_PARTITION) else ["random 3", "empty 3"]:
        for rank, found in enumerate(on_parts(ALL[name](), folder_of(case, root), int(case.split()[1]))):
            for what, difference in found.differences(expected(name)).items():
                if not difference < EXACTLY:
                    far[f"{case}, rank {rank}: {what}"] = difference
    assert far == {}


DROPPING: dict[str, Callable[[], nn.Module]] = {
    **{name: lambda name=name: build(name, dropout=0.4) for name in MODELS.names()},
    "residual with BatchNorm": lambda: Residual(0.4),
    "inside layers": lambda: Inside(0.4),
}


@pytest.mark.parametrize("name", DROPPING)
def test_keyed_masks_make_dropout_the_same_on_any_partition(name: str, root: Path) -> None:
    module = DROPPING[name]()
    whole = on_the_whole_graph(module, GRAPH, keyed=True)
    assert whole.loss != pytest.approx(on_the_whole_graph(DROPPING[name]().eval(), GRAPH).loss, abs=1e-12)
    for case in ("random 2", "empty 3"):
        for found in on_parts(module, folder_of(case, root), int(case.split()[1]), keyed=True):
            assert max(found.differences(whole).values()) < EXACTLY, case


@pytest.mark.parametrize("name", ["gat", "residual with BatchNorm"])
def test_it_is_the_same_through_sockets(name: str, root: Path) -> None:
    for found in on_parts(ALL[name](), folder_of("empty 3", root), 3, through_memory=False):
        assert max(found.differences(expected(name)).values()) < EXACTLY


class Spoilt(nn.Module):
    """Drops features by PyTorch's stream: an empty tensor comes back from there as the very same object."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.conv = SAGEConv(WIDTH, CLASSES).double()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.conv(functional.dropout(x, 0.5, self.training), edge_index)
        return out


def test_a_rank_without_a_node_does_not_take_dropped_features_for_the_features(root: Path) -> None:
    found = on_parts(Spoilt(), folder_of("empty 3", root), 3)
    assert found[1].bytes["halo_forward"] > 0  # nobody has stopped at the exchange, and the features have moved
