"""Adapters: what a boundary must know of layers whose result for a node depends on more than its in-edges.

A layer that normalises by degrees reads, beside its neighbours' rows, one number for each of them. An adapter says what
that number is and how the layer is called with numbers that were worked out elsewhere.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass

from torch import Tensor, nn

from workbench.core.params import Params
from workbench.core.registry import Registry
from workbench.train.boundary import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter(Params):
    """Base of the adapters; one object serves all layers of its family."""

    @abstractmethod
    def fits(self, layer: nn.Module) -> bool:
        """Say whether the layer is of this family, in the form that needs the adapter."""

    @abstractmethod
    def key(self, layer: nn.Module) -> Hashable:
        """Return what the statistic depends on beside the edges: layers of equal key share it."""

    @abstractmethod
    def statistic(self, call: Call, num_nodes: int) -> Tensor:
        """Return (num_nodes,) the number of each of the first nodes, whose in-edges are all among the call's."""

    @abstractmethod
    def arrange(self, call: Call, statistic: Tensor, num_outputs: int) -> None:
        """Change the call so that it gives the first `num_outputs` rows by the statistic of all nodes in it."""

    @abstractmethod
    def restore(self, call: Call) -> None:
        """Undo on the layer what `arrange` did to it."""


ADAPTERS: Registry[Adapter] = Registry(
    "adapter",
    Adapter,  # type: ignore[type-abstract]
    "workbench.train.adapters",
    "workbench.adapters",
)


def adapter_of(layer: nn.Module) -> Adapter | None:
    """Return the adapter that a layer needs, or None."""
    for entry in ADAPTERS:
        adapter = entry.factory()
        if adapter.fits(layer):
            return adapter
    return None
