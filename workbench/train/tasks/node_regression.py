"""Numbers for each node."""

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
from workbench.train.choose_task import check_training_targets, refuse_unfit
from workbench.train.losses import known_mean, total, without_unknown
from workbench.train.task import TASKS, Task

if TYPE_CHECKING:
    from workbench.graph import Graph

_ERRORS = {"mse": functional.mse_loss, "l1": functional.l1_loss, "huber": functional.smooth_l1_loss}


@TASKS.register("node_regression")
@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRegression(Task):
    """Squared (or absolute) error of the numbers of nodes; measured by the mean absolute error, and by R2.

    ``y`` is (num_nodes, columns) of real numbers; NaN means unknown and counts nowhere. The loss of a node is the mean
    over its known columns. ``R2 = 1 - sum (y - p)^2 / sum (y - mean)^2``, the mean over columns; left out where no
    column of a split varies.
    """

    metric: ClassVar[str] = "mae"
    lower_is_better: ClassVar[frozenset[str]] = frozenset({"mae"})

    loss: str = param("mse", help="error of a number", choices=("mse", "l1", "huber"))

    def check(self, graph: Graph, findings: Findings) -> None:
        expected = "real numbers of shape (num_nodes,) or (num_nodes, columns), NaN where unknown"
        # Zeros and ones can be regressed too, where that is asked for by name.
        if (graph.y is None or graph.y.ndim == 1) and refuse_unfit(graph, "node_regression", expected, findings):
            return
        check_training_targets(graph, self.num_examples(graph), findings)

    def num_outputs(self, graph: Graph) -> int:
        assert graph.y is not None, "checked at launch"
        return int(graph.y.shape[1])

    def is_known(self, targets: NDArray[Any]) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = np.isfinite(targets).any(axis=1)
        return known

    def loss_sum(self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
        losses = _ERRORS[self.loss](outputs, without_unknown(targets, outputs), reduction="none")
        return total(known_mean(losses, targets), weights)

    def measure(self, summaries: Tensor, targets: Tensor) -> float:
        known = torch.isfinite(targets)
        return (summaries.to(torch.float64) - targets.to(torch.float64))[known].abs().mean().item()

    def measure_all(self, summaries: Tensor, targets: Tensor) -> dict[str, float]:
        shares = [
            _explained(predicted[known], true[known])
            for predicted, true in zip(summaries.to(torch.float64).T, targets.to(torch.float64).T, strict=True)
            if (known := torch.isfinite(true)).any()
        ]
        found = {self.metric: self.measure(summaries, targets)}
        told = [share for share in shares if share is not None]
        return found | ({"r2": sum(told) / len(told)} if told else {})

    def decide(self, outputs: NDArray[Any]) -> NDArray[Any]:
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs


def _explained(predicted: Tensor, true: Tensor) -> float | None:
    """Return R2 of one column, or None where its values do not vary."""
    spread = (true - true.mean()).square().sum().item()
    return None if spread == 0 else 1 - (predicted - true).square().sum().item() / spread
