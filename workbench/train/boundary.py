"""The boundary of a message-passing layer: what happens around every such layer of an unchanged model.

A boundary sees the arguments of a layer's call before it runs and its output after. It is attached by module hooks
for the length of a ``with`` block and leaves no trace: parameters, state and class of the model stay as they
are. Boundaries nest: the inner one sees what the outer one handed on. A copy or a pickle of the model that is made
meanwhile is a plain model.

A layer that propagates several times in one call is several calls: its adapter says so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, ClassVar

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch_geometric.nn import MessagePassing

from workbench.train.adapter import adapter_of
from workbench.train.call import BoundaryError, Call, signature_of

__all__ = ["Boundary", "BoundaryError", "Call", "CallCounter", "attached"]


class Boundary(ABC):
    """Base of the boundaries: one object serves one forward of a model."""

    observes: ClassVar[bool] = False
    """Whether it only looks: what it does to a call's arguments or output is then not taken over."""

    @abstractmethod
    def before(self, call: Call) -> None:
        """Change the arguments of a call; one with an adapter must be arranged by it, or left as it is."""

    @abstractmethod
    def after(self, call: Call, output: Any) -> Any:
        """Return what the model gets as the call's output."""

    def abandon(self, call: Call) -> None:  # noqa: B027 - most boundaries do nothing to the layer itself
        """Undo what `before` did to a layer whose call did not come to its end."""

    def before_norm(self, layer: nn.Module, x: Tensor, *, is_inside: bool) -> Tensor:
        """Return the rows that a BatchNorm layer sees; `is_inside`: it is part of a message-passing layer."""
        return x

    def after_norm(self, layer: nn.Module, x: Tensor, output: Tensor, *, is_inside: bool) -> Tensor:
        """Return what the model gets for `x` where the layer gave `output`."""
        return output

    def abandon_norm(self, layer: nn.Module) -> None:  # noqa: B027 - most boundaries do nothing to the layer itself
        """Undo what `before_norm` did to a layer that did not come to its end."""


@contextmanager
def attached(module: nn.Module, boundary: Boundary) -> Iterator[None]:
    """Put a boundary around the message-passing layers (and BatchNorms) of a module for one forward."""
    attachment = _Attachment(boundary)
    with ExitStack() as stack:
        stack.callback(attachment.detach)
        for layer in module.modules():
            if isinstance(layer, MessagePassing):
                _hook(layer, attachment.before, attachment.after, stack)
                if _makes_several(layer):
                    attachment.take_over(layer)
                    stack.callback(layer.register_propagate_forward_pre_hook(attachment.before_propagate).remove)
                    stack.callback(layer.register_propagate_forward_hook(attachment.after_propagate).remove)
            elif isinstance(layer, _BatchNorm):
                _hook(layer, attachment.before_norm, attachment.after_norm, stack)
        yield


class CallCounter(Boundary):
    """Changes nothing; `num_calls` is the number of message-passing calls of the forward."""

    observes: ClassVar[bool] = True

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


def _makes_several(layer: nn.Module) -> bool:
    adapter = adapter_of(layer)
    return adapter is not None and adapter.by_propagate


class _Series:
    """A layer at work whose propagations are calls: what it was given, set aside, and the propagation at work."""

    def __init__(self, layer: nn.Module, whole: Call) -> None:
        self.layer, self.whole, self.values = layer, whole, dict(whole.values)
        self.call: Call | None = None


class _Attachment:
    """The hooks of one boundary. In a copy of the model they are dead: a boundary serves the model it was put on."""

    def __init__(self, boundary: Boundary | None) -> None:
        self._boundary = boundary
        self._num_calls = 0
        self._open: list[Call | _Series | None] = []  # None for a layer inside a layer, which is its owner's business
        self._norms: list[tuple[nn.Module, Tensor]] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"_boundary": None, "_num_calls": 0, "_open": [], "_norms": []}

    def take_over(self, layer: Any) -> None:
        """Refuse a second boundary that changes the propagations of one layer: whose edges would be the layer's?"""
        owners = [getattr(hook, "__self__", None) for hook in layer._propagate_forward_pre_hooks.values()]
        others = [owner for owner in owners if isinstance(owner, _Attachment) and owner._is_active()]
        if others and self._is_active():
            raise BoundaryError(f"{type(layer).__name__}: expected one boundary around it at a time; got two")

    def _is_active(self) -> bool:
        return self._boundary is not None and not self._boundary.observes

    def detach(self) -> None:
        for opened in self._open:  # an error came in the middle of them
            if self._boundary is None or opened is None:
                continue
            if isinstance(opened, _Series):
                self._end_series(opened)
            else:
                self._boundary.abandon(opened)
        if self._boundary is not None:
            for layer, _ in self._norms:
                self._boundary.abandon_norm(layer)
        self._boundary = None

    def before(self, layer: nn.Module, args: Any, kwargs: Any) -> Any:
        if self._boundary is None:
            return None
        if self._open:
            self._open.append(None)
            return None
        arguments = signature_of(layer).bind(layer, *args, **kwargs)
        call = Call(layer=layer, index=self._num_calls, values=arguments.arguments, adapter=adapter_of(layer))
        if call.adapter is not None and call.adapter.by_propagate:
            self._open.append(_Series(layer, call))
            if self._is_active():
                call.check_plain()
                call.adapter.set_aside(call)
        else:
            self._num_calls += 1
            self._open.append(call)
            self._boundary.before(call)
        return arguments.args[1:], arguments.kwargs

    def after(self, layer: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
        if self._boundary is None:
            return None
        opened = self._open.pop()
        if isinstance(opened, _Series):
            self._end_series(opened)
            return output
        return output if opened is None else self._boundary.after(opened, output)

    def _end_series(self, series: _Series) -> None:
        if self._boundary is not None and series.call is not None:
            self._boundary.abandon(series.call)
        if series.whole.adapter is not None:
            series.whole.adapter.restore(series.whole)

    def before_propagate(self, layer: Any, inputs: tuple[Any, ...]) -> Any:
        series = self._open[-1] if self._open else None
        if self._boundary is None or not isinstance(series, _Series) or series.layer is not layer:
            return None
        edge_index, size, kwargs = inputs
        adapter, is_active = series.whole.adapter, self._is_active()
        assert adapter is not None, "a series has one"
        values = series.values if is_active else {"edge_index": edge_index, "size": size, **kwargs}
        rows = _rows_first(kwargs["x"], layer)
        call = Call(layer=layer, index=self._num_calls, values={**values, "x": rows}, adapter=adapter)
        self._num_calls += 1
        series.call = call
        self._boundary.before(call)
        if not is_active:
            return None
        if call.values.get("size") is None:  # left as it is
            adapter.arrange(call, adapter.statistic(call, len(call.x)), len(call.x))
        finished = {"x": _rows_back(call.x, layer), adapter.weight_name: call.edge_weight}
        return call.edge_index, call.values["size"], {**kwargs, **finished}

    def after_propagate(self, layer: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        series = self._open[-1] if self._open else None
        if self._boundary is None or not isinstance(series, _Series) or series.call is None:
            return None
        call, series.call = series.call, None
        rows = self._boundary.after(call, _rows_first(output, layer))
        return _rows_back(rows, layer) if self._is_active() else None

    def before_norm(self, layer: nn.Module, args: Any, kwargs: Any) -> Any:
        if self._boundary is None or kwargs or len(args) != 1:
            return None
        self._norms.append((layer, args[0]))
        return (self._boundary.before_norm(layer, args[0], is_inside=bool(self._open)),), kwargs

    def after_norm(self, layer: nn.Module, args: Any, kwargs: Any, output: Any) -> Any:
        if self._boundary is None or kwargs or len(args) != 1:
            return None
        _, x = self._norms.pop()
        return self._boundary.after_norm(layer, x, output, is_inside=bool(self._open))


def _rows_first(x: Tensor, layer: Any) -> Tensor:
    """Return x with its nodes along the first dimension: x itself where they are there already."""
    return x if x.ndim + layer.node_dim == 0 else x.movedim(layer.node_dim, 0)


def _rows_back(x: Tensor, layer: Any) -> Tensor:
    return x if x.ndim + layer.node_dim == 0 else x.movedim(0, layer.node_dim)
