"""What the tests of update rules share: a little run that any rule can train, and its weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from workbench.graph import Graph
from workbench.models import MODELS
from workbench.testing import graphs
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import resolve

NewFolder = Callable[[], Path]
WORDS: dict[str, Any] = {"epochs": 3, "batch_size": 4, "fanouts": (3, 2), "lr": 0.1, "optimizer": "sgd"}


def double_model(graph: Graph, rng_seed: int = 3, name: str = "sage") -> nn.Module:
    """Return a model in double precision, without dropout."""
    torch.manual_seed(rng_seed)
    return MODELS.create(name, hidden_channels=6, dropout=0.0).build(graph.num_features, graph.num_classes).double()


def train(folder: Path, *, graph: Graph | None = None, controls: Any = None, **words: Any) -> LocalRun:
    """Train a model in double precision by mini-batches with an update rule."""
    graph = graph or graphs.random(60, 200)
    resolved = resolve(graph, double_model(graph), "mini_batch", **{**WORDS, **words})
    return train_here(resolved, folder, controls=controls)


def weights(run: LocalRun) -> dict[str, Tensor]:
    """Return the final model's weights."""
    return torch.load(run.folder / "model.pt", weights_only=True)  # type: ignore[no-any-return]


def largest_difference(a: LocalRun, b: LocalRun) -> float:
    """Return how far two runs' final weights are apart, over the largest entry."""
    return max((x - weights(b)[name]).abs().max().item() for name, x in weights(a).items())
