"""One class for each node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.train.base import TASKS, Task

if TYPE_CHECKING:
    from workbench.graph import Graph


@TASKS.register("node_classification")
@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClassification(Task):
    """Cross entropy over the classes of nodes; measured by accuracy.

    A label of -1 means unknown: such a node counts neither in the loss nor in the metric, but still sends messages.
    """

    metric: ClassVar[str] = "accuracy"

    label_smoothing: float = param(0.0, help="share of each target spread over all classes", minimum=0, maximum=1)

    def check(self, graph: Graph, findings: Findings) -> None:
        if graph.y is None:
            fix = "pass y= with one class id a node to the graph's constructor"
            findings.add("graph.y", "a class id for each node", "no labels", fix)
            return
        if graph.y.ndim != 1 or graph.y.dtype.kind not in "iu":
            got = f"{graph.y.dtype} of shape {graph.y.shape}"
            findings.add("graph.y", "whole numbers of shape (num_nodes,)", got, "pass class ids, e.g. y.argmax(1)")
            return
        if not len(graph.train_nodes):
            fix = "pass train_nodes= (ids or a mask) to the graph's constructor, or graph.with_data(train_nodes=...)"
            findings.add("graph.train_nodes", "at least one training node", "none", fix)
            return
        num_known = len(self.labelled(graph, graph.train_nodes))
        if num_known < len(graph.train_nodes):
            got = f"{len(graph.train_nodes) - num_known} of {len(graph.train_nodes)} without one (-1)"
            severity, fix = ("warning", "they are left out of the loss") if num_known else ("error", "label some")
            findings.add("graph.train_nodes", "a label for each training node", got, fix, severity)  # type: ignore[arg-type]

    def num_outputs(self, graph: Graph) -> int:
        return int(graph.num_classes)

    def is_known(self, targets: NDArray[Any]) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = targets >= 0
        return known

    def loss_sum(self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
        smoothing = self.label_smoothing
        if weights is None:
            return functional.cross_entropy(outputs, targets, reduction="sum", label_smoothing=smoothing)
        losses = functional.cross_entropy(outputs, targets, reduction="none", label_smoothing=smoothing)
        return (losses * weights).sum()

    def summarise(self, outputs: Tensor) -> Tensor:
        return outputs.argmax(dim=1)

    def measure(self, summaries: Tensor, targets: Tensor) -> float:
        return (summaries == targets).to(torch.float64).mean().item()
