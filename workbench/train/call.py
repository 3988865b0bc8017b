"""One call of message passing, as a boundary sees and changes it."""

from __future__ import annotations

import functools
import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from workbench.core.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.train.adapter import Adapter


class BoundaryError(WorkbenchError):
    """A layer is called in a way that a boundary cannot serve; the text names the layer."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One exchange of messages: a call of a layer, or one of the propagations inside a layer that makes several.

    Parameters
    ----------
    layer : MessagePassing
    index : int
        Which call of the forward it is, from 0: a layer that is called twice counts twice.
    values : dict
        What the layer is given, by name; a boundary changes them in place.
    adapter : Adapter, optional
        What the layer needs beside the rows of its neighbours, where it needs more.
    notes : dict
        What a boundary keeps from before the layer runs until after.
    """

    layer: nn.Module
    index: int
    values: dict[str, Any]
    adapter: Adapter | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def x(self) -> Tensor:
        return self._tensor("x")

    @property
    def edge_index(self) -> Tensor:
        return self._tensor("edge_index")

    @property
    def edge_weight(self) -> Tensor | None:
        weight: Tensor | None = self.values.get("edge_weight")
        return weight

    @property
    def takes_pair(self) -> bool:
        """Whether the layer can be given ``(x_source, x_destination)``."""
        return self.adapter is None and takes_pair(self.layer)

    def set(self, **values: Any) -> None:
        self.values.update(values)

    def edge_arguments(self) -> dict[str, Tensor]:
        """Return the arguments with one row an edge: those called ``edge_...``, ``edge_index`` left out."""
        count = self.edge_index.shape[1]
        return {
            name: value
            for name, value in self.values.items()
            if name.startswith("edge_") and name != "edge_index" and isinstance(value, Tensor) and len(value) == count
        }

    def check_plain(self) -> None:
        """Refuse a call against the direction of the edges, or between two sets of nodes."""
        layer = self.layer
        if getattr(layer, "flow", "source_to_target") != "source_to_target":
            raise BoundaryError(f"{type(layer).__name__}: expected flow 'source_to_target'; got {layer.flow!r}")
        if self.values.get("size") is not None:
            raise BoundaryError(f"{type(layer).__name__}: expected size=None; got {self.values['size']}")

    def _tensor(self, name: str) -> Tensor:
        value = self.values.get(name)
        if not isinstance(value, Tensor):
            raise BoundaryError(
                f"{type(self.layer).__name__} (message-passing call {self.index + 1}): expected {name} to be one "
                f"tensor; got {type(value).__name__}"
            )
        return value


def one_tensor(call: Call, output: Any) -> Tensor:
    """Return a layer's output, which must be one tensor."""
    if not isinstance(output, Tensor):
        raise BoundaryError(f"{type(call.layer).__name__}: expected one tensor as output; got {type(output).__name__}")
    return output


def takes_pair(layer: nn.Module) -> bool:
    """Say whether a layer's forward takes ``(x_source, x_destination)``: PyG's annotations tell."""
    annotation = str(signature_of(layer).parameters["x"].annotation)
    return "Tuple" in annotation or "tuple" in annotation or "Pair" in annotation


def signature_of(layer: nn.Module) -> inspect.Signature:
    """Return the signature of a layer's forward, looked at once a class."""
    kind: Any = type(layer)
    return _signature(kind)


@functools.lru_cache(maxsize=256)
def _signature(kind: Any) -> inspect.Signature:
    return inspect.signature(kind.forward)
