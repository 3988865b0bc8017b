"""What the attention models share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.core.errors import Findings
from workbench.core.params import param
from workbench.models.base import MODELS, StackSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionSpec(StackSpec):
    """Base of the stacks whose layers weight neighbours by attention, several heads side by side.

    A hidden layer's heads lie side by side in its `hidden_channels`; those of the last layer are averaged.
    """

    heads: int = param(4, help="heads of each hidden layer, side by side in hidden_channels", minimum=1)
    output_heads: int = param(1, help="heads of the last layer, averaged", minimum=1)
    attention_dropout: float = param(
        0.0, help="share of attention weights set to zero in training", minimum=0, maximum=1
    )
    edge_channels: int = param(0, help="columns of the graph's edge features (attr) that it reads; 0: none", minimum=0)

    def __post_init__(self) -> None:
        findings = Findings(f"model {MODELS.name_of(self)!r}")
        if self.hidden_channels % self.heads:
            nearest = self.heads * max(1, round(self.hidden_channels / self.heads))
            expected, fix = f"a multiple of heads={self.heads}", f"pass hidden_channels={nearest}, or other heads="
            findings.add("hidden_channels", expected, self.hidden_channels, fix)
        findings.raise_if_any()

    @property
    def reads(self) -> str | None:
        return "edge_attr" if self.edge_channels else None

    def head_arguments(self, out_channels: int, *, is_last: bool) -> dict[str, Any]:
        """Return what PyG's attention layers are built with beside their input's width."""
        heads = self.output_heads if is_last else self.heads
        return {
            "out_channels": out_channels if is_last else out_channels // heads,
            "heads": heads,
            "concat": not is_last,
            "dropout": self.attention_dropout,
            "edge_dim": self.edge_channels or None,
        }
