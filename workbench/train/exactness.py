"""Whether a partitioned run of a model is exact: found out before anything is started, and told by layer."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from workbench.core.errors import Findings
from workbench.models import call_model
from workbench.partition import Partition
from workbench.train.keyed_dropout import KeyedDropout, rows_of_graph
from workbench.train.little import little_graph
from workbench.train.message_watch import MessageWatch
from workbench.train.no_dropout import NoDropout
from workbench.train.part_runner import PartRunner
from workbench.train.partitioned import open_local_part
from workbench.train.probe import same
from workbench.train.thread_transport import run_in_threads
from workbench.train.trace import Trace, between, first_difference, outer_parts
from workbench.train.whole import whole_graph_inputs

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.train.transport import Transport

INEXACT_LAYERS = {
    "APPNP(dropout)": "drops edges at every propagation: build it with dropout=0",
    "ASAPooling": "ranks all nodes: leave it out",
    "AttentionalAggregation": "attends to all nodes: leave it out",
    "EdgePooling": "ranks all edges: leave it out",
    "GPSConv": "attends to all nodes: use its local layer alone",
    "GraphNorm": "takes mean and variance over all nodes: use BatchNorm or LayerNorm",
    "GraphSizeNorm": "divides by the number of all nodes: leave it out",
    "InstanceNorm": "takes mean and variance over all nodes: use BatchNorm or LayerNorm",
    "LayerNorm(mode='graph')": "takes mean and variance over all nodes: use LayerNorm(mode='node')",
    "MeanSubtractionNorm": "subtracts the mean over all nodes: use BatchNorm or LayerNorm",
    "PairNorm": "takes the mean over all nodes: use BatchNorm or LayerNorm",
    "SAGPooling": "ranks all nodes: leave it out",
    "Set2Set": "attends to all nodes: leave it out",
    "TopKPooling": "ranks all nodes: leave it out",
}
EXPECTED = "a model whose row of a node depends on nodes within its layers' reach alone (BatchNorm aside)"
_NUM_PARTS = 2
_KEY = (0, 1)  # of the masks of dropout while it is tried
_CPU = torch.device("cpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Forwarded:
    """One forward and backward: its rows, their nodes, the gradients and the trace."""

    outputs: Tensor
    node_ids: Tensor
    gradients: list[Tensor]
    trace: Trace


def refuse_inexact(module: nn.Module, graph: Graph, findings: Findings, *, keyed: bool) -> None:
    """Note what in a model a partitioned run cannot compute exactly.

    Layers that are known for it are named. Else two ranks of this process, in threads, train and evaluate
    a copy on a small part of the graph, divided at random, and are compared with the plain model. A model that draws
    random numbers of its own in training is compared in evaluation alone, and the findings say so.

    Parameters
    ----------
    module : Module
        Is neither changed nor trained.
    keyed : bool
        Whether the run's dropout masks are keyed.
    """
    known = [(name, kind) for name, layer in outer_parts(module) if (kind := known_as_inexact(layer)) is not None]
    for name, kind in known:
        refuse(f"model.{name}", f"{kind} {INEXACT_LAYERS[kind]}", findings)
    if known or graph.num_nodes < _NUM_PARTS:
        return
    little = little_graph(graph)
    model = as_precise_as_can_be(module, little)
    with tempfile.TemporaryDirectory() as folder:
        partition = Partition(
            graph=little,
            assignment=_at_random(little.num_nodes),
            num_parts=_NUM_PARTS,
            method="random",
            fingerprint=little.fingerprint,
        )
        partition.write_parts(folder)
        for training in (False, True):
            difference = _try(model.train(training), little, folder, findings, keyed=keyed)
            if difference is not None:
                refuse("model", f"{difference}, {'in training' if training else 'in evaluation'}", findings)
                return


def as_precise_as_can_be(module: nn.Module, graph: Graph) -> nn.Module:
    """Return a copy in double precision, or in its own where it has constants of another."""
    model = copy.deepcopy(module).double()
    try:
        with torch.no_grad():
            call_model(model.eval(), whole_graph_inputs(graph, _CPU, torch.float64))
    except Exception:  # whatever it raises: it is tried in its own precision then, and told
        return copy.deepcopy(module)
    return model


def _precision(model: nn.Module) -> torch.dtype:
    return next((parameter.dtype for parameter in model.parameters()), torch.float32)


def known_as_inexact(layer: nn.Module) -> str | None:
    """Return the key of `INEXACT_LAYERS` under which a layer stands, or None."""
    kind = type(layer).__name__
    if not type(layer).__module__.startswith("torch_geometric."):
        return None
    if kind == "LayerNorm" and getattr(layer, "mode", None) == "graph":
        return "LayerNorm(mode='graph')"
    if kind == "APPNP" and layer.dropout:
        return "APPNP(dropout)"
    return kind if kind in INEXACT_LAYERS else None


def refuse(where: str, got: str, findings: Findings) -> None:
    """Note what in a model reads more than its layers' reach."""
    findings.add(where, EXPECTED, got, "change that layer, or use strategy='full_graph' or 'mini_batch'")


def _at_random(num_nodes: int) -> np.ndarray:
    """Return parts of nearly equal size, neither of them empty."""
    halves = np.arange(num_nodes) % _NUM_PARTS
    return np.random.default_rng(0).permutation(halves).astype(np.int32)


def _try(model: nn.Module, graph: Graph, folder: str, findings: Findings, *, keyed: bool) -> str | None:
    """Return how two ranks differ from one, or None: where, or what was raised."""
    try:
        whole = forward_whole(model, graph, keyed=keyed)
        if model.training and not same(whole.outputs, forward_whole(model, graph, keyed=keyed).outputs):
            _remark_on_chance(model, findings)
            return None  # nothing to compare
    except Exception as error:  # the plain model itself, on a small part of the graph
        return f"{type(model).__name__}.forward: {_in_a_line(error)}"
    copies, traces = [copy.deepcopy(model) for _ in range(_NUM_PARTS)], [Trace(0)] * _NUM_PARTS

    def rank(transport: Transport) -> Forwarded:
        part = open_local_part(folder, transport.rank)
        traces[transport.rank] = Trace(part.num_inner)
        runner = PartRunner(part, transport, _CPU, _precision(model))
        forward = lambda m: runner.forward(m, dropout_key=_KEY if keyed else None)  # noqa: E731
        ids = torch.from_numpy(part.inner_nodes.copy())
        found = forward_and_back(copies[transport.rank], forward, ids, traces[transport.rank], keyed=keyed)
        for gradient in found.gradients:
            transport.all_reduce(gradient)
        return found

    try:
        found = run_in_threads(_NUM_PARTS, rank, through_memory=True)
    except Exception as error:  # whatever the model raises on a part: it is not for parts
        return f"{max(traces, key=lambda trace: len(trace.passed)).place}: {_in_a_line(error)}"
    return difference_of(model, whole, found)


def _remark_on_chance(model: nn.Module, findings: Findings) -> None:
    """Note that nobody knows whether a model is exact in training: each rank draws other numbers."""
    findings.add(
        "model",
        "random numbers by torch.nn.functional.dropout alone, whose masks all ranks share",
        f"{type(model).__name__} draws others in training: each rank draws its own, and whether the model is exact "
        "in training could not be tried",
        "draw by dropout, or let no layer's call depend on chance, and nothing on other rows",
        severity="warning",
    )


def _in_a_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"


def forward_whole(model: nn.Module, graph: Graph, *, keyed: bool) -> Forwarded:
    """Run a copy of a model on the whole graph."""
    inputs = whole_graph_inputs(graph, _CPU, _precision(model))
    watch, copied = MessageWatch(), copy.deepcopy(model)
    rows = rows_of_graph(graph.num_nodes, inputs.edge_index)
    with ExitStack() as stack:
        if keyed:
            stack.enter_context(watch.on(copied))
            stack.enter_context(KeyedDropout(rows, _KEY, watch))
        ids, trace = torch.arange(graph.num_nodes), Trace(graph.num_nodes)
        return forward_and_back(copied, lambda m: call_model(m, inputs), ids, trace, keyed=keyed)


def forward_and_back(
    model: nn.Module, forward: Callable[[nn.Module], Tensor], node_ids: Tensor, trace: Trace, *, keyed: bool
) -> Forwarded:
    """Run a model and take the gradients of a fixed weighted sum of its outputs."""
    with nullcontext() if keyed else NoDropout(), trace.on(model):
        outputs = forward(model)
    columns = torch.arange(outputs[0].numel() if len(outputs) else 0, dtype=torch.float64)
    weights = torch.cos(node_ids.unsqueeze(1) + 0.5 * columns)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    total = (outputs.reshape(len(outputs), -1) * weights).sum()
    gradients = torch.autograd.grad(total, parameters, allow_unused=True, materialize_grads=True)
    return Forwarded(outputs=outputs.detach(), node_ids=node_ids, gradients=list(gradients), trace=trace)


def difference_of(model: nn.Module, whole: Forwarded, ranks: list[Forwarded]) -> str | None:
    """Return where ranks first differ from the whole, or None; gradients are those summed over ranks."""
    node_ids = [found.node_ids for found in ranks]
    place = first_difference(model, whole.trace, [found.trace for found in ranks], node_ids)
    if place is not None:
        return place
    together = torch.full_like(whole.outputs, torch.nan)
    for found in ranks:
        together[found.node_ids] = found.outputs
    if not same(whole.outputs, together):
        return between(model, whole.trace.passed[-1] if whole.trace.passed else None, None)
    names = [name for name, parameter in model.named_parameters() if parameter.requires_grad]
    for name, expected, gradient in zip(names, whole.gradients, ranks[0].gradients, strict=True):
        if not same(expected, gradient):
            return f"the gradient of {name}"
    return None
