"""A labelled graph in a folder, and plans over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from workbench.gather import BatchPlan
from workbench.graph import Graph


@pytest.fixture(scope="session")
def graph() -> Graph:
    rng = np.random.default_rng(0)
    num_nodes = 400
    return Graph.from_edge_index(
        rng.integers(0, num_nodes, (2, 4000)),
        num_nodes,
        x=rng.normal(size=(num_nodes, 7)).astype(np.float32),
        y=rng.integers(0, 5, num_nodes),
        train_nodes=np.arange(0, num_nodes, 2),
        val_nodes=np.arange(1, num_nodes, 4),
    )


@pytest.fixture(scope="session")
def make_plan(graph: Graph) -> Callable[..., BatchPlan]:
    def make(**changes: Any) -> BatchPlan:
        sampler = {"name": "neighbor", "params": {"fanouts": [4, 3]}}
        return BatchPlan(**{"folder": str(graph.store()), "sampler": sampler, "batch_size": 20, **changes})

    return make
