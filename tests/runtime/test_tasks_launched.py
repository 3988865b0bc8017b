"""Every task through launch, on the local cluster: batches by a sampler, history, predictions, the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.graph.graph_set import graph_set
from workbench.runtime.run_report import progress_of
from workbench.testing import graphs
from workbench.testing.runs import PATIENCE_S
from workbench.train.heads import ReadOut

pytestmark = pytest.mark.slow
WORDS: dict[str, Any] = {"trainers": 2, "samplers": 1, "epochs": 2, "hidden_channels": 8, "dropout": 0.0}


def test_labels_and_numbers_of_nodes(session: wb.Session, graph: wb.Graph) -> None:
    labels = np.eye(3, dtype=bool)[graph.y]
    run = session.launch(graph.with_data(y=labels, num_classes=None), fanouts=(5, 5), batch_size=40, **WORDS)
    numbers = session.launch(
        graph.with_data(y=graph.y + 0.5, num_classes=None), fanouts=(5, 5), batch_size=40, **{**WORDS, "lr": 0.02}
    )
    assert run.wait(PATIENCE_S).config.task.name == "multi_label"
    assert list(run.history.columns[4:6]) == ["val_f1", "test_f1"]
    predicted = run.predictions()
    assert (predicted.dtype, predicted.shape) == (bool, (300, 3))
    assert numbers.wait(PATIENCE_S).config.task.name == "node_regression"
    assert numbers.predictions().shape == (300,)
    error = np.abs(numbers.predictions() - graph.y - 0.5)[graph.test_nodes].mean()
    assert error == pytest.approx(numbers.history.test_mae.iloc[-1], abs=1e-5)
    assert "val mae" in progress_of(numbers.events)


def test_links(session: wb.Session, graph: wb.Graph) -> None:
    words = {**WORDS, "task": "link_prediction", "out_channels": 8, "fanouts": (5, 5), "batch_size": 100}
    run = session.launch(graph, **words, decoder="bilinear").wait(PATIENCE_S)
    alone = session.launch(graph, **{**words, "samplers": 0}, decoder="bilinear").wait(PATIENCE_S)
    assert run.status == "finished"
    assert {"val_auc", "val_mrr", "test_auc", "test_mrr"} <= set(run.history.columns)
    assert run.history.train_loss.tolist() == alone.history.train_loss.tolist()
    assert np.array_equal(run.predictions(), alone.predictions())
    assert run.predictions().shape == (300, 8)
    assert run.model().weight.shape == (8, 8)


def test_graphs(session: wb.Session) -> None:
    union = graphs.union(*[3 + i % 4 for i in range(30)])
    run = session.launch(union, "sage", "graph_batch", batch_size=4, **WORDS).wait(PATIENCE_S)
    assert run.config.task.name == "graph_classification"
    found = graph_set(union)
    assert found.y is not None
    assert run.predictions().shape == (30,)
    accuracy = (run.predictions() == found.y)[found.test_graphs].mean()
    assert accuracy == pytest.approx(run.history.test_accuracy.iloc[-1])
    assert isinstance(run.model(), ReadOut)
