"""Make of a run's configuration what trains: the module and its optimiser."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from workbench.models import MODELS, load_module
from workbench.train.base import TASKS
from workbench.train.seeding import seed_build

if TYPE_CHECKING:
    from workbench.core.config import RunConfig
    from workbench.graph import Graph

CUSTOM = "custom"  # the model's name where the user passed a module
MODEL_WEIGHTS = "model.pt"
OPTIMIZERS = ("adam", "adamw", "sgd")
_building = threading.Lock()  # torch's random state is one a process: ranks that are threads build one by one


def build_module(config: RunConfig, graph: Graph, folder: Path) -> nn.Module:
    """Return the module of a run with its first weights: drawn from `rng_seed`, or the user's own.

    The task may put a part of its own behind the model: a readout over graphs, a decoder of links.

    A module of the user's is read from ``model.pkl`` in `folder`, which runs code: for ranks, and for a reader who
    trusts the run.
    """
    task = TASKS.from_dict(config.task.to_json())
    num_outputs = task.num_outputs(graph)
    with _building:
        seed_build(config.rng_seed)
        if config.model.name == CUSTOM:
            module = load_module(folder)
        else:
            module = MODELS.from_dict(config.model.to_json()).build(graph.num_features, num_outputs)
        return task.complete(module, num_outputs)


def load_trained(config: RunConfig, graph: Graph, folder: Path) -> nn.Module:
    """Return the module of a finished run with the weights that it ended with, in evaluation mode."""
    module = build_module(config, graph, folder)
    module.load_state_dict(torch.load(Path(folder) / MODEL_WEIGHTS, map_location="cpu", weights_only=True))
    return module.eval()


def build_optimizer(config: RunConfig, module: nn.Module) -> torch.optim.Optimizer:
    """Return the optimiser that the configuration names, over all parameters of the module."""
    parameters = list(module.parameters())
    if config.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=config.lr, weight_decay=config.weight_decay)
    kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    return kind(parameters, lr=config.lr, weight_decay=config.weight_decay)
