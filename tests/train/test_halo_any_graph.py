"""Halo exchange on graphs and partitions that nobody would choose: no edge, one node, parts without a node, parallel
edges, loops."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.nn import BatchNorm, ChebConv, GATConv, GCNConv, SAGEConv, SGConv

from tests.train.halo_runs import by_hand, on_parts, on_the_whole_graph
from workbench.graph import Graph

WIDTH, CLASSES = 3, 2


class Everything(nn.Module):
    """Every kind of call: with a pair, by degrees, by out-degrees, several in a layer; a norm over all ranks."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.sage, self.gcn, self.cheb = SAGEConv(WIDTH, WIDTH), GCNConv(WIDTH, WIDTH), ChebConv(WIDTH, WIDTH, K=3)
        self.sgc, self.gat, self.norm = SGConv(WIDTH, WIDTH, K=2), GATConv(WIDTH, CLASSES), BatchNorm(WIDTH)
        self.double()

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor) -> Tensor:
        x = self.sage(x, edge_index) + self.gcn(x, edge_index, edge_weight)
        x = x + self.cheb(x, edge_index, edge_weight)
        x = self.norm(self.sgc(x, edge_index, edge_weight))
        out: Tensor = self.gat(x, edge_index)
        return out


@st.composite
def divided(draw: st.DrawFn) -> tuple[Graph, list[int], int]:
    num_nodes, num_parts = draw(st.integers(2, 7)), draw(st.integers(1, 4))
    node = st.integers(0, num_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node), max_size=14))
    weights = draw(st.lists(st.floats(0.25, 2.0, width=16), min_size=len(edges), max_size=len(edges)))
    owners = draw(st.lists(st.integers(0, num_parts - 1), min_size=num_nodes, max_size=num_nodes))
    train_nodes = draw(st.lists(node, min_size=1, max_size=num_nodes, unique=True))
    rng = np.random.default_rng(0)
    graph = Graph.from_edge_index(
        np.array(edges, np.int64).reshape(-1, 2).T,
        num_nodes,
        x=rng.normal(size=(num_nodes, WIDTH)).astype(np.float32),
        y=rng.integers(0, CLASSES, num_nodes),
        train_nodes=np.sort(train_nodes),
        num_classes=CLASSES,
        edge_data={"weight": np.array(weights, np.float32)},
    )
    return graph, owners, num_parts


@settings(max_examples=30)
@given(divided())
def test_any_partition_of_any_graph_gives_what_one_process_gives(case: tuple[Graph, list[int], int]) -> None:
    graph, owners, num_parts = case
    module = Everything()
    expected = on_the_whole_graph(module, graph)
    with tempfile.TemporaryDirectory() as folder:
        by_hand(graph, owners, num_parts).write_parts(folder)
        for found in on_parts(module, Path(folder), num_parts):
            # Two rows of BatchNorm may be equal but for rounding, which it divides by its root of epsilon.
            assert max(found.differences(expected).values()) < 1e-8
