"""Adapters: what a boundary must know of layers whose result for a node depends on more than its in-edges.

A layer that normalises by degrees reads, beside its neighbours' rows, one number for each of them. An adapter says how
that number comes from the edges, and how the layer is called with numbers that were worked out elsewhere. A layer that
propagates several times in one call needs its neighbours' rows each time: its adapter lets every propagation be a
call of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from workbench.core.params import Params
from workbench.core.registry import Registry
from workbench.train.call import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter(Params):
    """Base of the adapters; one object serves all layers of its family."""

    by_propagate: ClassVar[bool] = False
    """Whether each propagation inside the layer is a call: its layer is then run on no edges, and each propagation on
    the edges, the size and the finished weights that `arrange` puts into the call."""

    weight_name: ClassVar[str] = "edge_weight"
    """What the finished weights are called where the layer propagates."""

    reads_degrees: ClassVar[bool] = True
    """Whether the statistic says anything: else nobody brings it to other ranks or pieces."""

    at_source: ClassVar[bool] = False
    """Whether the degree of a node adds up the edges that leave it; else those that enter it."""

    @abstractmethod
    def fits(self, layer: nn.Module) -> bool:
        """Say whether the layer is of this family, in the form that needs the adapter."""

    @abstractmethod
    def key(self, layer: nn.Module) -> Hashable:
        """Return what the degree depends on beside the edges: layers of equal key share it."""

    @abstractmethod
    def degree(self, call: Call, num_own: int, num_nodes: int) -> Tensor:
        """Return (num_nodes,) what the call's edges add to the degree of each node.

        The first `num_own` nodes have all their in-edges among the call's.
        """

    @abstractmethod
    def finish(self, degree: Tensor) -> Tensor:
        """Return the statistic of nodes whose degree is complete."""

    @abstractmethod
    def arrange(self, call: Call, statistic: Tensor, num_outputs: int) -> None:
        """Change the call so that it gives the first `num_outputs` rows by the statistic of all nodes in it."""

    def set_aside(self, call: Call) -> None:
        """Change a call of the whole layer so that it runs on no edges; for families with `by_propagate`."""
        call.set(edge_index=call.edge_index[:, :0], **{name: v[:0] for name, v in call.edge_arguments().items()})

    def restore(self, call: Call) -> None:
        """Undo on the layer what `arrange` or `set_aside` did to it."""

    def statistic(self, call: Call, num_nodes: int) -> Tensor:
        """Return (num_nodes,) the statistic by the call's edges alone, which are all edges of its nodes."""
        return self.finish(self.degree(call, num_nodes, num_nodes))


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
