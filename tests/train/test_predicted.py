"""Predicted bytes are those that are counted where the formula holds, and more is seen where it does not."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from workbench.graph import Graph
from workbench.partition import partition
from workbench.testing import graphs
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import resolve
from workbench.train.predicted import predict_traffic

QUIET: dict[str, Any] = {"evaluate_every": 0, "checkpoint_every": 0}
NewFolder = Callable[[], Path]


@pytest.fixture(scope="module")
def graph() -> Graph:
    return graphs.random(150, 500)


def compared(run: LocalRun) -> dict[str, tuple[float, float]]:
    """Return by kind what a step was predicted to move, and what the first one moved."""
    (told,) = run.told("traffic_predicted")
    assert set(told["bytes"]) == set(told["formulas"])
    first = [step["bytes"] for step in run.told("step_finished") if step["step"] == 1]
    return {kind: (value, sum(moved.get(kind, 0) for moved in first)) for kind, value in told["bytes"].items()}


@pytest.mark.parametrize(("model", "dropout"), [("sage", 0.5), ("gcn", 0.0), ("gat", 0.0)])
@pytest.mark.parametrize("trainers", [2, 3])
def test_halo_bytes_come_out_as_predicted(
    model: str, dropout: float, trainers: int, graph: Graph, new_folder: NewFolder
) -> None:
    words = {"trainers": trainers, "epochs": 2, "hidden_channels": 8, "num_layers": 3, "dropout": dropout, **QUIET}
    run = train_here(resolve(graph, model, "halo_exchange", partition="random", **words), new_folder())
    found = compared(run)
    assert found["halo_forward"][0] == found["halo_forward"][1] > 0
    assert found["halo_backward"][0] == found["halo_backward"][1] > 0
    predicted, moved = found["all_reduce"]
    assert 0 < moved - predicted < 200 * trainers, "a flag a parameter and three totals"


@pytest.mark.parametrize(
    ("strategy", "own", "within"),
    [
        ("stale_halo", {}, 0.0),
        ("stale_halo", {"staleness_bound": 2, "refresh_every": 3}, 0.0),
        ("sampled_boundary", {"boundary_rate": 0.5}, 0.1),
    ],
)
def test_late_and_sampled_halos_come_out_as_predicted(
    strategy: str, own: dict[str, Any], within: float, graph: Graph, new_folder: NewFolder
) -> None:
    """On the mean over steps: rows are sent every R steps, or drawn anew in each of them."""
    words = {"trainers": 2, "epochs": 9, "hidden_channels": 8, "num_layers": 3, "dropout": 0.0, **QUIET, **own}
    run = train_here(resolve(graph, "sage", strategy, partition="random", **words), new_folder())
    predicted, steps = run.told("traffic_predicted")[0]["bytes"], run.told("step_finished")
    for kind in ("halo_forward", "halo_backward"):
        mean = sum(step["bytes"].get(kind, 0) for step in steps) / 9
        assert mean == pytest.approx(predicted[kind], rel=within or 1e-12)


def test_features_that_change_each_step_move_beyond_the_prediction(graph: Graph, new_folder: NewFolder) -> None:
    words = {"trainers": 2, "epochs": 1, "hidden_channels": 8, "num_layers": 2, "dropout": 0.5, **QUIET}
    run = train_here(resolve(graph, "gcn", "halo_exchange", partition="random", **words), new_folder())
    predicted, moved = compared(run)["halo_forward"]
    halo = partition(graph, 2, "random").quality().comm_volume
    assert moved - predicted == 4 * halo * graph.num_features


def test_one_rank_and_models_that_do_not_tell_their_widths_have_less_predicted(
    graph: Graph, new_folder: NewFolder
) -> None:
    alone = train_here(resolve(graph, "sage", "full_graph", epochs=1, **QUIET), new_folder())
    assert alone.told("traffic_predicted") == []
    words = {"trainers": 2, "epochs": 1, "dropout": 0.0, **QUIET}
    run = train_here(resolve(graph, "appnp", "halo_exchange", partition="random", **words), new_folder())
    assert set(compared(run)) == {"all_reduce", "all_reduce_modelled"}


def test_a_rank_tells_how_many_rows_it_fetched(graph: Graph, new_folder: NewFolder) -> None:
    words = {"fanouts": (3, 2), "batch_size": 10, "trainers": 2, "epochs": 1, "hidden_channels": 8, **QUIET}
    run = train_here(resolve(graph, "sage", "partitioned_mini_batch", partition="random", **words), new_folder())
    rows, steps = run.told("rows_gathered"), run.told("step_finished")
    assert len(rows) == len(steps) > 0
    width = graph.num_features * 4
    assert sum(row["num_remote"] for row in rows) * width == sum(
        step["bytes"].get("gather_remote", 0) for step in steps
    )
    assert sum(row["num_local"] + row["num_remote"] for row in rows) == sum(step["num_nodes"] for step in steps)
    assert all(row["num_cached"] == 0 for row in rows)


def test_frozen_parameters_are_not_reduced(graph: Graph) -> None:
    module = nn.Linear(4, 3)
    module.weight.requires_grad_(False)
    config = resolve(graph, "sage", "mini_batch", fanouts=(2, 2), trainers=3, epochs=1).config
    found, _ = predict_traffic(config, module.to(torch.float64))
    assert found == {"all_reduce": 3 * 3 * 8, "all_reduce_modelled": 2 * 2 * 3 * 8}
