"""Whether a model is exact with histories, its weights frozen: found out before anything is started, told by layer."""

from __future__ import annotations

import copy
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from workbench.core.errors import Findings
from workbench.models import call_model
from workbench.train.exactness import INEXACT_LAYERS, as_precise_as_can_be, known_as_inexact, refuse
from workbench.train.graph_statistics import GraphStatistics
from workbench.train.history import HistoryRows
from workbench.train.history_batch import batch_of
from workbench.train.history_model import forward_batch, inputs_of, look_at, pushing
from workbench.train.little import little_graph
from workbench.train.no_dropout import NoDropout
from workbench.train.probe import same
from workbench.train.trace import Trace, between, first_difference, outer_parts
from workbench.train.whole import as_tensor, whole_graph_inputs

if TYPE_CHECKING:
    from workbench.graph import Graph

Mode = Literal["own", "padded"]
MODES: tuple[Mode, ...] = ("own", "padded")
_CPU = torch.device("cpu")


def refuse_inexact_histories(module: nn.Module, graph: Graph, findings: Findings) -> None:
    """Note what in a model histories cannot make exact, whatever they hold.

    Layers that are known for it are named. Else a copy with frozen weights refreshes the histories of a small part of
    the graph, divided at random, often enough for exactness, and its outputs are compared with the plain model's.
    """
    known = [(name, kind) for name, layer in outer_parts(module) if (kind := known_as_inexact(layer)) is not None]
    for name, kind in known:
        refuse(f"model.{name}", f"{kind} {INEXACT_LAYERS[kind]}", findings)
    if known or graph.num_nodes < len(MODES):
        return
    mode, difference = choose_mode(module, graph)
    if mode is None:
        refuse("model", str(difference), findings)


def choose_mode(module: nn.Module, graph: Graph) -> tuple[Mode | None, str | None]:
    """Return the first way in which a model is exact with histories, or None and where it differs.

    ``own``: outputs have own rows alone; ``padded``: they keep the height of the inputs.
    """
    little = little_graph(graph)
    model, difference = as_precise_as_can_be(module, little), None
    for mode in MODES:
        difference = _try(model, little, mode, training=False) or _try(model, little, mode, training=True)
        if difference is None:
            return mode, None
    return None, difference


def _try(module: nn.Module, graph: Graph, mode: Mode, *, training: bool) -> str | None:
    """Return where a model with histories differs from the plain one, or what it raised, or None."""
    model = copy.deepcopy(module).train(training)
    for layer in model.modules():
        if isinstance(layer, _BatchNorm):
            layer.eval()  # batch statistics are those of a batch: not what is compared
    dtype = next((parameter.dtype for parameter in model.parameters()), torch.float32)
    inputs, whole = whole_graph_inputs(graph, _CPU, dtype), Trace(graph.num_nodes)
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(NoDropout())
        with whole.on(model):
            expected = call_model(model, inputs)
        if training and not same(expected, call_model(model, inputs)):
            return None  # it draws random numbers of its own: nothing to compare
        try:
            found, traces, ids = _refreshed(model, graph, dtype, padded=mode == "padded")
        except Exception as error:  # whatever the model raises on a batch: it is not for batches
            text = str(error).splitlines()[0] if str(error) else ""
            return f"{type(model).__name__}.forward: {type(error).__name__}: {text}"
    when = ", in training" if training else ""
    place = first_difference(model, whole, traces, ids)
    if place is None and not same(expected, found):
        place = between(model, whole.passed[-1] if whole.passed else None, None)
    return None if place is None else place + when


def _refreshed(
    model: nn.Module, graph: Graph, dtype: torch.dtype, *, padded: bool
) -> tuple[torch.Tensor, list[Trace], list[torch.Tensor]]:
    """Return the outputs after as many refreshes as the model has calls, and the traces of the last one."""
    plan = look_at(model, graph, _CPU, dtype, padded=padded)
    rows, statistics = HistoryRows(graph.num_nodes, plan.width, dtype, "memory"), GraphStatistics(graph, _CPU)
    halves = np.random.default_rng(0).permutation(np.arange(graph.num_nodes) % 2)
    batches = [batch_of(graph, np.flatnonzero(halves == half)) for half in range(2)]
    traces = [Trace(batch.num_own, len(batch.halo_ids)) for batch in batches]
    ids = [torch.from_numpy(batch.node_ids[: batch.num_own]) for batch in batches]
    outputs: list[torch.Tensor] = []
    for refresh in range(max(1, len(plan.layers))):
        is_last = refresh >= len(plan.layers) - 1
        for batch, trace, own in zip(batches, traces, ids, strict=True):
            inputs, node_ids = inputs_of(graph, batch, as_tensor(graph.x[batch.node_ids], _CPU, dtype), _CPU, dtype)
            pulled, _ = rows.read(torch.from_numpy(batch.halo_ids))
            exchange = pushing(plan, lambda slot, values, own=own: rows.write(own, slot, values), pulled, _CPU)  # type: ignore[misc]
            with ExitStack() as stack:
                if is_last:
                    stack.enter_context(trace.on(model))
                outputs.append(
                    forward_batch(
                        model,
                        inputs,
                        node_ids,
                        batch.num_own,
                        plan=plan,
                        exchange=exchange,
                        statistics=statistics,
                    )
                )
    last = outputs[-len(batches) :]
    together = last[0].new_empty(graph.num_nodes, *last[0].shape[1:])
    for own, found in zip(ids, last, strict=True):
        together[own] = found
    return together, traces, ids
