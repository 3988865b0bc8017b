"""Message-passing layers one after another, and what stands between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": torch.relu, "elu": functional.elu}


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What stands around the layers of a stack.

    Parameters
    ----------
    dropout : float
        Share of values set to zero before each layer but the first.
    drops_features : bool
        Whether the first layer's input loses values too.
    activation : str
        A key of ``ACTIVATIONS``.
    norm : str
        ``none``, ``batch`` or ``layer``: normalises the output of each layer but a bare last one, row by row or by
        column.
    residual : bool
        Whether a layer's input is added to its normalised output.
    jumping_knowledge : str
        ``none``, or how the outputs of all layers are joined: ``cat``, ``max`` or ``lstm``.
    reads : str, optional
        What the layers take beside ``edge_index``: ``edge_weight`` or ``edge_attr``.
    """

    dropout: float = 0.0
    drops_features: bool = False
    activation: str = "relu"
    norm: str = "none"
    residual: bool = False
    jumping_knowledge: str = "none"
    reads: str | None = None


class ConvStack(nn.Module):
    """A stack of PyG layers, as they are.

    Parameters
    ----------
    layers : sequence of Module
        The layers, first to last.
    widths : sequence of (int, int)
        (in_channels, out_channels) of each.
    out_channels : int
        Columns of the result.
    surroundings : Surroundings
    """

    def __init__(
        self,
        layers: Sequence[nn.Module],
        widths: Sequence[tuple[int, int]],
        out_channels: int,
        surroundings: Surroundings,
    ) -> None:
        super().__init__()
        self.layers, self.surroundings = nn.ModuleList(layers), surroundings
        joined = surroundings.jumping_knowledge != "none"
        hidden = widths if joined else widths[:-1]
        self.norms = nn.ModuleList(_norm(surroundings.norm, width) for _, width in hidden)
        self.skips = nn.ModuleList(_skip(*pair) for pair in hidden if surroundings.residual)
        self.join = _join(surroundings.jumping_knowledge, widths[-1][1], len(layers)) if joined else None
        if joined:
            width = widths[-1][1] * (len(layers) if surroundings.jumping_knowledge == "cat" else 1)
            self.head = nn.Linear(width, out_channels)

    def forward(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None, edge_attr: Tensor | None = None
    ) -> Tensor:
        """Return (num_nodes, out_channels) for (num_nodes, in_channels) and (2, num_edges)."""
        around, rows = self.surroundings, []
        extra = {
            "edge_weight": edge_weight,
            "edge_attr": None if edge_attr is None else columns_of(edge_attr),
            None: None,
        }[around.reads]
        for depth, layer in enumerate(self.layers):
            if depth > 0 or around.drops_features:
                x = functional.dropout(x, around.dropout, self.training)
            out = layer(x, edge_index) if extra is None else layer(x, edge_index, extra)
            x = self._after(depth, x, out) if depth < len(self.norms) else out
            rows.append(x)
        return x if self.join is None else self.head(self.join(rows))

    def _after(self, depth: int, x: Tensor, out: Tensor) -> Tensor:
        out = self.norms[depth](out)
        if self.surroundings.residual:
            out = out + self.skips[depth](x)
        return ACTIVATIONS[self.surroundings.activation](out)


def perceptron(in_channels: int, hidden_channels: int, out_channels: int) -> nn.Sequential:
    """Return two linear maps with ReLU between them."""
    return nn.Sequential(nn.Linear(in_channels, hidden_channels), nn.ReLU(), nn.Linear(hidden_channels, out_channels))


def columns_of(edge_attr: Tensor) -> Tensor:
    """Return features of edges as (num_edges, k): one number an edge is one column."""
    return edge_attr.unsqueeze(-1) if edge_attr.ndim == 1 else edge_attr


def _norm(kind: str, width: int) -> nn.Module:
    makers: dict[str, Callable[[], nn.Module]] = {
        "none": nn.Identity,
        "batch": lambda: nn.BatchNorm1d(width),
        "layer": lambda: nn.LayerNorm(width),
    }
    return makers[kind]()


def _skip(in_channels: int, out_channels: int) -> nn.Module:
    return nn.Identity() if in_channels == out_channels else nn.Linear(in_channels, out_channels, bias=False)


def _join(kind: str, width: int, num_layers: int) -> nn.Module:
    from torch_geometric.nn import JumpingKnowledge

    joined: nn.Module = JumpingKnowledge(kind, channels=width, num_layers=num_layers)
    return joined
