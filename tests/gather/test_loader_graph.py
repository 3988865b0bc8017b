"""NeighborLoader over a Graph: the batches of its PyG form, read from memory or from a mapped folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

from workbench.gather import LinkNeighborLoader, NeighborLoader
from workbench.graph import Graph

NUM_NODES, NUM_EDGES = 50, 300


@pytest.fixture(scope="module")
def graph() -> Graph:
    random = np.random.default_rng(0)
    return Graph.from_edge_index(
        random.integers(0, NUM_NODES, (2, NUM_EDGES)),
        NUM_NODES,
        x=random.normal(size=(NUM_NODES, 4)).astype(np.float32),
        y=random.integers(0, 3, NUM_NODES),
        train_nodes=np.arange(0, NUM_NODES, 3),
        node_data={"time": random.integers(0, 9, NUM_NODES), "label": [f"node {i}" for i in range(NUM_NODES)]},
        edge_data={"weight": random.random(NUM_EDGES), "attr": random.normal(size=(NUM_EDGES, 2))},
    )


def assert_same(ours: Any, theirs: Any) -> None:
    assert set(ours.keys()) == set(theirs.keys())
    for key in ours.keys():  # noqa: SIM118
        same = torch.equal if isinstance(theirs[key], torch.Tensor) else lambda a, b: a == b
        assert same(ours[key], theirs[key]), key


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("options", [{}, {"weight_attr": "edge_weight"}, {"time_attr": "time"}, {"num_workers": 2}])
def test_batches_are_those_of_its_pyg_form(graph: Graph, tmp_path: Path, mapped: bool, options: dict[str, Any]) -> None:
    source = Graph.open(graph.save(tmp_path / "graph")) if mapped else graph
    common = {"batch_size": 8, "shuffle": True, "rng_seed": 4, **options}
    data = graph.to_pyg()
    ours = list(NeighborLoader(source, [3, 3], graph.train_nodes, **common))
    theirs = list(NeighborLoader(data, [3, 3], data.train_mask.nonzero().flatten(), **common))
    assert len(ours) == len(theirs) == 3
    for ours_batch, theirs_batch in zip(ours, theirs, strict=True):
        assert_same(ours_batch, theirs_batch)
        assert torch.equal(data.edge_index[:, ours_batch.e_id], ours_batch.n_id[ours_batch.edge_index])


def test_link_batches_are_those_of_its_pyg_form(graph: Graph) -> None:
    options = {"batch_size": 64, "neg_sampling": "binary", "exclude_seed_edges": True, "rng_seed": 4}
    pairs = zip(
        LinkNeighborLoader(graph, [3], **options), LinkNeighborLoader(graph.to_pyg(), [3], **options), strict=True
    )
    for ours, theirs in pairs:
        assert_same(ours, theirs)


def test_sparse_features_are_read_as_dense_rows(graph: Graph) -> None:
    features = sparse.random(NUM_NODES, 20, density=0.2, format="csr", dtype=np.float32, rng=np.random.default_rng(1))
    (batch,) = NeighborLoader(graph.with_data(x=features), [2], batch_size=NUM_NODES)
    assert torch.equal(batch.x, torch.from_numpy(features.toarray())[batch.n_id])


def test_a_graph_without_features_or_split_gives_its_topology() -> None:
    graph = Graph.from_edge_index(np.array([[1, 0], [0, 1]]))
    (batch,) = NeighborLoader(graph, [2], batch_size=2)
    assert (batch.num_nodes, batch.num_edges) == (2, 2)
    assert "x" not in batch
