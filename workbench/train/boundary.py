"""The boundary of a message-passing layer: what happens around every such layer of an unchanged model.

A boundary sees the arguments of a layer's call before it runs and its output after. It is attached by module hooks
for the length of a ``with`` block and leaves no trace: parameters, state and class of the model stay as they
are. Boundaries nest: the inner one sees what the outer one handed on. A copy or a pickle of the model that is made
meanwhile is a plain model.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch_geometric.nn import MessagePassing

from workbench.core.errors import WorkbenchError


class BoundaryError(WorkbenchError):
    """A layer is called in a way that a boundary cannot serve; the text names the layer."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One call of a message-passing layer.

    Parameters
    ----------
    layer : MessagePassing
    index : int
        Which call of the forward it is, from 0: a layer that is called twice counts twice.
    arguments : inspect.BoundArguments
        By the names of the layer's forward; a boundary changes them in place.
    notes : dict
        What a boundary keeps from before the layer runs until after.
    """

    layer: nn.Module
    index: int
    arguments: inspect.BoundArguments
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def x(self) -> Tensor:
        return self._tensor("x")

    @property
    def edge_index(self) -> Tensor:
        return self._tensor("edge_index")

    @property
    def edge_weight(self) -> Tensor | None:
        weight: Tensor | None = self.arguments.arguments.get("edge_weight")
        return weight

    def set(self, **values: Any) -> None:
        self.arguments.arguments.update(values)

    def edge_arguments(self) -> dict[str, Tensor]:
        """Return the arguments with one row an edge: those called ``edge_...``, ``edge_index`` left out."""
        count = self.edge_index.shape[1]
        return {
            name: value
            for name, value in self.arguments.arguments.items()
            if name.startswith("edge_") and name != "edge_index" and isinstance(value, Tensor) and len(value) == count
        }

    def _tensor(self, name: str) -> Tensor:
        value = self.arguments.arguments.get(name)
        if not isinstance(value, Tensor):
            raise BoundaryError(
                f"{type(self.layer).__name__} (message-passing call {self.index + 1}): expected {name} to be one "
                f"tensor; got {type(value).__name__}"
            )
        return value


class Boundary(ABC):
    """Base of the boundaries: one object serves one forward of a model."""

    @abstractmethod
    def before(self, call: Call) -> None:
        """Change the arguments of a message-passing layer's call."""

    @abstractmethod
    def after(self, call: Call, output: Any) -> Any:
        """Return what the model gets as the layer's output."""

    def abandon(self, call: Call) -> None:  # noqa: B027 - most boundaries do nothing to the layer itself
        """Undo what `before` did to a layer whose call did not come to its end."""

    def before_norm(self, x: Tensor) -> Tensor:
        """Return the rows that a BatchNorm layer sees."""
        return x

    def after_norm(self, x: Tensor, output: Tensor) -> Tensor:
        """Return what the model gets for `x` where the layer gave `output`."""
        return output


@contextmanager
def attached(module: nn.Module, boundary: Boundary) -> Iterator[None]:
    """Put a boundary around the message-passing layers (and BatchNorms) of a module for one forward."""
    attachment = _Attachment(boundary)
    with ExitStack() as stack:
        stack.callback(attachment.detach)
        for layer in module.modules():
            if isinstance(layer, MessagePassing):
                _hook(layer, attachment.before, attachment.after, stack)
            elif isinstance(layer, _BatchNorm):
                _hook(layer, attachment.before_norm, attachment.after_norm, stack)
        yield


class CallCounter(Boundary):
    """Changes nothing; `num_calls` is the number of message-passing calls of the forward."""

    def __init__(self) -> None:
        self.num_calls = 0

    def before(self, call: Call) -> None:
        self.num_calls = call.index + 1

    def after(self, call: Call, output: Any) -> Any:
        return output


def _hook(layer: nn.Module, before: Any, after: Any, stack: ExitStack) -> None:
    stack.callback(layer.register_forward_pre_hook(before, with_kwargs=True).remove)
    # First of all: so that of two boundaries the inner one comes last before a layer and first after it.
    stack.callback(layer.register_forward_hook(after, with_kwargs=True, prepend=True).remove)


class _Attachment:
    """The hooks of one boundary. In a copy of the model they are dead: a boundary serves the model it was put on."""

    def __init__(self, boundary: Boundary | None) -> None:
        self._boundary = boundary
        self._num_calls = 0
        self._open: list[Call | None] = []  # None for a layer inside a layer, which is its owner's business
        self._norm_inputs: list[Tensor] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"_boundary": None, "_num_calls": 0, "_open": [], "_norm_inputs": []}

    def detach(self) -> None:
        for call in self._open:  # an error came in the middle of them
            if call is not None and self._boundary is not None:
                self._boundary.abandon(call)
        self._boundary = None

    def before(self, layer: nn.Module, args: Any, kwargs: Any) -> Any:
        if self._boundary is None:
            return None
        if self._open:
            self._open.append(None)
            return None
        arguments = _signature_of(layer).bind(layer, *args, **kwargs)
        call = Call(layer=layer, index=self._num_calls, arguments=arguments)
        self._num_calls += 1
        self._open.append(call)
        self._boundary.before(call)
        return arguments.args[1:], arguments.kwargs

    def after(self, layer: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
        if self._boundary is None:
            return None
        call = self._open.pop()
        return output if call is None else self._boundary.after(call, output)

    def before_norm(self, layer: nn.Module, args: Any, kwargs: Any) -> Any:
        if self._boundary is None or self._open or kwargs or len(args) != 1:
            return None
        self._norm_inputs.append(args[0])
        return (self._boundary.before_norm(args[0]),), kwargs

    def after_norm(self, layer: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
        if self._boundary is None or self._open or kwargs or len(args) != 1:
            return None
        return self._boundary.after_norm(self._norm_inputs.pop(), output)


def takes_pair(layer: nn.Module) -> bool:
    """Say whether a layer's forward takes ``(x_source, x_destination)``: PyG's annotations tell."""
    annotation = str(_signature_of(layer).parameters["x"].annotation)
    return "Tuple" in annotation or "tuple" in annotation or "Pair" in annotation


def _signature_of(layer: nn.Module) -> inspect.Signature:
    kind: Any = type(layer)
    return _signature(kind)


@functools.lru_cache(maxsize=256)
def _signature(kind: Any) -> inspect.Signature:
    return inspect.signature(kind.forward)
