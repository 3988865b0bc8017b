"""Layers that propagate several times by the weights that they are given."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch_geometric.nn import APPNP, GatedGraphConv, TAGConv

from workbench.train.adapter import ADAPTERS, Adapter
from workbench.train.call import Call


@ADAPTERS.register("propagate_plain")
@dataclass(frozen=True, slots=True, kw_only=True)
class PropagatePlain(Adapter):
    """GatedGraphConv, and TAGConv and APPNP with ``normalize=False``: no degree counts."""

    by_propagate: ClassVar[bool] = True
    reads_degrees: ClassVar[bool] = False

    def fits(self, layer: nn.Module) -> bool:
        if type(layer) is APPNP and layer.dropout:
            return False
        return type(layer) is GatedGraphConv or (type(layer) in (APPNP, TAGConv) and not layer.normalize)

    def key(self, layer: nn.Module) -> Hashable:
        return None

    def degree(self, call: Call, num_own: int, num_nodes: int) -> Tensor:
        return call.x.new_zeros(num_nodes)

    def finish(self, degree: Tensor) -> Tensor:
        return degree

    def arrange(self, call: Call, statistic: Tensor, num_outputs: int) -> None:
        call.set(size=(len(call.x), num_outputs))
