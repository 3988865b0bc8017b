"""Models as users write them, for tests that compare ways of running them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.nn import (
    APPNP,
    ARMAConv,
    BatchNorm,
    ChebConv,
    EdgeConv,
    GATConv,
    GatedGraphConv,
    GATv2Conv,
    GCN2Conv,
    GCNConv,
    GINConv,
    GraphConv,
    GraphNorm,
    JumpingKnowledge,
    LGConv,
    MessagePassing,
    MixHopConv,
    SAGEConv,
    SGConv,
    SSGConv,
    TAGConv,
    TransformerConv,
)
from torch_geometric.utils import degree

WIDTH, CLASSES, LAYERS = 16, 4, 3
Make = Callable[[], nn.Module]


def perceptron() -> nn.Module:
    """Two linear maps: what GIN applies to a node's sum."""
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))


class Net(nn.Module):
    """Three layers with what people put around them: residuals, norms, JumpingKnowledge, edge weights."""

    def __init__(
        self,
        make: Make,
        *,
        norm: Make | None = None,
        residual: bool = False,
        jumping: bool = False,
        weighted: bool = False,
        num_layers: int = LAYERS,
    ) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.convs = nn.ModuleList(make() for _ in range(num_layers))
        self.norms = nn.ModuleList(norm() for _ in range(num_layers)) if norm else None
        self.residual, self.weighted = residual, weighted
        self.jump = JumpingKnowledge("cat") if jumping else None
        self.head = nn.Linear(WIDTH * num_layers if jumping else WIDTH, CLASSES)
        self.double().eval()

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        rows = []
        for index, conv in enumerate(self.convs):
            out = conv(x, edge_index, edge_weight) if self.weighted else conv(x, edge_index)
            out = out + x if self.residual else out
            out = self.norms[index](out) if self.norms is not None else out
            x = out.relu()
            rows.append(x)
        result: Tensor = self.head(self.jump(rows) if self.jump is not None else x)
        return result


class Shared(nn.Module):
    """One layer, called three times."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.conv, self.head = SAGEConv(WIDTH, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.double().eval()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for _ in range(LAYERS):
            x = self.conv(x, edge_index).relu()
        result: Tensor = self.head(x)
        return result


class Branches(nn.Module):
    """Two layers side by side, then one on both."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.left, self.right = GCNConv(WIDTH, WIDTH), SAGEConv(WIDTH, WIDTH)
        self.top, self.head = GATConv(WIDTH, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.double().eval()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        both = torch.relu(self.left(x, edge_index)) + torch.relu(self.right(x, edge_index))
        result: Tensor = self.head(self.top(both, edge_index))
        return result


class Initial(nn.Module):
    """Layers that read the first rows beside the last (GCNII)."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.convs = nn.ModuleList(GCN2Conv(WIDTH, alpha=0.2, theta=0.5, layer=k + 1) for k in range(LAYERS))
        self.head = nn.Linear(WIDTH, CLASSES)
        self.double().eval()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        first = x
        for conv in self.convs:
            x = conv(x, first, edge_index).relu()
        result: Tensor = self.head(x)
        return result


class Mean(nn.Module):
    """Subtracts the mean over all rows: no boundary can be exact for it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.conv, self.head = SAGEConv(WIDTH, WIDTH), nn.Linear(WIDTH, CLASSES)
        self.double().eval()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.conv(x, edge_index)
        result: Tensor = self.head(x - x.mean(0))
        return result


class DegreeConv(MessagePassing):  # type: ignore[misc]
    """Normalises by degrees that it counts itself: no adapter knows it, so a boundary would give it wrong ones."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(aggr="add")
        self.lin = nn.Linear(in_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        root = degree(edge_index[1], x.size(0), dtype=x.dtype).clamp(min=1).pow(-0.5)
        norm = root[edge_index[0]] * root[edge_index[1]]
        out: Tensor = self.propagate(edge_index, x=self.lin(x), norm=norm)
        return out

    def message(self, x_j: Tensor, norm: Tensor) -> Tensor:
        """Return one weighted row an edge."""
        return norm.view(-1, 1) * x_j


def sage() -> nn.Module:
    """A layer that takes a pair of inputs."""
    layer: nn.Module = SAGEConv(WIDTH, WIDTH)
    return layer


def gcn() -> nn.Module:
    """A layer that reads degrees, and takes no pair."""
    layer: nn.Module = GCNConv(WIDTH, WIDTH)
    return layer


EXACT: dict[str, tuple[Callable[[], nn.Module], str]] = {  # name -> how it is made, the row cut it needs
    "sage": (lambda: Net(sage), "cut"),
    "sage_max": (lambda: Net(lambda: SAGEConv(WIDTH, WIDTH, aggr="max")), "cut"),
    "gcn": (lambda: Net(gcn), "cut"),
    "gcn_weighted": (lambda: Net(gcn, weighted=True), "cut"),
    "gcn_improved": (lambda: Net(lambda: GCNConv(WIDTH, WIDTH, improved=True), weighted=True), "cut"),
    "gcn_without_loops": (lambda: Net(lambda: GCNConv(WIDTH, WIDTH, add_self_loops=False)), "cut"),
    "gcn_cached": (lambda: Net(lambda: GCNConv(WIDTH, WIDTH, cached=True)), "cut"),
    "gat": (lambda: Net(lambda: GATConv(WIDTH, WIDTH // 2, heads=2)), "cut"),
    "gatv2": (lambda: Net(lambda: GATv2Conv(WIDTH, WIDTH // 2, heads=2)), "cut"),
    "gin": (lambda: Net(lambda: GINConv(perceptron())), "cut"),
    "graph_conv": (lambda: Net(lambda: GraphConv(WIDTH, WIDTH), weighted=True), "cut"),
    "transformer": (lambda: Net(lambda: TransformerConv(WIDTH, WIDTH)), "cut"),
    "edge_conv": (lambda: Net(lambda: EdgeConv(nn.Linear(2 * WIDTH, WIDTH))), "cut"),
    "batch_norm": (lambda: Net(sage, norm=lambda: BatchNorm(WIDTH)), "cut"),
    "residual": (lambda: Net(sage, residual=True), "padded"),
    "residual_batch_norm_gcn": (lambda: Net(gcn, residual=True, norm=lambda: BatchNorm(WIDTH)), "padded"),
    "jumping": (lambda: Net(sage, jumping=True), "padded"),
    "sgc": (lambda: Net(lambda: SGConv(WIDTH, WIDTH, K=2), weighted=True), "cut"),
    "ssgc": (lambda: Net(lambda: SSGConv(WIDTH, WIDTH, alpha=0.2, K=2)), "padded"),
    "appnp": (lambda: Net(lambda: APPNP(K=2, alpha=0.2)), "padded"),
    "tag": (lambda: Net(lambda: TAGConv(WIDTH, WIDTH, K=2), weighted=True), "padded"),
    "mixhop": (lambda: Net(lambda: MixHopConv(WIDTH, WIDTH // 2, powers=[0, 2])), "padded"),
    "gated": (lambda: Net(lambda: GatedGraphConv(WIDTH, num_layers=2), weighted=True), "padded"),
    "tag_plain": (lambda: Net(lambda: TAGConv(WIDTH, WIDTH, K=2, normalize=False), weighted=True), "padded"),
    "lgconv": (lambda: Net(LGConv, weighted=True), "cut"),
    "gcn2": (Initial, "cut"),
    "arma": (lambda: Net(lambda: ARMAConv(WIDTH, WIDTH, num_stacks=2, num_layers=2)), "padded"),
    "cheb": (lambda: Net(lambda: ChebConv(WIDTH, WIDTH, K=3), weighted=True), "padded"),
    "cheb_rw": (lambda: Net(lambda: ChebConv(WIDTH, WIDTH, K=2, normalization="rw")), "padded"),
    "shared": (Shared, "cut"),
    "branches": (Branches, "padded"),
    "deeper_than_the_sample": (lambda: Net(sage, num_layers=5), "cut"),
    "shallower_than_the_sample": (lambda: Net(sage, num_layers=2), "cut"),
}
INEXACT: dict[str, Callable[[], nn.Module]] = {
    "mean": Mean,
    "graph_norm": lambda: Net(sage, norm=lambda: GraphNorm(WIDTH)),
    "degree_of_its_own": lambda: Net(lambda: DegreeConv(WIDTH, WIDTH)),
}
