"""check_parity: a table of what is exact, by how much the rest differs, and what would be refused."""

from __future__ import annotations

import math
from typing import Any

import pytest
from torch import nn
from torch_geometric.nn import GATConv

import workbench as wb
from tests.train.halo_runs import mixed_graph
from workbench.core.errors import InputError
from workbench.testing.nets import CLASSES, WIDTH, Mean, Net
from workbench.train.strategies.halo_exchange import HaloExchangeTraining

GRAPH = mixed_graph(WIDTH, CLASSES)


def test_full_graph_halo_exchange_and_whole_neighbourhoods_are_exact() -> None:
    report = wb.check_parity(
        GRAPH,
        "gat",
        ("full_graph", "halo_exchange", "mini_batch"),
        num_parts=3,
        hidden_channels=8,
        fanouts=(-1, -1),
        partition="random",
    )
    assert report.ok
    assert [(row.strategy, row.num_parts) for row in report.rows] == [
        ("full_graph", 1),
        ("halo_exchange", 3),
        ("mini_batch", 3),
    ]
    for row in report.rows:
        assert max(row.loss, row.gradients, row.predictions) < 1e-12
        assert (row.verdict, row.where) == ("exact", "")
    assert "3 of 3 exact" in repr(report)


def test_a_sample_differs_and_its_predictions_are_exact_all_the_same() -> None:
    (row,) = wb.check_parity(GRAPH, "sage", ["mini_batch"], hidden_channels=8, fanouts=(1, 1)).rows
    assert (row.verdict, row.predictions < 1e-12) == ("differs", True)
    assert row.loss > 1e-3


def test_what_a_launch_would_refuse_is_told_with_its_reason_as_text() -> None:
    report = wb.check_parity(GRAPH, Mean(), ("full_graph", "halo_exchange"))
    assert not report.ok
    exact, refused = report.rows
    assert (exact.verdict, refused.verdict) == ("exact", "refused")
    assert math.isnan(refused.loss)
    assert "between conv (SAGEConv) and head (Linear)" in refused.where
    assert "–" in repr(report).splitlines()[-1]


def test_objects_modules_and_factories_are_taken_and_left_alone() -> None:
    module: nn.Module = Net(lambda: GATConv(WIDTH, WIDTH, dropout=0.5)).float()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    strategy = HaloExchangeTraining(partition="contiguous")
    assert wb.check_parity(GRAPH, module, [strategy]).ok
    assert all(value.equal(before[name]) for name, value in module.state_dict().items())
    factory: Any = lambda a, b: GATConv(a, b)  # noqa: E731
    assert wb.check_parity(GRAPH, factory, num_parts=4, partition="random").ok


def test_the_table_shows_text_of_models_as_text() -> None:
    class Evil(Mean):
        pass

    Evil.__name__ = "<img src=x>"
    shown = wb.check_parity(GRAPH, Evil(), ["halo_exchange"])._repr_html_()
    assert "<img" not in shown
    assert "&lt;img" in shown
    assert 'aria-label="Parity of strategies"' in shown


def test_a_keyword_that_no_strategy_takes_is_an_error() -> None:
    with pytest.raises(InputError, match="quux"):
        wb.check_parity(GRAPH, "sage", quux=1)


def test_one_strategy_may_be_named_alone() -> None:
    (row,) = wb.check_parity(GRAPH, "gat", "halo_exchange", hidden_channels=8, partition="random").rows
    assert (row.strategy, row.verdict) == ("halo_exchange", "exact")


def test_what_makes_no_comparison_is_told_all_at_once() -> None:
    with pytest.raises(InputError, match="4 problems") as told:
        wb.check_parity(GRAPH, "gat", [], tolerance=-1.0, trainers=2, epochs=3)
    assert [finding.where for finding in told.value.findings] == ["strategies", "tolerance", "trainers", "epochs"]


def test_a_batch_of_one_row_meets_batch_norm_as_in_a_run() -> None:
    words = {"hidden_channels": 8, "norm": "batch", "fanouts": (1, 1), "batch_size": 1}
    (row,) = wb.check_parity(GRAPH, "sage", ["mini_batch"], **words).rows
    assert row.verdict == "differs"
    assert math.isfinite(row.loss)


def test_frozen_parameters_are_left_out() -> None:
    module = Net(lambda: GATConv(WIDTH, WIDTH))
    module.convs[0].requires_grad_(False)
    report = wb.check_parity(GRAPH, module, ("halo_exchange", "mini_batch"), fanouts=(-1, -1, -1), partition="random")
    assert report.ok


def test_a_task_that_is_not_of_nodes_is_refused() -> None:
    with pytest.raises(InputError, match="'link_prediction', of edges"):
        wb.check_parity(GRAPH, "sage", ["mini_batch"], task="link_prediction")
