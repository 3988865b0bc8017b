"""Any number of labels for each node."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from workbench.core.errors import Findings
from workbench.train.choose_task import check_training_targets, refuse_unfit
from workbench.train.losses import known_mean, total, without_unknown
from workbench.train.task import TASKS, Task

if TYPE_CHECKING:
    from workbench.graph import Graph


@TASKS.register("multi_label")
@dataclass(frozen=True, slots=True, kw_only=True)
class MultiLabel(Task):
    """Binary cross entropy for each label of a node; measured by F1 over all labels (micro).

    ``y`` is (num_nodes, labels) of zeros and ones; NaN means unknown and counts nowhere. The loss of a node is the
    mean over its known labels. A label is predicted where its output is above 0 (probability above one half).
    ``F1 = 2 TP / (2 TP + FP + FN)``, over every known label of every node; 0 where there is none of these.
    """

    metric: ClassVar[str] = "f1"

    def check(self, graph: Graph, findings: Findings) -> None:
        expected = "zeros and ones of shape (num_nodes, labels), NaN where unknown"
        if not refuse_unfit(graph, "multi_label", expected, findings):
            check_training_targets(graph, self.num_examples(graph), findings)

    def num_outputs(self, graph: Graph) -> int:
        assert graph.y is not None, "checked at launch"
        return int(graph.y.shape[1])

    def is_known(self, targets: NDArray[Any]) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = np.isfinite(targets).any(axis=1)
        return known

    def loss_sum(self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
        wanted = without_unknown(targets, outputs)
        losses = functional.binary_cross_entropy_with_logits(outputs, wanted, reduction="none")
        return total(known_mean(losses, targets), weights)

    def summarise(self, outputs: Tensor) -> Tensor:
        return (outputs > 0).to(torch.uint8)

    def measure(self, summaries: Tensor, targets: Tensor) -> float:
        known, predicted, true = torch.isfinite(targets), summaries > 0, targets > 0
        hits = int((known & predicted & true).sum())
        misses = int((known & (predicted != true)).sum())
        return 2 * hits / (2 * hits + misses) if hits else 0.0

    def decide(self, outputs: NDArray[Any]) -> NDArray[Any]:
        return outputs > 0
