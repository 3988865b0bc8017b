"""The parity probe: whether a model gives the same by a boundary as without, found out before training."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from workbench.models import ModelInputs, call_model
from workbench.train.boundaries.cut import CutMode, RowCut
from workbench.train.boundary import Boundary, CallCounter, attached
from workbench.train.no_dropout import NoDropout

_TOLERANCES = {torch.float64: 1e-9, torch.float32: 1e-4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a probe found: the mode to train in, the calls of a forward, and why."""

    mode: CutMode
    num_calls: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeBatch:
    """A small sampled batch, nodes and edges in the order of their hops."""

    inputs: ModelInputs
    num_nodes_per_hop: Sequence[int]
    num_edges_per_hop: Sequence[int]


def choose_row_cut(module: nn.Module, batch: ProbeBatch, modes: Sequence[CutMode] = ("cut", "padded")) -> Verdict:
    """Return the first of the modes in which outputs and gradients of the seeds equal those of the plain model.

    It is tried on a copy, in evaluation and in training (with the same random numbers, dropout left out, BatchNorm by
    its running statistics: by those of the batch it sees the computed rows alone), in double precision where the model
    allows it. Only where no mode is equal does the answer say ``off``.
    """
    model, inputs = _double(copy.deepcopy(module).eval(), batch.inputs)
    num_seeds, counters = int(batch.num_nodes_per_hop[0]), {False: CallCounter(), True: CallCounter()}
    expected: dict[bool, list[Tensor]] = {}
    for training, counter in counters.items():
        with attached(model, counter):
            expected[training] = _results(model, inputs, num_seeds, training=training)
    num_calls = max(counter.num_calls for counter in counters.values())
    if num_calls == 0:
        return Verdict(mode="off", num_calls=0, reason="the model has no message-passing layer")
    if min(int(count) for count in batch.num_nodes_per_hop) == 0:
        return Verdict(mode="off", num_calls=num_calls, reason="the first seeds have too few neighbours to tell")
    reasons = []
    for mode in modes:
        make = partial(RowCut, batch.num_nodes_per_hop, batch.num_edges_per_hop, num_calls, padded=mode == "padded")
        difference = _difference(model, inputs, num_seeds, make, expected)
        if difference is None:
            return Verdict(mode=mode, num_calls=num_calls, reason=_equal(model))
        reasons.append(f"{mode}: {difference}")
    return Verdict(mode="off", num_calls=num_calls, reason="; ".join(reasons))


def _equal(model: nn.Module) -> str:
    reason = "outputs and gradients equal those of the plain model"
    if any(isinstance(layer, _BatchNorm) for layer in model.modules()):
        reason += ", but that BatchNorm takes its statistics of the computed rows alone"
    return reason


def _difference(
    model: nn.Module,
    inputs: ModelInputs,
    num_seeds: int,
    make: Callable[[], Boundary],
    expected: Mapping[bool, list[Tensor]],
) -> str | None:
    """Return what differs by a boundary, and whether in training, or None."""
    names = ["outputs", *(f"gradient of {name}" for name, p in model.named_parameters() if p.requires_grad)]
    for training, plain in expected.items():
        when = " in training" if training else ""
        try:
            with attached(model, make()):
                found = _results(model, inputs, num_seeds, training=training)
        except Exception as error:  # whatever the model raises on fewer rows: the mode is not for it
            return f"{type(error).__name__}{when}: {str(error).splitlines()[0] if str(error) else ''}"
        for name, a, b in zip(names, plain, found, strict=True):
            if not same(a, b):
                how = f" by {(a - b).abs().max().item():.1e}" if a.shape == b.shape else ""
                return f"{name} differ{how}{when}"
    return None


def _results(model: nn.Module, inputs: ModelInputs, num_seeds: int, *, training: bool) -> list[Tensor]:
    """Return the outputs of the seeds and the gradients of a fixed weighted sum of them."""
    model.train(training)
    for layer in model.modules():
        if isinstance(layer, _BatchNorm):
            layer.eval()
    with torch.random.fork_rng(devices=[inputs.x.device] if inputs.x.is_cuda else []), NoDropout():
        torch.manual_seed(0)
        outputs = call_model(model, inputs)[:num_seeds]
    weights = torch.linspace(-1.0, 1.0, outputs.numel(), dtype=outputs.dtype, device=outputs.device)
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    total = (outputs.reshape(-1) * weights).sum()
    gradients = torch.autograd.grad(total, parameters, allow_unused=True, materialize_grads=True) if parameters else ()
    return [outputs.detach(), *gradients]


def same(a: Tensor, b: Tensor) -> bool:
    """Say whether two results agree up to rounding in their precision."""
    tolerance = _TOLERANCES.get(a.dtype, 1e-2)
    return a.shape == b.shape and torch.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)


def _double(model: nn.Module, inputs: ModelInputs) -> tuple[nn.Module, ModelInputs]:
    """Return model and inputs in double precision, or as they are where the model refuses it."""
    wide = copy.deepcopy(model).double()
    wide_inputs = cast_inputs(inputs, torch.float64)
    try:
        with torch.no_grad():
            call_model(wide, wide_inputs)
    except Exception:  # a model with constants of another precision: compare in its own
        return model, inputs
    return wide, wide_inputs


def cast_inputs(inputs: ModelInputs, dtype: torch.dtype) -> ModelInputs:
    """Return inputs with their real numbers in another precision."""
    change: Callable[[Any], Any] = lambda tensor: None if tensor is None else tensor.to(dtype)  # noqa: E731
    return ModelInputs(
        x=inputs.x.to(dtype),
        edge_index=inputs.edge_index,
        edge_weight=change(inputs.edge_weight),
        edge_attr=change(inputs.edge_attr),
        batch=inputs.batch,
    )
