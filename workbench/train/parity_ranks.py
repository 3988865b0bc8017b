"""One epoch's loss and gradients, and the predictions, at a model's weights: on the whole graph, and by a strategy."""

from __future__ import annotations

import copy
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from workbench.gather import LocalSource
from workbench.models import call_model
from workbench.train.base import STRATEGIES, TASKS, Job, Task
from workbench.train.batch_norm import lone_rows_normalised
from workbench.train.exact import open_inference
from workbench.train.no_dropout import NoDropout
from workbench.train.recorder import Recorder
from workbench.train.thread_transport import run_in_threads
from workbench.train.trace import Trace
from workbench.train.whole import whole_graph_inputs

if TYPE_CHECKING:
    from workbench.core.config import RunConfig
    from workbench.core.control import Control
    from workbench.gather import BatchPlan, BatchSource
    from workbench.graph import Graph
    from workbench.train.base import StrategyRun
    from workbench.train.transport import Transport

_CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a rank has found.

    Parameters
    ----------
    loss : float
        Mean over the training nodes of all ranks.
    gradients : list of Tensor
        Of it, by parameter.
    predictions : Tensor
        (num_nodes, out_channels) in evaluation.
    trace : Trace
        Of the first forward in training.
    node_ids : Tensor, optional
        The nodes that the rank computes, where its model gives one row for each of them.
    """

    loss: float
    gradients: list[Tensor]
    predictions: Tensor
    trace: Trace
    node_ids: Tensor | None


def measure_whole(module: nn.Module, graph: Graph, task: Task) -> Measured:
    """Measure a copy of a module by one forward and backward over the whole graph."""
    model, trace = copy.deepcopy(module).train(), Trace(graph.num_nodes)
    inputs = whole_graph_inputs(graph, _CPU, torch.float64)
    nodes = task.labelled(graph, graph.train_nodes)
    assert graph.y is not None, "checked at launch"
    with NoDropout(), lone_rows_normalised(model), trace.on(model):
        outputs = call_model(model, inputs)
    targets = torch.from_numpy(np.asarray(graph.y[nodes]))
    loss = task.loss_sum(outputs[torch.from_numpy(nodes)], targets) / len(nodes)
    parameters = _trained(model)
    gradients = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    with torch.no_grad():
        predictions = call_model(model.eval(), inputs)
    return Measured(
        loss=loss.item(),
        gradients=list(gradients),
        predictions=predictions,
        trace=trace,
        node_ids=torch.arange(graph.num_nodes),
    )


def measure_ranks(config: RunConfig, module: nn.Module, graph: Graph) -> list[Measured]:
    """Measure copies of a module by a run's strategy, its trainers as threads, over one epoch without an update."""
    with tempfile.TemporaryDirectory() as folder:

        def rank(transport: Transport) -> Measured:
            return _measure(_ThreadRank(config=config, graph=graph, transport=transport, folder=Path(folder)), module)

        return run_in_threads(config.trainers, rank, timeout_s=600.0, through_memory=True)


def _measure(context: _ThreadRank, module: nn.Module) -> Measured:
    config = context.config
    model, task = copy.deepcopy(module), TASKS.from_dict(config.task.to_json())
    job = Job(context=context, module=model, task=task, recorder=Recorder())
    run = STRATEGIES.from_dict(config.strategy.to_json()).open(job)
    with closing(run):
        node_ids = getattr(run, "node_ids", None)
        trace = Trace(-1 if node_ids is None else len(node_ids))
        with lone_rows_normalised(model):
            loss = _train_an_epoch(run, model.train(), task, context.transport, trace)
        inference = getattr(run, "inference", None) or open_inference(context, model)
        with torch.inference_mode():
            predictions = inference.run(model.eval(), lambda rows: rows)
    gradients = [parameter.grad if parameter.grad is not None else parameter * 0 for parameter in _trained(model)]
    return Measured(
        loss=loss,
        gradients=[gradient.detach() for gradient in gradients],
        predictions=predictions,
        trace=trace,
        node_ids=None if node_ids is None else torch.from_numpy(node_ids),
    )


def _train_an_epoch(run: StrategyRun, model: nn.Module, task: Task, transport: Transport, trace: Trace) -> float:
    """Leave the gradients of an epoch's mean loss, of all ranks, in the parameters; return the loss."""
    totals = torch.zeros(2, dtype=torch.float64)
    works = run.works(1, 1)
    for step in range(run.steps_per_epoch):
        work = next(works)
        if work.num_seeds or work.joins:
            with NoDropout():
                if step == 0:
                    with trace.on(model):
                        outputs = work.forward(model)
                else:
                    outputs = work.forward(model)
            loss = task.loss_sum(outputs, work.targets, work.weights)
            loss.backward()  # type: ignore[no-untyped-call]
            totals += torch.tensor([loss.item(), work.num_seeds], dtype=torch.float64)
    transport.all_reduce(totals)
    for parameter in _trained(model):
        gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        transport.all_reduce(gradient)
        parameter.grad = gradient / totals[1].item()
    return float(totals[0] / totals[1])


def _trained(model: nn.Module) -> list[nn.Parameter]:
    """Return the parameters that are not frozen."""
    return [parameter for parameter in model.parameters() if parameter.requires_grad]


@dataclass(frozen=True, slots=True, kw_only=True)
class _ThreadRank:
    """A rank's context for a look at a strategy: nothing is told, written or asked for."""

    config: RunConfig
    graph: Graph
    transport: Transport
    folder: Path
    device: torch.device = field(default_factory=lambda: _CPU)

    @property
    def rank(self) -> int:
        return self.transport.rank

    @property
    def world_size(self) -> int:
        return self.transport.world_size

    def emit(self, kind: str, **data: Any) -> None:
        """Nobody listens."""

    def poll_control(self, step: int) -> Control | None:
        return None

    def batch_source(self, plan: BatchPlan) -> BatchSource:
        return LocalSource(plan)

    def load_checkpoint(self) -> dict[str, Any] | None:
        return None

    def save_checkpoint(self, state: dict[str, Any], epoch: int, step: int) -> Path:
        raise AssertionError("nothing is saved")

    def clock(self) -> float:
        return time.time()
