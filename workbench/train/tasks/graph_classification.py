"""One class for each graph of many."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.graph.graph_set import check_graph_set, graph_set
from workbench.models import forward_names
from workbench.train.heads import ReadOut
from workbench.train.losses import class_losses, total
from workbench.train.task import TASKS, Task, Unit

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.train.transport import Transport


@TASKS.register("graph_classification")
@dataclass(frozen=True, slots=True, kw_only=True)
class GraphClassification(Task):
    """Cross entropy over the classes of whole graphs; measured by accuracy.

    The graphs lie side by side in one (``Graph.from_pyg_list``): the node column ``graph_ids`` says whose a node is, a
    graph's label is the ``y`` of its nodes (-1 = unknown), and it is in the split that its nodes are in. A model whose
    forward takes ``batch`` returns one row a graph; of any other the rows of a graph's nodes are joined by `readout`.
    """

    metric: ClassVar[str] = "accuracy"
    unit: ClassVar[Unit] = "graph"

    readout: str = param(
        "mean",
        help="how the outputs of a graph's nodes are joined, for a model of nodes",
        choices=("mean", "sum", "max"),
    )
    label_smoothing: float = param(0.0, help="share of each target spread over all classes", minimum=0, maximum=1)

    def check(self, graph: Graph, findings: Findings) -> None:
        if not check_graph_set(graph, findings):
            return
        if graph.y is None or graph.y.ndim != 1:
            got = "none" if graph.y is None else f"{graph.y.dtype} of shape {graph.y.shape}"
            findings.add(
                "graph.y", "whole numbers (num_nodes,), a node's that of its graph", got, "y = labels[graph_ids]"
            )
            return
        num_train, num_known = len(graph_set(graph).train_graphs), self.num_examples(graph)
        if not num_train:
            fix = "pass train_graphs= to Graph.from_pyg_list, or train_nodes= with all nodes of the training graphs"
            findings.add("graph.train_nodes", "at least one training graph", "none", fix)
        elif num_known < num_train:
            got = f"{num_train - num_known} of {num_train} without one (-1)"
            severity, fix = ("warning", "they are left out of the loss") if num_known else ("error", "label some")
            findings.add("graph.train_nodes", "a label for each training graph", got, fix, severity)  # type: ignore[arg-type]

    def num_outputs(self, graph: Graph) -> int:
        return int(graph.num_classes)

    def num_examples(self, graph: Graph) -> int:
        found = graph_set(graph)
        assert found.y is not None, "checked at launch"
        return int(self.is_known(found.y[found.train_graphs]).sum())

    def examples(self) -> dict[str, Any]:
        return {"name": "graphs", "params": {}}

    def trial(self, module: nn.Module) -> dict[str, Any]:
        return {"batch": torch.zeros(3, dtype=torch.int64), "num_rows": 1 if pools_itself(module) else 3}

    def complete(self, module: nn.Module, num_outputs: int) -> nn.Module:
        return module if pools_itself(module) else ReadOut(module, self.readout)

    def is_known(self, targets: NDArray[Any]) -> NDArray[np.bool_]:
        known: NDArray[np.bool_] = targets >= 0
        return known

    def loss_sum(self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
        return total(class_losses(outputs, targets, self.label_smoothing), weights)

    def summarise(self, outputs: Tensor) -> Tensor:
        return outputs.argmax(dim=1)

    def measure(self, summaries: Tensor, targets: Tensor) -> float:
        return (summaries == targets).to(torch.float64).mean().item()

    def metrics(self, summaries: Tensor, graph: Graph, module: nn.Module, transport: Transport) -> Mapping[str, float]:
        found, measured = graph_set(graph), dict[str, float]()
        assert found.y is not None, "checked at launch"
        for split, graphs in (("val", found.val_graphs), ("test", found.test_graphs)):
            known = graphs[self.is_known(found.y[graphs])]
            if len(known):
                targets = torch.from_numpy(found.y[known])
                measured[f"{split}_{self.metric}"] = self.measure(summaries[torch.from_numpy(known)], targets)
        return measured

    def decide(self, outputs: NDArray[Any]) -> NDArray[Any]:
        classes: NDArray[Any] = outputs.argmax(axis=1)
        return classes


def pools_itself(module: nn.Module) -> bool:
    """Say whether a model asks which graph a node belongs to: then it gives one row a graph by itself."""
    return "batch" in forward_names(module)[0]
