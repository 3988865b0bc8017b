"""Training in the shape of PyG's examples, with the loader's import changed and nothing else."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import LinkNeighborLoader as PygLinkNeighborLoader
from torch_geometric.loader import NeighborLoader as PygNeighborLoader
from torch_geometric.nn import GraphSAGE, SAGEConv
from torch_geometric.transforms import RandomLinkSplit
from torch_geometric.typing import WITH_PYG_LIB, WITH_TORCH_SPARSE
from torch_geometric.utils import trim_to_layer

import workbench as wb

pytestmark = pytest.mark.slow
needs_no_pyg_lib = pytest.mark.skipif(WITH_PYG_LIB or WITH_TORCH_SPARSE, reason="PyG's own loader can run here")


@pytest.fixture(scope="module")
def cora(data_root: Path) -> Data:
    data = wb.datasets.load("cora", root=data_root).to_pyg()
    data.x = data.x / data.x.sum(dim=1, keepdim=True).clamp(min=1)
    return data


@needs_no_pyg_lib
@pytest.mark.parametrize("loader", [PygNeighborLoader, PygLinkNeighborLoader])
def test_pygs_own_loader_fails_at_the_first_batch_here(cora: Data, loader: Any) -> None:
    with pytest.warns(UserWarning, match="without a 'pyg-lib' installation"):
        theirs = loader(cora, num_neighbors=[10, 5], batch_size=64)
    with pytest.raises(ImportError, match="requires either 'pyg-lib' or 'torch-sparse'"):
        next(iter(theirs))


class Sage(nn.Module):
    """Two layers, and inference layer by layer over a loader of single hops."""

    def __init__(self, in_channels: int, hidden: int, out_channels: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList([SAGEConv(in_channels, hidden), SAGEConv(hidden, out_channels)])

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for depth, layer in enumerate(self.layers):
            x = layer(x, edge_index)
            if depth == 0:
                x = F.dropout(x.relu(), 0.5, self.training)
        return x

    @torch.no_grad()
    def inference(self, x_all: Tensor, loader: Any) -> Tensor:
        for depth, layer in enumerate(self.layers):
            rows = []
            for batch in loader:
                x = layer(x_all[batch.n_id], batch.edge_index)[: batch.batch_size]
                rows.append(x.relu() if depth == 0 else x)
            x_all = torch.cat(rows)
        return x_all


def test_supervised_training_with_inference_layer_by_layer(cora: Data) -> None:
    torch.manual_seed(0)
    options = {"batch_size": 64, "num_workers": 2, "persistent_workers": True}
    train_loader = wb.NeighborLoader(cora, num_neighbors=[10, 5], input_nodes=cora.train_mask, shuffle=True, **options)
    whole_loader = wb.NeighborLoader(copy.copy(cora), num_neighbors=[-1], input_nodes=None, shuffle=False, **options)
    del whole_loader.data.x, whole_loader.data.y
    whole_loader.data.num_nodes = cora.num_nodes
    whole_loader.data.n_id = torch.arange(cora.num_nodes)
    model = Sage(cora.num_features, 64, int(cora.y.max()) + 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    for _ in range(25):
        model.train()
        seen = 0
        for batch in train_loader:
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)[: batch.batch_size]
            F.cross_entropy(out, batch.y[: batch.batch_size]).backward()
            optimizer.step()
            seen += batch.batch_size
        assert seen == len(train_loader.dataset) == int(cora.train_mask.sum())
    model.eval()
    layerwise = model.inference(cora.x, whole_loader)
    with torch.no_grad():
        assert torch.allclose(layerwise, model(cora.x, cora.edge_index), atol=1e-4)
    right = (layerwise.argmax(dim=1) == cora.y)[cora.test_mask]
    assert right.float().mean() > 0.76  # 0.80 with the whole graph in each step


def test_rows_that_no_later_layer_reads_can_be_trimmed(cora: Data) -> None:
    """Counts by hop and the order of edges are what ``trim_to_layer`` relies on."""
    torch.manual_seed(0)
    model = GraphSAGE(cora.num_features, 16, num_layers=3, out_channels=7).eval()
    loader = wb.NeighborLoader(cora, num_neighbors=[5, 5, 5], input_nodes=[9, 3, 9, 100, 3], batch_size=5)
    for batch in loader:
        counts = {
            "num_sampled_nodes_per_hop": batch.num_sampled_nodes,
            "num_sampled_edges_per_hop": batch.num_sampled_edges,
        }
        with torch.no_grad():
            trimmed = model(batch.x, batch.edge_index, **counts)[: batch.batch_size]
            whole = model(batch.x, batch.edge_index)[: batch.batch_size]
        assert torch.allclose(trimmed, whole, atol=1e-5)
        x, edge_index, _ = trim_to_layer(1, *counts.values(), batch.x, batch.edge_index)
        assert edge_index.max() < len(x) < batch.num_nodes


def test_unsupervised_training_on_links_gives_useful_embeddings(cora: Data) -> None:
    torch.manual_seed(0)
    loader = wb.LinkNeighborLoader(
        cora, batch_size=512, shuffle=True, neg_sampling_ratio=1.0, num_neighbors=[10, 10], num_workers=2
    )
    model = GraphSAGE(cora.num_features, hidden_channels=64, num_layers=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        for batch in loader:
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)
            source, destination = out[batch.edge_label_index]
            score = (source * destination).sum(dim=-1)
            F.binary_cross_entropy_with_logits(score, batch.edge_label).backward()
            optimizer.step()
    with torch.no_grad():
        embedding = F.normalize(model.eval()(cora.x, cora.edge_index))
    centres = torch.stack([embedding[cora.train_mask & (cora.y == c)].mean(dim=0) for c in range(7)])
    right = ((embedding @ centres.T).argmax(dim=1) == cora.y)[cora.test_mask]
    assert right.float().mean() > 0.55  # the largest class alone is 0.32


def area_under_curve(score: Tensor, label: Tensor) -> float:
    """Return the share of (positive, negative) pairs that are ranked right."""
    positive, negative = score[label == 1], score[label == 0]
    return float((positive[:, None] > negative).float().mean())


def test_link_prediction_ranks_held_out_links(cora: Data) -> None:
    torch.manual_seed(0)
    split = RandomLinkSplit(num_val=0.0, num_test=0.2, is_undirected=True, add_negative_train_samples=False)
    train, _, test = split(cora)
    loader = wb.LinkNeighborLoader(
        train,
        num_neighbors=[10, 10],
        edge_label_index=train.edge_label_index,
        neg_sampling={"mode": "triplet", "amount": 2},
        exclude_seed_edges=True,
        batch_size=512,
        shuffle=True,
    )
    model = GraphSAGE(cora.num_features, 64, num_layers=2, dropout=0.3)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(6):
        model.train()
        for batch in loader:
            optimizer.zero_grad()
            out = model(batch.x, batch.edge_index)
            source = out[batch.src_index]
            near = (source * out[batch.dst_pos_index]).sum(dim=-1, keepdim=True)
            far = (source[:, None] * out[batch.dst_neg_index]).sum(dim=-1)
            F.softplus(far - near).mean().backward()
            optimizer.step()
    with torch.no_grad():
        out = model.eval()(test.x, test.edge_index)
    source, destination = out[test.edge_label_index]
    assert area_under_curve((source * destination).sum(dim=-1), test.edge_label) > 0.75
