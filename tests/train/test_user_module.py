"""What a person's own module is given by the strategies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from workbench.testing.graphs import path
from workbench.testing.rank_context import train_here
from workbench.train import resolve

GRAPH = path(12)


def test_edge_weights_reach_a_model_that_asks_for_them(new_folder: Callable[[], Path]) -> None:
    class Weighted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(4, 3)

        def forward(self, x: Tensor, edge_weight: Tensor) -> Tensor:
            out: Tensor = self.lin(x) + 0 * edge_weight.sum() + (edge_weight != 2.0).any() * 1e9
            return out

    graph = GRAPH.with_data(edge_data={"weight": np.full(GRAPH.num_edges, 2.0, np.float32)})
    for strategy in ("full_graph", "mini_batch"):
        with torch.random.fork_rng():
            torch.manual_seed(0)
            run = train_here(resolve(graph, Weighted(), strategy, epochs=1), new_folder())
        assert run.losses[0] < 100
