"""Call any module by the names of its arguments, so that an unchanged PyG model can be given what it asks for."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor, nn

FORWARD_NAMES = ("x", "edge_index", "edge_weight", "edge_attr", "batch")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInputs:
    """What a model may ask for, on one device.

    Parameters
    ----------
    x : Tensor
        (num_nodes, in_channels) node features.
    edge_index : Tensor
        (2, num_edges) int64, [source, destination], local ids.
    edge_weight : Tensor, optional
        (num_edges,) weights.
    edge_attr : Tensor, optional
        (num_edges, k) features of edges.
    batch : Tensor, optional
        (num_nodes,) graph of each node, where several graphs lie side by side.
    """

    x: Tensor
    edge_index: Tensor
    edge_weight: Tensor | None = None
    edge_attr: Tensor | None = None
    batch: Tensor | None = None


def forward_names(module: nn.Module) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of ``module.forward`` that can be given, and those it demands that nobody knows."""
    parameters = inspect.signature(module.forward).parameters.values()
    taken = tuple(p.name for p in parameters if p.name in FORWARD_NAMES and p.kind not in _POSITIONAL)
    unknown = tuple(
        p.name
        for p in parameters
        if p.name not in taken and p.default is inspect.Parameter.empty and p.kind not in _POSITIONAL[1:]
    )
    return taken, unknown


def call_model(module: nn.Module, inputs: ModelInputs) -> Any:
    """Return ``module(...)`` with those of the inputs that its forward names.

    An input that is None is left out, so that the model's own default holds.
    """
    taken, _ = forward_names(module)
    values = {name: getattr(inputs, name) for name in taken}
    return module(**{name: value for name, value in values.items() if value is not None})
