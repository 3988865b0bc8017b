"""What the doctor says of targets, and of graphs side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.graph import Graph, check_graph
from workbench.testing import graphs


def said(graph: Graph, where: str = "y") -> list[tuple[str, str]]:
    return [(item.severity, item.got) for item in check_graph(graph) if item.where == where]


def targets(**changes: Any) -> Graph:
    y = np.random.default_rng(0).normal(size=(24, 3))
    for column, values in changes.items():
        y[:, int(column[1:])] = values
    return graphs.path(24).with_data(y=y)


def test_targets_in_order_are_no_finding() -> None:
    assert said(targets()) == []


def test_unknown_targets_are_told() -> None:
    assert said(targets(c1=[np.nan] * 6 + [1, 2, 3] * 6)) == [("info", "6 values unknown (8.3%)")]


def test_a_scale_that_is_hard_to_learn_is_told_with_its_remedy() -> None:
    (found,) = said(targets(c0=np.arange(24) * 100.0))
    assert found == ("warning", "up to 2.2e+03 in training")


def test_columns_that_say_nothing_are_told() -> None:
    unknown_in_training = np.where(np.arange(24) % 2 == 0, np.nan, 1.5)
    found = said(targets(c0=7.0, c2=unknown_in_training))
    assert ("warning", "2 columns with one value or none: 0, 2") in found


def test_a_union_is_looked_at_as_one() -> None:
    union = graphs.union(3, 4, 5, 2)
    assert said(union, "graph.y") == []
    mixed = np.array(union.y)
    mixed[0] = 2 - mixed[0]
    assert said(union.with_data(y=mixed), "graph.y") == [("error", "several in graph 0")]
