"""Tasks on nodes: losses and metrics against plain references, unknown targets, and the task that fits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from workbench.core.errors import Findings, InputError
from workbench.graph import Graph
from workbench.testing import graphs
from workbench.testing.rank_context import train_here
from workbench.train import TASKS, resolve
from workbench.train.choose_task import fitting_task

NewFolder = Callable[[], Path]
WORDS: dict[str, Any] = {"hidden_channels": 8, "dropout": 0.0, "lr": 0.02, "epochs": 2}
ENTRIES = st.sampled_from([0.0, 1.0, float("nan")])


def with_targets(y: Any, num_nodes: int = 24) -> Graph:
    return graphs.path(num_nodes).with_data(y=y, num_classes=None, class_names=None)


def labels(num_nodes: int = 24, num_labels: int = 3) -> np.ndarray[Any, Any]:
    y = (np.random.default_rng(0).random((num_nodes, num_labels)) < 0.4).astype(np.float32)
    y[3, 1] = y[5] = np.nan
    y[8] = np.nan  # a training node of which nothing is known
    return y


def numbers(num_nodes: int = 24, num_columns: int = 2) -> np.ndarray[Any, Any]:
    y = np.random.default_rng(1).normal(size=(num_nodes, num_columns)).astype(np.float32)
    y[2, 0] = y[9, 1] = np.nan
    y[8] = np.nan
    return y


def test_the_task_follows_from_the_targets_and_is_recorded() -> None:
    cases = [
        (np.arange(24) % 3, "node_classification"),
        (labels(), "multi_label"),
        (labels() == 1, "multi_label"),
        (numbers(), "node_regression"),
        (numbers()[:, 1], "node_regression"),
        (np.arange(24.0)[:, None], "node_regression"),
    ]
    for y, name in cases:
        graph = with_targets(y)
        assert fitting_task(graph) == name
        assert resolve(graph, "gcn", "full_graph", epochs=1).config.task.name == name
    assert fitting_task(graphs.unlabelled()) is None


@pytest.mark.parametrize(
    ("y", "task", "right"),
    [
        (np.arange(24) % 3, "multi_label", "node_classification"),
        (np.arange(24) % 3, "node_regression", "node_classification"),
        (labels(), "node_classification", "multi_label"),
        (numbers(), "node_classification", "node_regression"),
        (numbers(), "multi_label", "node_regression"),
    ],
)
def test_a_task_that_does_not_fit_is_refused_and_the_right_one_named(y: Any, task: str, right: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve(with_targets(y), "gcn", "full_graph", epochs=1, task=task)
    (finding,) = caught.value.findings
    assert finding.where == "graph.y"
    assert finding.fix.startswith(f"launch with task={right!r}")


def test_zeros_and_ones_may_be_regressed_where_that_is_asked_for() -> None:
    assert resolve(with_targets(labels()), "gcn", "full_graph", epochs=1, task="node_regression").config


@pytest.mark.parametrize("task", ["node_classification", "multi_label", "node_regression"])
def test_a_graph_without_targets_is_told_what_it_lacks(task: str) -> None:
    findings = Findings("graph")
    TASKS.create(task).check(graphs.unlabelled(), findings)
    assert [(item.where, item.got) for item in findings.items] == [("graph.y", "no labels")]
    assert "task='link_prediction'" in findings.items[0].fix


@pytest.mark.parametrize("make", [labels, numbers])
def test_unknown_training_targets_are_a_remark_and_none_at_all_a_fault(make: Callable[[], Any]) -> None:
    y = make()
    resolved = resolve(with_targets(y), "gcn", "full_graph", epochs=1)
    assert [(item.where, item.severity) for item in resolved.warnings] == [("graph.train_nodes", "warning")]
    assert resolved.warnings[0].got == "1 of 12 without one (NaN)"
    y[::2] = np.nan
    with pytest.raises(InputError, match="12 of 12 without one"):
        resolve(with_targets(y), "gcn", "full_graph", epochs=1)


def test_a_split_that_is_missing_is_not_measured(new_folder: NewFolder) -> None:
    graph = with_targets(labels()).with_data(val_nodes=None)
    run = train_here(resolve(graph, "gcn", "full_graph", **WORDS), new_folder())
    assert set(run.told("epoch_finished")[-1]["metrics"]) == {"test_f1"}
    with pytest.raises(InputError, match="at least one training node"):
        resolve(graph.with_data(train_nodes=None), "gcn", "full_graph", epochs=1)


def test_infinite_targets_are_refused_by_the_graph() -> None:
    y = numbers()
    y[4, 1] = -np.inf
    with pytest.raises(InputError, match="1 value that is infinite, first at row 4, column 1"):
        with_targets(y)


def brute_f1(predicted: Any, true: Any) -> float:
    """Count hit by hit."""
    hits = wrong = missed = 0
    for p, t in zip(predicted.ravel().tolist(), true.ravel().tolist(), strict=True):
        if np.isnan(t):
            continue
        hits += p == 1 and t == 1
        wrong += p == 1 and t == 0
        missed += p == 0 and t == 1
    if hits == 0:
        return 0.0
    precision, recall = hits / (hits + wrong), hits / (hits + missed)
    return 2 * precision * recall / (precision + recall)


@given(
    npst.arrays(np.float64, (7, 3), elements=st.sampled_from([-1.0, 2.0])), npst.arrays(float, (7, 3), elements=ENTRIES)
)
def test_f1_is_that_of_precision_and_recall_over_all_labels(outputs: Any, y: Any) -> None:
    task = TASKS.create("multi_label")
    found = task.measure(task.summarise(torch.from_numpy(outputs)), torch.from_numpy(y))
    assert found == pytest.approx(brute_f1(outputs > 0, y))
    assert np.array_equal(task.decide(outputs), outputs > 0)


@pytest.mark.parametrize(("loss", "error"), [("mse", np.square), ("l1", np.abs)])
def test_losses_of_rows_leave_out_what_is_unknown(loss: str, error: Any) -> None:
    y, outputs = numbers(), torch.randn(24, 2, dtype=torch.float64, requires_grad=True)
    task, weights = TASKS.create("node_regression", loss=loss), torch.rand(24, dtype=torch.float64)
    rows = np.nan_to_num(
        np.nanmean(np.where(np.isnan(y).all(1, keepdims=True), 0, error(outputs.detach().numpy() - y)), 1)
    )
    found = task.loss_sum(outputs, torch.from_numpy(y), weights)
    assert found.item() == pytest.approx((rows * weights.numpy()).sum())
    (gradient,) = torch.autograd.grad(found, [outputs])
    assert bool(torch.isfinite(gradient).all())
    assert gradient[8].tolist() == [0.0, 0.0]
    assert (task.is_known(y) == ~np.isnan(y).all(axis=1)).all()


def test_cross_entropy_of_labels_is_the_mean_over_known_ones() -> None:
    y, outputs = labels(), torch.randn(24, 3, dtype=torch.float64, requires_grad=True)
    task = TASKS.create("multi_label")
    chance = 1 / (1 + np.exp(-outputs.detach().numpy()))
    entries = -np.where(y == 1, np.log(chance), np.log(1 - chance))
    rows = [np.mean(row[~np.isnan(t)]) if (~np.isnan(t)).any() else 0.0 for row, t in zip(entries, y, strict=True)]
    found = task.loss_sum(outputs, torch.from_numpy(y))
    assert found.item() == pytest.approx(sum(rows))
    assert bool(torch.isfinite(torch.autograd.grad(found, [outputs])[0]).all())


@given(
    npst.arrays(np.float64, (6, 2), elements=st.floats(-3, 3)),
    npst.arrays(np.float64, (6, 2), elements=st.one_of(st.floats(-3, 3), st.just(np.nan))),
)
def test_errors_are_those_of_numpy(outputs: Any, y: Any) -> None:
    task, known = TASKS.create("node_regression"), ~np.isnan(y)
    if not known.any():
        return
    found = task.measure_all(torch.from_numpy(outputs), torch.from_numpy(y))
    assert found["mae"] == pytest.approx(np.abs(outputs - y)[known].mean())
    shares = []
    for p, t in zip(outputs.T, y.T, strict=True):
        p, t = p[~np.isnan(t)], t[~np.isnan(t)]
        if len(t) and ((t - t.mean()) ** 2).sum() > 0:
            shares.append(1 - ((p - t) ** 2).sum() / ((t - t.mean()) ** 2).sum())
    assert ("r2" in found) == bool(shares)
    if shares:
        assert found["r2"] == pytest.approx(np.mean(shares), rel=1e-6)


@pytest.mark.parametrize(("make", "metric", "lower"), [(labels, "f1", []), (numbers, "mae", ["mae"])])
@pytest.mark.parametrize("strategy", ["full_graph", "mini_batch"])
def test_a_run_measures_what_its_predictions_give(
    make: Callable[[], Any], metric: str, lower: list[str], strategy: str, new_folder: NewFolder
) -> None:
    y = make()
    graph = with_targets(y)
    words = {**WORDS, "batch_size": 5, "trainers": 2} if strategy == "mini_batch" else WORDS
    run = train_here(resolve(graph, "sage", strategy, **words), new_folder())
    (started,) = run.told("train_started")
    assert (started["metric"], started["lower_is_better"], started["num_train_nodes"]) == (metric, lower, 11)
    outputs = np.load(run.folder / "predictions.npy")
    assert outputs.shape == y.shape
    told = run.told("epoch_finished")[-1]["metrics"]
    assert next(iter(told)) == f"val_{metric}"
    for split, nodes in (("val", graph.val_nodes), ("test", graph.test_nodes)):
        rows, true = outputs[nodes], y[nodes]
        known = ~np.isnan(true)
        wanted = brute_f1(rows > 0, true) if metric == "f1" else np.abs(rows - true)[known].mean()
        assert told[f"{split}_{metric}"] == pytest.approx(wanted, abs=1e-6)
    assert ("val_r2" in told) == (metric == "mae")


def test_decided_values_of_one_column_are_a_vector() -> None:
    task = TASKS.create("node_regression")
    assert task.decide(np.ones((4, 1))).shape == (4,)
    assert task.decide(np.ones((4, 2))).shape == (4, 2)
