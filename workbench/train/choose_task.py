"""Which task fits a graph's targets, and whether task, strategy and sampler go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.graph.graph_set import GRAPH_IDS

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.train.base import Strategy
    from workbench.train.task import Task

DEFAULT = "node_classification"
_ROWS_AT_A_TIME = 1 << 20
_PLURALS = {"node": "nodes", "edge": "edges", "graph": "whole graphs"}


def fitting_task(graph: Graph) -> str | None:
    """Return the task that the targets of a graph stand for, or None without targets.

    Graphs side by side (a column ``graph_ids``): ``graph_classification``. Whole numbers: ``node_classification``.
    Zeros and ones in columns: ``multi_label``. Other numbers: ``node_regression``. NaN stands for unknown.
    """
    y = graph.y
    if y is None:
        return None
    if GRAPH_IDS in graph.node_data:
        return "graph_classification"
    if y.ndim == 1:
        return "node_classification"
    return "multi_label" if is_binary(y) else "node_regression"


def is_binary(y: NDArray[Any]) -> bool:
    """Say whether targets are zeros and ones alone, unknown ones (NaN) left out, and at least one is known."""
    num_known = 0
    for start in range(0, len(y), _ROWS_AT_A_TIME):
        rows = np.asarray(y[start : start + _ROWS_AT_A_TIME])
        binary = (rows == 0) | (rows == 1)
        if not (binary | np.isnan(rows)).all():
            return False
        num_known += int(binary.sum())
    return num_known > 0


def refuse_unfit(graph: Graph, task: str, expected: str, findings: Findings) -> bool:
    """Note targets that are not those of a task, naming the task that they fit; return whether there was a fault."""
    y, right = graph.y, fitting_task(graph)
    if y is None:
        fix = "pass y= to the graph's constructor, or launch with task='link_prediction', which needs edges alone"
        findings.add("graph.y", expected, "no labels", fix)
        return True
    if right == task:
        return False
    got = f"{y.dtype} of shape {y.shape}"
    findings.add("graph.y", f"{expected}, for task={task!r}", got, f"launch with task={right!r}, or leave task= out")
    return True


def check_training_targets(graph: Graph, num_known: int, findings: Findings) -> None:
    """Note a graph without training nodes, and training nodes whose target is unknown."""
    num_train = len(graph.train_nodes)
    if not num_train:
        fix = "pass train_nodes= (ids or a mask) to the graph's constructor, or graph.with_data(train_nodes=...)"
        findings.add("graph.train_nodes", "at least one training node", "none", fix)
    elif num_known < num_train:
        mark = "-1" if graph.y is not None and graph.y.ndim == 1 else "NaN"
        got = f"{num_train - num_known} of {num_train} without one ({mark})"
        severity, fix = ("warning", "they are left out of the loss") if num_known else ("error", "label some")
        findings.add("graph.train_nodes", "a label for each training node", got, fix, severity)  # type: ignore[arg-type]


def check_together(task: Task, strategy: Strategy, sampler: Any, findings: Findings) -> None:
    """Note a strategy, or a sampler, that cannot serve a task."""
    from workbench.train.base import STRATEGIES, TASKS

    if task.unit not in strategy.serves:
        name, able = STRATEGIES.name_of(strategy), strategies_for(task)
        got = f"{name!r}, which trains on {' and '.join(_PLURALS[unit] for unit in sorted(strategy.serves))}"
        fix = f"use strategy={' or strategy='.join(map(repr, able))}" if able else "use another task"
        findings.add("strategy", f"one that serves task={TASKS.name_of(task)!r}", got, fix)
    elif task.unit == "edge" and getattr(sampler, "draws_seeds", False):
        got = f"{type(sampler).__name__}, which draws the nodes of a batch itself"
        fix = "use sampler='neighbor', 'labor' or 'full'"
        findings.add("sampler", "one that starts at the edges of a batch", got, fix)


def strategies_for(task: Task) -> list[str]:
    """Name the strategies that serve a task."""
    from workbench.train.base import STRATEGIES

    return [entry.name for entry in STRATEGIES if task.unit in entry.factory.serves]
