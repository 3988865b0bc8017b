"""GraphSAGE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.models.base import MODELS, LinearStackSpec

if TYPE_CHECKING:
    from torch import nn


@MODELS.register("sage")
@dataclass(frozen=True, slots=True, kw_only=True)
class Sage(LinearStackSpec):
    """GraphSAGE: each layer joins a node's own row with the mean (maximum, sum, pool) over its neighbours.

    ``h_v' = W_1 h_v + W_2 mean_{u in N(v)} h_u``, ReLU and dropout between layers. ``pool`` is the paper's: the
    maximum of ``relu(W h_u + b)``. Hamilton, Ying & Leskovec, "Inductive Representation Learning on Large Graphs",
    NeurIPS 2017, arXiv 1706.02216.
    """

    linear_after: ClassVar[str | None] = "lin_l"

    aggregation: str = param("mean", help="how neighbours are joined", choices=("mean", "max", "sum", "pool"))

    def __post_init__(self) -> None:
        findings = Findings("model 'sage'")
        if self.sparse and self.aggregation in ("max", "pool"):
            got, fix = f"True with a maximum ({self.aggregation!r}), which is no matrix product", "remove sparse="
            findings.add("sparse", "False, or aggregation 'mean' or 'sum'", got, fix)
        findings.raise_if_any()

    def layer(self, in_channels: int, out_channels: int, *, is_last: bool) -> nn.Module:
        from torch_geometric.nn import SAGEConv  # seconds to import: only where a model is built

        pools = self.aggregation == "pool"
        layer: nn.Module = SAGEConv(in_channels, out_channels, aggr="max" if pools else self.aggregation, project=pools)
        return layer
