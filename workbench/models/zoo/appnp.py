"""Personalised propagation of predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.params import param
from workbench.models.base import MODELS, ModelSpec

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("appnp")
@dataclass(frozen=True, slots=True, kw_only=True)
class Appnp(ModelSpec):
    """APPNP: a perceptron predicts from a node's own features, then K rounds of messages spread the predictions.

    ``Z_0 = MLP(X)``, ``Z_{k+1} = (1 - alpha) S Z_k + alpha Z_0`` with ``S = D^-1/2 (A + I) D^-1/2``. Gasteiger,
    Bojchevski & Guennemann, "Predict then Propagate: Graph Neural Networks meet Personalized PageRank", ICLR 2019,
    arXiv 1810.05997.
    """

    hidden_channels: int = param(64, help="width of the perceptron's hidden layers", minimum=1)
    num_layers: int = param(2, help="linear maps of the perceptron", minimum=1)
    dropout: float = param(0.5, help="share of the perceptron's inputs set to zero in training", minimum=0, maximum=1)
    K: int = param(10, help="rounds of messages: the hops that it reads", minimum=1)
    alpha: float = param(0.1, help="share of its own prediction that a node keeps in each round", minimum=0, maximum=1)
    edge_dropout: float = param(
        0.0, help="share of edges left out of each round in training (the paper: 0.5)", minimum=0, maximum=1
    )
    weighted: bool = param(True, help="use the graph's edge weights, where it has some")
    sparse: bool = param(False, help="aggregate by sparse matrix products instead of a message for every edge")

    @property
    def num_propagations(self) -> int:
        return self.K

    def build(self, in_channels: int, out_channels: int) -> nn.Module:
        from torch_geometric.nn import APPNP  # seconds to import: only where a model is built

        from workbench.models.shapes import PredictThenPropagate
        from workbench.models.sparse import Structures, aggregate_sparsely

        layer = APPNP(K=self.K, alpha=self.alpha, dropout=self.edge_dropout)
        if self.sparse:
            aggregate_sparsely(layer, Structures())
        widths = [in_channels, *[self.hidden_channels] * (self.num_layers - 1), out_channels]
        return PredictThenPropagate(widths, layer, dropout=self.dropout, weighted=self.weighted)
