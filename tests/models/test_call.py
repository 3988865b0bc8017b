"""A model is given what its forward names, and nothing else."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from workbench.models import ModelInputs, call_model, forward_names

X, EDGES = torch.eye(3), torch.tensor([[0, 1], [1, 2]])


class Echo(nn.Module):
    def forward(self, edge_index: Tensor, x: Tensor, edge_weight: Tensor | None = None) -> dict[str, Any]:
        return {"x": x, "edge_index": edge_index, "edge_weight": edge_weight}


class NoEdges(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


class Stranger(nn.Module):
    def forward(self, x: Tensor, adjacency: Tensor, scale: float = 1.0) -> Tensor:
        return x


def test_arguments_go_by_name_whatever_their_order() -> None:
    given = call_model(Echo(), ModelInputs(x=X, edge_index=EDGES, edge_weight=torch.ones(2)))
    assert given["x"] is X
    assert given["edge_index"] is EDGES
    assert given["edge_weight"].tolist() == [1.0, 1.0]


def test_an_input_that_is_not_there_leaves_the_default() -> None:
    assert call_model(Echo(), ModelInputs(x=X, edge_index=EDGES))["edge_weight"] is None


def test_a_model_that_reads_no_edges_gets_none() -> None:
    assert call_model(NoEdges(), ModelInputs(x=X, edge_index=EDGES)) is X


def test_names_that_nobody_knows_are_told_apart_from_defaults() -> None:
    assert forward_names(Stranger()) == (("x",), ("adjacency",))
    assert forward_names(Echo()) == (("edge_index", "x", "edge_weight"), ())
