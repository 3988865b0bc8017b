"""Which way exact inference goes for a model and a graph: all at once, or layer by layer."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor, nn

from workbench.core.units import format_bytes
from workbench.models import ModelInputs, call_model
from workbench.train.boundary import CallCounter, attached
from workbench.train.inference import LayerwiseInference
from workbench.train.little import little_graph
from workbench.train.probe import same
from workbench.train.transport import SoloTransport
from workbench.train.whole import whole_graph_inputs

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.train.base import RankContext

AT_ONCE_BYTES = 256 << 20  # up to here a forward over the whole graph is the simpler and faster way
_PROBE_PIECE_BYTES = 16 << 10  # several pieces even of a little graph


class Inference(Protocol):
    """A way to compute a model's outputs exactly for every node."""

    def run(self, module: nn.Module, keep: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``keep(outputs)`` for all nodes, on the CPU of every rank; all ranks call it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeInference:
    """One forward over the whole graph, the same on every rank: nothing is exchanged."""

    inputs: ModelInputs

    def run(self, module: nn.Module, keep: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``keep(outputs)`` for all nodes, on the CPU."""
        return keep(call_model(module, self.inputs)).cpu()


def open_inference(
    context: RankContext, module: nn.Module, visible: Graph | None = None
) -> WholeInference | LayerwiseInference:
    """Choose by size, and by a probe that layer by layer is right for this model; all ranks call it.

    `visible` is what the model may see of the run's graph; by default all of it.
    """
    graph, device = visible or context.graph, context.device
    dtype = next((p.dtype for p in module.parameters()), torch.float32)
    size = forward_bytes(graph, dtype)
    if size <= AT_ONCE_BYTES:
        return WholeInference(inputs=whole_graph_inputs(graph, device, dtype))
    verdict = torch.zeros(2, dtype=torch.int64)
    if context.rank == 0:
        num_calls, difference = try_layerwise(module, graph, device)
        verdict = torch.tensor([num_calls, difference is None])
        if difference is not None:
            text = (
                f"Exact evaluation runs the whole graph at once, about {format_bytes(size)} on every rank: layer by "
                f"layer would not give the same for this model ({difference})."
            )
            context.emit("log_written", level="warning", text=text)
    context.transport.broadcast(verdict, kind="control")
    num_calls, is_exact = verdict.tolist()
    if not is_exact:
        return WholeInference(inputs=whole_graph_inputs(graph, device, dtype))
    return LayerwiseInference(graph=graph, transport=context.transport, device=device, dtype=dtype, num_calls=num_calls)


def forward_bytes(graph: Graph, dtype: torch.dtype) -> int:
    """Return about what a forward over the whole graph keeps: features, and a message of their width for every edge."""
    num_rows = graph.num_nodes + graph.num_edges
    return int(num_rows * graph.num_features * torch.finfo(dtype).bits // 8)


@torch.no_grad()
def try_layerwise(module: nn.Module, graph: Graph, device: torch.device) -> tuple[int, str | None]:
    """Return the message-passing calls of a forward, and how layer by layer differs on a small part, or None."""
    little = little_graph(graph)
    model = copy.deepcopy(module).eval()
    counter = CallCounter()
    for dtype in (torch.float64, next((p.dtype for p in module.parameters()), torch.float32)):
        try:
            model = model.to(dtype)
            with attached(model, counter):
                expected = call_model(model, whole_graph_inputs(little, device, dtype)).cpu()
            break
        except RuntimeError as error:  # a model with constants of another precision: compare in its own
            failure = error
    else:
        raise failure
    inference = LayerwiseInference(
        graph=little,
        transport=SoloTransport(),
        device=device,
        dtype=dtype,
        num_calls=counter.num_calls,
        piece_bytes=_PROBE_PIECE_BYTES * torch.finfo(dtype).bits // 32,
    )
    try:
        found = inference.run(model, lambda rows: rows)
    except Exception as error:  # whatever the model raises on pieces: the way is not for it
        return counter.num_calls, f"{type(error).__name__}: {error}"
    if same(expected, found):
        return counter.num_calls, None
    return counter.num_calls, f"outputs differ by {(expected - found).abs().max().item():.1e}"
