"""Layers that normalise as GCN does and then propagate, once or several times in one call."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn
from torch_geometric.nn import APPNP, ARMAConv, GCN2Conv, LGConv, MixHopConv, SGConv, SSGConv, TAGConv

from workbench.train.adapter import ADAPTERS, Adapter
from workbench.train.adapters.gcn_norm import in_degree, inverse_root, loop_weight, normalised
from workbench.train.call import Call

_ALWAYS, _IF_ASKED = (SGConv, SSGConv, ARMAConv, MixHopConv), (APPNP, TAGConv, GCN2Conv, LGConv)
_CACHES = ("_cached_x", "_cached_h", "_cached_edge_index")


@ADAPTERS.register("propagate_k")
@dataclass(frozen=True, slots=True, kw_only=True)
class PropagateK(Adapter):
    """SGConv, SSGConv, APPNP, MixHopConv, GCN2Conv: ``D^-1/2 (A + I) D^-1/2``; TAGConv, ARMAConv, LGConv: without I.

    APPNP with dropout on its edges is not of the family: it draws at every propagation.
    """

    by_propagate: ClassVar[bool] = True

    def fits(self, layer: nn.Module) -> bool:
        if type(layer) is APPNP and layer.dropout:
            return False
        return type(layer) in _ALWAYS or (type(layer) in _IF_ASKED and bool(layer.normalize))

    def key(self, layer: nn.Module) -> Hashable:
        return loop_weight(layer)

    def degree(self, call: Call, num_own: int, num_nodes: int) -> Tensor:
        return in_degree(call, loop_weight(call.layer), num_own, num_nodes)

    def finish(self, degree: Tensor) -> Tensor:
        return inverse_root(degree)

    def arrange(self, call: Call, statistic: Tensor, num_outputs: int) -> None:
        edge_index, weight = normalised(call, loop_weight(call.layer), statistic, num_outputs)
        call.set(edge_index=edge_index, edge_weight=weight, size=(len(call.x), num_outputs))

    def set_aside(self, call: Call) -> None:
        """Run the layer on no edges, and neither read nor fill what it keeps from its first graph."""
        Adapter.set_aside(self, call)
        layer = vars(call.layer)
        names = [name for name in ("cached", *_CACHES) if name in layer]
        call.notes["caches"] = {name: layer[name] for name in names}
        layer.update({name: False if name == "cached" else None for name in names})

    def restore(self, call: Call) -> None:
        vars(call.layer).update(call.notes.pop("caches", {}))
