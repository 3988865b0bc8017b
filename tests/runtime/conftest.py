"""A local cluster for all tests of a pytest process, and small runs on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.runtime.run import Run
from workbench.testing.runs import Launch


@pytest.fixture(scope="session")
def session() -> Iterator[wb.Session]:
    session = wb.connect(trainers=2, samplers=2)
    yield session
    session.close(force=True)


@pytest.fixture(scope="session")
def graph() -> wb.Graph:
    """A random graph of 300 nodes with 3 classes: features tell the class, edges mostly join equals."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    ends = rng.integers(0, 300, (2, 4000))
    equal = labels[ends[0]] == labels[ends[1]]
    edges = ends[:, equal | (rng.random(4000) < 0.1)]
    x = (np.eye(3)[labels].repeat(4, axis=1) + rng.normal(0, 1, (300, 12))).astype(np.float32)
    order = rng.permutation(300)
    splits = {"train_nodes": order[:150], "val_nodes": order[150:200], "test_nodes": order[200:]}
    return wb.Graph.from_edge_index(edges, num_nodes=300, x=x, y=labels, name="three", **splits)


@pytest.fixture
def launch(session: wb.Session, graph: wb.Graph) -> Iterator[Launch]:
    """Launch a small run; whatever is still going at the end of the test is stopped."""
    started: list[Run] = []

    def start(**keywords: Any) -> Run:
        keywords = {"trainers": 2, "epochs": 2, "batch_size": 16, "fanouts": (5, 5), "hidden_channels": 16} | keywords
        started.append(session.launch(graph, "sage", "mini_batch", **keywords))
        return started[-1]

    yield start
    for run in started:
        run.stop(force=True)
