"""GraphConv: weighted sums of neighbours, with a linear map of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.models.base import MODELS, LinearStackSpec

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("graph_conv")
@dataclass(frozen=True, slots=True, kw_only=True)
class GraphConvolution(LinearStackSpec):
    """GraphConv: each layer joins a node's own row with the weighted sum over its neighbours.

    ``h_v' = W_1 h_v + W_2 sum_{u in N(v)} e_uv h_u``, ReLU and dropout between layers. Morris et al., "Weisfeiler and
    Leman Go Neural: Higher-Order Graph Neural Networks", AAAI 2019, arXiv 1810.02244.
    """

    linear_after: ClassVar[str | None] = "lin_rel"

    aggregation: str = param("sum", help="how neighbours are joined", choices=("sum", "mean", "max"))
    weighted: bool = param(True, help="use the graph's edge weights, where it has some")

    def __post_init__(self) -> None:
        findings = Findings("model 'graph_conv'")
        if self.sparse and self.aggregation == "max":
            got, fix = "True with a maximum, which is no matrix product", "remove sparse="
            findings.add("sparse", "False, or aggregation 'sum' or 'mean'", got, fix)
        findings.raise_if_any()

    @property
    def reads(self) -> str | None:
        return "edge_weight" if self.weighted else None

    def layer(self, in_channels: int, out_channels: int, *, is_last: bool) -> nn.Module:
        from torch_geometric.nn import GraphConv  # seconds to import: only where a model is built

        layer: nn.Module = GraphConv(in_channels, out_channels, aggr=self.aggregation)
        return layer
