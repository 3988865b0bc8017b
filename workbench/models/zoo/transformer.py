"""Graph transformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.params import param
from workbench.models.attention import AttentionSpec
from workbench.models.base import MODELS

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("transformer")
@dataclass(frozen=True, slots=True, kw_only=True)
class Transformer(AttentionSpec):
    """Graph transformer: each layer joins a node's own row with scaled dot-product attention over its neighbours.

    ``h_v' = W_1 h_v + sum_u a_vu W_2 h_u`` with ``a_vu = softmax_u((W_3 h_v) . (W_4 h_u) / sqrt(d))``, ReLU and dropout
    between layers; edge features are added to keys and values. Shi et al., "Masked Label Prediction: Unified
    Message Passing Model for Semi-Supervised Classification", IJCAI 2021, arXiv 2009.03509.
    """

    beta: bool = param(False, help="weigh a node's own row against its neighbours' by a learned gate")

    def layer(self, in_channels: int, out_channels: int, *, is_last: bool) -> nn.Module:
        from torch_geometric.nn import TransformerConv  # seconds to import: only where a model is built

        arguments = self.head_arguments(out_channels, is_last=is_last)
        layer: nn.Module = TransformerConv(in_channels, **arguments, beta=self.beta)
        return layer
