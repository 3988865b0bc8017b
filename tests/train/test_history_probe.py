"""What histories cannot make exact is refused at launch, and named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import BatchNorm, GCNConv, GraphNorm, JumpingKnowledge, SAGEConv

from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.testing import graphs
from workbench.testing.rank_context import train_here
from workbench.train import resolve
from workbench.train.history_probe import choose_mode

NewFolder = Callable[[], Path]
WORDS: dict[str, Any] = {"epochs": 3, "num_clusters": 6, "clusters_per_batch": 2, "partitioner": "hash", "lr": 0.02}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return graphs.random(90, 300)


class Jumping(nn.Module):
    """Residual from the input, BatchNorm and jumping knowledge."""

    def __init__(self, width: int, num_classes: int) -> None:
        super().__init__()
        self.first, self.norm, self.second = SAGEConv(width, width), BatchNorm(width), GCNConv(width, width)
        self.jump, self.top = JumpingKnowledge("cat"), nn.Linear(3 * width, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        a = x + self.norm(self.first(x, edge_index)).relu()
        b = a + self.second(a, edge_index).relu()
        out: Tensor = self.top(self.jump([x, a, b]))
        return out


def test_a_residual_from_the_input_is_exact_with_padded_rows(graph: Graph, new_folder: NewFolder) -> None:
    torch.manual_seed(0)
    module = Jumping(graph.num_features, graph.num_classes).double()
    assert choose_mode(module, graph) == ("padded", None)
    run = train_here(resolve(graph, module, "historical", **WORDS), new_folder())
    assert np.isfinite(run.losses).all()


class MeanOfAll(nn.Module):
    def __init__(self, width: int, num_classes: int) -> None:
        super().__init__()
        self.first, self.top = SAGEConv(width, 8), SAGEConv(8, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.first(x, edge_index).relu()
        out: Tensor = self.top(x - x.mean(0), edge_index)
        return out


class Normed(nn.Module):
    def __init__(self, width: int, num_classes: int) -> None:
        super().__init__()
        self.first, self.norm, self.top = SAGEConv(width, 8), GraphNorm(8), SAGEConv(8, num_classes)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.top(self.norm(self.first(x, edge_index)), edge_index)
        return out


@pytest.mark.parametrize(
    ("make", "named"),
    [(MeanOfAll, r"MeanOfAll.forward does between first \(SAGEConv\) and top"), (Normed, "model.norm")],
)
def test_what_cannot_be_exact_is_refused_by_the_layers_name(make: Any, named: str, graph: Graph) -> None:
    with pytest.raises(InputError, match=named):
        resolve(graph, make, "historical", **WORDS)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"samplers": 1}, "samplers"),
        ({"history": "tape"}, "history"),
        ({"partitioner": "hdrf"}, "divides the edges"),
        ({"batch_size": 10}, "batch_size"),
    ],
)
def test_what_does_not_fit_is_refused(words: dict[str, Any], named: str, graph: Graph) -> None:
    with pytest.raises(InputError, match=named):
        resolve(graph, "gcn", "historical", **{**WORDS, **words})
