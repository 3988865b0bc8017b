"""Published and reference figures, through the same code as every run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from workbench.graph import datasets
from workbench.testing.rank_context import train_here
from workbench.train import resolve

NewFolder = Callable[[], Path]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_gcn_on_cora_gives_the_published_accuracy(data_root: Path, new_folder: NewFolder) -> None:
    """Kipf & Welling 2017: 81.5 on the public split. Mean of 10 seeds, test accuracy after the last of 200 epochs.

    As in the paper: rows of the features sum to one, 16 hidden channels, dropout 0.5, Adam with 0.01, L2 5e-4 (there on
    the first layer alone, here on both).
    """
    graph = datasets.load("cora", root=data_root / "planetoid")
    x = np.array(graph.x)
    graph = graph.with_data(x=x / np.maximum(x.sum(axis=1, keepdims=True), 1))
    words = {"hidden_channels": 16, "lr": 0.01, "weight_decay": 5e-4, "epochs": 200}
    quiet = {"evaluate_every": 0, "checkpoint_every": 0}
    accuracies = []
    for rng_seed in range(10):
        run = train_here(resolve(graph, "gcn", "full_graph", rng_seed=rng_seed, **words, **quiet), new_folder())
        accuracies.append(run.told("epoch_finished")[-1]["metrics"]["test_accuracy"])
    assert np.mean(accuracies) == pytest.approx(0.815, abs=0.01)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_graphsage_on_debian_gives_the_reference_accuracy(new_folder: NewFolder) -> None:
    """A plain PyG GraphSAGE with the same settings reached 81.8% after 8 epochs; two-hop SGC 75.6%."""
    graph = datasets.load("debian")
    words = {"fanouts": (15, 10), "batch_size": 1024, "lr": 0.003, "epochs": 8}
    run = train_here(resolve(graph, "sage", "mini_batch", evaluate_every=0, **words), new_folder(), timeout_s=3000)
    assert run.told("log_written")[0]["text"].startswith("Row cut on:")
    assert run.told("epoch_finished")[-1]["metrics"]["test_accuracy"] == pytest.approx(0.818, abs=0.01)
