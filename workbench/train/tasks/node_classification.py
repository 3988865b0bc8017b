"""One class for each node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.train.choose_task import check_training_targets, fitting_task, refuse_unfit
from workbench.train.losses import class_losses, total
from workbench.train.task import TASKS, Task

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
        expected = "whole numbers of shape (num_nodes,), one class a node"
        graphs_apart = fitting_task(graph) == "graph_classification"  # its nodes may be classified too, where asked for
        if not graphs_apart and refuse_unfit(graph, "node_classification", expected, findings):
            return
        check_training_targets(graph, self.num_examples(graph), findings)

    def num_outputs(self, graph: Graph) -> int:
        return int(graph.num_classes)

    def is_known(self, targets: NDArray[Any]) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = targets >= 0
        return known

    def loss_sum(self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
        return total(class_losses(outputs, targets, self.label_smoothing), weights)

    def summarise(self, outputs: Tensor) -> Tensor:
        return outputs.argmax(dim=1)

    def measure(self, summaries: Tensor, targets: Tensor) -> float:
        return (summaries == targets).to(torch.float64).mean().item()

    def decide(self, outputs: NDArray[Any]) -> NDArray[Any]:
        classes: NDArray[Any] = outputs.argmax(axis=1)
        return classes
