"""Run a model on the parts of a graph in threads, and on the whole graph, and bring both into one form."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench.graph import Graph
from workbench.models import call_model
from workbench.partition import Partition, partition
from workbench.train.keyed_dropout import KeyedDropout, rows_of_graph
from workbench.train.message_watch import MessageWatch
from workbench.train.part_run import StepRows
from workbench.train.part_runner import PartInference, PartRunner
from workbench.train.partitioned import open_local_part
from workbench.train.thread_transport import run_in_threads
from workbench.train.transport import Transport
from workbench.train.whole import whole_graph_inputs

CPU = torch.device("cpu")
KEY = (0, 1)  # of the masks of dropout
WORLDS = (1, 2, 3, 4, 7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Mean loss of the training nodes, its gradients, predictions in evaluation, buffers; bytes of the step."""

    loss: float
    gradients: list[Tensor]
    predictions: Tensor
    buffers: list[Tensor]
    bytes: Counter[str] = field(default_factory=Counter)

    def differences(self, other: Result) -> dict[str, float]:
        """Return the largest difference of each from those of another."""
        pairs = zip([*self.gradients, *self.buffers], [*other.gradients, *other.buffers], strict=True)
        return {
            "loss": abs(self.loss - other.loss),
            "gradients and buffers": max((largest(a - b) for a, b in pairs), default=0.0),
            "predictions": largest(self.predictions - other.predictions),
        }


def largest(values: Tensor) -> float:
    return values.abs().max().item() if values.numel() else 0.0


def mixed_graph(width: int, num_classes: int, num_nodes: int = 34) -> Graph:
    """Return a directed graph with isolated nodes, self-loops, parallel edges, weights and features of edges."""
    rng = np.random.default_rng(5)
    edges = np.concatenate([rng.integers(0, num_nodes - 4, (2, 4 * num_nodes)), [[5, 6, 7], [5, 6, 8]]], axis=1)
    edges = np.concatenate([edges, edges[:, :6]], axis=1)
    return Graph.from_edge_index(
        edges,
        num_nodes,
        x=rng.normal(size=(num_nodes, width)).astype(np.float32),
        y=rng.integers(0, num_classes, num_nodes),
        train_nodes=np.flatnonzero(rng.random(num_nodes) < 0.5),
        edge_data={
            "weight": rng.uniform(0.5, 2.0, edges.shape[1]).astype(np.float32),
            "attr": rng.normal(size=(edges.shape[1], 2)).astype(np.float32),
        },
    )


def by_hand(graph: Graph, assignment: Sequence[int] | np.ndarray, num_parts: int) -> Partition:
    """Return a partition of given owners, parts without a node included."""
    owners = np.asarray(assignment, np.int32)
    return Partition(
        graph=graph, assignment=owners, num_parts=num_parts, method="by hand", fingerprint=graph.fingerprint
    )


def partition_of(graph: Graph, case: str) -> Partition:
    """Return the partition that a case names: ``random 3``, ``metis 3``, ``empty 3`` (its first part has no node)."""
    method, _, number = case.partition(" ")
    num_parts = int(number)
    if method == "empty":
        owners = np.random.default_rng(1).integers(1, num_parts, graph.num_nodes)
        return by_hand(graph, owners, num_parts)
    return partition(graph, num_parts, method)


def on_the_whole_graph(module: nn.Module, graph: Graph, *, keyed: bool = False) -> Result:
    """Train and evaluate a copy of a module in this thread."""
    model, inputs, watch = copy.deepcopy(module).train(), whole_graph_inputs(graph, CPU, torch.float64), MessageWatch()
    rows = rows_of_graph(graph.num_nodes, inputs.edge_index)
    with watch.on(model), KeyedDropout(rows, KEY, watch) if keyed else nullcontext():
        outputs = call_model(model, inputs)
    nodes = graph.train_nodes.copy()
    loss = functional.cross_entropy(outputs[torch.from_numpy(nodes)], torch.from_numpy(graph.y[nodes].copy()))
    gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, materialize_grads=True)
    buffers = [buffer.clone() for buffer in model.buffers()]
    with torch.inference_mode():
        predictions = call_model(model.eval(), inputs)
    return Result(loss=loss.item(), gradients=list(gradients), predictions=predictions, buffers=buffers)


def on_parts(
    module: nn.Module,
    folder: Path,
    num_parts: int,
    *,
    keyed: bool = False,
    through_memory: bool = True,
    make_rows: Callable[[PartRunner], StepRows] | None = None,
) -> list[Result]:
    """Train and evaluate copies of a module on every part, one rank each; loss and gradients are those of all ranks."""
    copies = [copy.deepcopy(module).train() for _ in range(num_parts)]

    def rank(transport: Transport) -> Result:
        model, part = copies[transport.rank], open_local_part(folder, transport.rank)
        runner = PartRunner(part, transport, CPU, torch.float64)
        transport.take_bytes()
        rows = None if make_rows is None else make_rows(runner)
        if rows is not None:
            rows.begin(1, model)
        outputs = runner.forward(model, dropout_key=KEY if keyed else None, rows=rows)
        nodes = part.graph.train_nodes.copy()
        targets = torch.from_numpy(part.graph.y[nodes].copy())
        loss = functional.cross_entropy(outputs[torch.from_numpy(nodes)], targets, reduction="sum")
        gradients = torch.autograd.grad(loss, list(model.parameters()), allow_unused=True, materialize_grads=True)
        moved = Counter(transport.take_bytes())
        totals = torch.tensor([loss.item(), len(nodes)], dtype=torch.float64)
        for tensor in (totals, *gradients):
            transport.all_reduce(tensor)
        buffers = [buffer.clone() for buffer in model.buffers()]
        with torch.inference_mode():
            predictions = PartInference(runner, transport).run(model.eval(), lambda rows: rows)
        return Result(
            loss=(totals[0] / totals[1]).item(),
            gradients=[gradient / totals[1].item() for gradient in gradients],
            predictions=predictions,
            buffers=buffers,
            bytes=moved,
        )

    return run_in_threads(num_parts, rank, through_memory=through_memory)
