"""Graph attention network with dynamic attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workbench.models.attention import AttentionSpec
from workbench.models.base import MODELS

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("gatv2")
@dataclass(frozen=True, slots=True, kw_only=True)
class GatV2(AttentionSpec):
    """GATv2: as GAT, but which neighbour counts most may differ from node to node.

    ``h_v' = sum_u a_vu W_1 h_u`` with ``a_vu = softmax_u(a . leaky_relu(W_2 h_v + W_1 h_u))``, ELU and dropout between
    layers, dropout on the features too. Brody, Alon & Yahav, "How Attentive are Graph Attention Networks?", ICLR 2022,
    arXiv 2105.14491.
    """

    activation: ClassVar[str] = "elu"
    drops_features: ClassVar[bool] = True

    def layer(self, in_channels: int, out_channels: int, *, is_last: bool) -> nn.Module:
        from torch_geometric.nn import GATv2Conv  # seconds to import: only where a model is built

        layer: nn.Module = GATv2Conv(in_channels, **self.head_arguments(out_channels, is_last=is_last))
        return layer
