"""What is learned: the base of every task, and their registry."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.core.errors import Findings
from workbench.core.params import Params
from workbench.core.registry import Registry

if TYPE_CHECKING:
    from workbench.gather import Batch
    from workbench.graph import Graph
    from workbench.train.transport import Transport

Unit = Literal["node", "edge", "graph"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reading:
    """What a batch is scored on.

    Parameters
    ----------
    num_seeds : int
        Nodes (edges, graphs) that count.
    targets : array (rows, ...)
    positions : array, int64 (rows) or (2, rows)
        Rows of the model's outputs, or pairs of them.
    weights : array (rows), optional
        Factors of the losses.
    """

    num_seeds: int
    targets: NDArray[Any]
    positions: NDArray[np.int64]
    weights: NDArray[np.floating[Any]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(Params):
    """What is learned: targets, loss and metrics.

    `unit` says what a target belongs to: a node, an edge or a whole graph. A strategy serves the units that it names.
    `metric` is the metric that counts first; `lower_is_better` holds those of which less is better.
    """

    metric: ClassVar[str]
    unit: ClassVar[Unit] = "node"
    lower_is_better: ClassVar[frozenset[str]] = frozenset()

    @abstractmethod
    def check(self, graph: Graph, findings: Findings) -> None:
        """Note what the graph lacks for this task; remarks get the severity ``warning``."""

    @abstractmethod
    def num_outputs(self, graph: Graph) -> int:
        """Return the columns that a model must give."""

    @abstractmethod
    def is_known(self, targets: NDArray[Any]) -> NDArray[np.bool_]:
        """Say for each row of targets whether it is one, or stands for an unknown one."""

    def labelled(self, graph: Graph, node_ids: NDArray[Any]) -> NDArray[Any]:
        """Return those of the nodes that have a target, in order."""
        assert graph.y is not None, "checked at launch"
        return node_ids[self.is_known(np.asarray(graph.y[node_ids]))]

    def num_examples(self, graph: Graph) -> int:
        """Return how many nodes (edges, graphs) an epoch trains on."""
        return len(self.labelled(graph, graph.train_nodes))

    def examples(self) -> dict[str, Any] | None:
        """Describe what an epoch deals out, for a ``BatchPlan``; None: the training nodes."""
        return None

    def read(self, batch: Batch) -> Reading:
        """Return what a batch is to be scored on: here each of its targets that is known."""
        assert batch.y is not None, "checked at launch"
        known = np.flatnonzero(self.is_known(batch.y))
        weights = None if batch.node_weight is None else batch.node_weight[known]
        return Reading(num_seeds=len(known), targets=batch.y[known], positions=known, weights=weights)

    def rows(self, module: nn.Module, outputs: Tensor, positions: Tensor) -> Tensor:
        """Return the rows (rows, columns) that the loss compares with targets, of a model's outputs."""
        return outputs[positions]

    def visible(self, graph: Graph) -> Graph:
        """Return what a model may see of the graph: nothing that it is to predict."""
        return graph

    def trial(self, module: nn.Module) -> dict[str, Any]:
        """Return how a user's model is tried on three nodes at launch: keywords of ``try_module``."""
        return {}

    def complete(self, module: nn.Module, num_outputs: int) -> nn.Module:
        """Return the module that trains: the model itself, or the model with what the task puts behind it."""
        return module

    @abstractmethod
    def loss_sum(self, outputs: Tensor, targets: Tensor, weights: Tensor | None = None) -> Tensor:
        """Return the sum of the losses of all rows, each times its weight where there are weights (rows,)."""

    def summarise(self, outputs: Tensor) -> Tensor:
        """Return per row what the metric needs, (rows,) or (rows, k): by default all of it."""
        return outputs

    @abstractmethod
    def measure(self, summaries: Tensor, targets: Tensor) -> float:
        """Return the metric of rows; both on the CPU, at least one row."""

    def measure_all(self, summaries: Tensor, targets: Tensor) -> dict[str, float]:
        """Return every metric of rows by name, :attr:`metric` first."""
        return {self.metric: self.measure(summaries, targets)}

    def metrics(self, summaries: Tensor, graph: Graph, module: nn.Module, transport: Transport) -> Mapping[str, float]:
        """Return ``{"val_<metric>": ..., "test_<metric>": ...}``; a split without a known target is left out.

        Parameters
        ----------
        summaries : Tensor
            Of every row of exact inference, on the CPU.
        graph : Graph
            The whole graph, targets included.
        module : Module
            The module that trained, in evaluation mode.
        transport : Transport
            To the other ranks: all of them call this, and may share the work.
        """
        found: dict[str, float] = {}
        for split in ("val", "test"):
            nodes = self.labelled(graph, getattr(graph, f"{split}_nodes"))
            if len(nodes):
                assert graph.y is not None, "checked at launch"
                targets = torch.from_numpy(np.asarray(graph.y[nodes]))
                measured = self.measure_all(summaries[torch.from_numpy(nodes)], targets)
                found |= {f"{split}_{name}": value for name, value in measured.items()}
        return found

    def decide(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """Return what a person reads from the outputs (rows, columns): classes, labels, values; else the outputs."""
        return outputs


TASKS: Registry[Task] = Registry(
    "task",
    Task,  # type: ignore[type-abstract]
    "workbench.train.tasks",
    "workbench.tasks",
)
