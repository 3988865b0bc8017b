"""Whether rows that pass by are those of edges: known while a layer computes its messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn
from torch_geometric.nn import MessagePassing


class MessageWatch:
    """Follows the message-passing layers of a module through one forward."""

    def __init__(self) -> None:
        self.edge_index: Tensor | None = None
        """(2, e) edges whose messages (or attention) are being computed, or None outside of that."""
        self._propagating: list[Tensor] = []

    @contextmanager
    def on(self, module: nn.Module) -> Iterator[None]:
        """Follow a module; inside of a boundary, so that the edges are those that the boundary leaves."""
        with ExitStack() as stack:
            for layer in module.modules():
                if isinstance(layer, MessagePassing):
                    for handle in (
                        layer.register_propagate_forward_pre_hook(self._propagate),
                        layer.register_propagate_forward_hook(self._propagated),
                        layer.register_message_forward_pre_hook(self._message),
                        layer.register_message_forward_hook(self._done),
                        layer.register_edge_update_forward_pre_hook(self._edge_update),
                        layer.register_edge_update_forward_hook(self._done),
                    ):
                        stack.callback(handle.remove)
            yield

    def _propagate(self, layer: Any, inputs: tuple[Any, ...]) -> None:
        self._propagating.append(inputs[0])

    def _propagated(self, layer: Any, inputs: tuple[Any, ...], output: Any) -> None:
        self._propagating.pop()

    def _message(self, layer: Any, inputs: tuple[Any, ...]) -> None:
        self.edge_index = self._propagating[-1]

    def _edge_update(self, layer: Any, inputs: tuple[Any, ...]) -> None:
        self.edge_index = inputs[0]

    def _done(self, layer: Any, inputs: tuple[Any, ...], output: Any) -> None:
        self.edge_index = None
