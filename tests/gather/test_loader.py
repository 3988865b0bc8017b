"""NeighborLoader: the batches are PyG's, field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import k_hop_subgraph

from workbench.gather import NeighborLoader
from workbench.gather.loader_draw import DrawKey
from workbench.testing.pyg_reference import reference_of

NUM_NODES, NUM_EDGES = 60, 300


@pytest.fixture
def data() -> Data:
    """Parallel edges, self-loops, isolated nodes at the end, and columns of every kind."""
    torch.manual_seed(0)
    return Data(
        x=torch.randn(NUM_NODES, 3),
        y=torch.arange(NUM_NODES),
        edge_index=torch.randint(0, NUM_NODES - 5, (2, NUM_EDGES)),
        edge_attr=torch.arange(NUM_EDGES),
        edge_kind=torch.randn(NUM_EDGES, 2),
        train_mask=torch.arange(NUM_NODES) % 3 == 0,
        position=torch.randn(NUM_NODES, 2),
        title="a graph",
        scale=torch.tensor([2.0]),
        num_nodes=NUM_NODES,
    )


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, torch.Tensor):
        return ours.dtype == theirs.dtype and torch.equal(ours, theirs)
    return type(ours) is type(theirs) and bool(ours == theirs)


def assert_same_batch(ours: Data, theirs: Data) -> None:
    assert set(ours.keys()) == set(theirs.keys())
    different = {key: (ours[key], theirs[key]) for key in ours.keys() if not same(ours[key], theirs[key])}  # noqa: SIM118
    assert different == {}


def batches(loader: Any) -> Iterator[Data]:
    count = 0
    for batch in loader:
        count += 1
        yield batch
    assert count == len(loader)


@pytest.mark.parametrize("input_nodes", [None, "mask", [5, 3, 59, 3, 58]], ids=["all", "mask", "list"])
@pytest.mark.parametrize("subgraph_type", ["directional", "bidirectional", "induced"])
@pytest.mark.parametrize("disjoint", [False, True])
def test_batches_have_what_pyg_gives_them(data: Data, input_nodes: Any, subgraph_type: str, disjoint: bool) -> None:
    seeds = data.train_mask if input_nodes == "mask" else input_nodes
    options = {"subgraph_type": subgraph_type, "disjoint": disjoint, "batch_size": 4}
    loader = NeighborLoader(data, [-1, -1], seeds, **options)
    key = DrawKey(rng_seed=0, epoch=0, batch=0)  # whole neighbourhoods: the key decides nothing
    for ours, theirs in zip(batches(loader), reference_of(loader, key, batch_size=4), strict=True):
        assert_same_batch(ours, theirs)


def test_whole_neighbourhoods_are_those_of_k_hop_subgraph(data: Data) -> None:
    for batch in batches(NeighborLoader(data, [-1, -1], [7, 11, 13], batch_size=2)):
        nodes, edge_index, _, mask = k_hop_subgraph(
            batch.n_id[: batch.batch_size], 2, data.edge_index, num_nodes=NUM_NODES
        )
        assert set(batch.n_id.tolist()) == set(nodes.tolist())
        sampled = set(batch.e_id.tolist())
        # The subgraph of k_hop_subgraph is induced; an edge into a node of the last hop is not among the sampled ones.
        inner = set(batch.n_id[: sum(batch.num_sampled_nodes[:-1])].tolist())
        expected = {e for e in mask.nonzero().flatten().tolist() if int(data.edge_index[1, e]) in inner}
        assert sampled == expected
        assert edge_index.shape[1] >= len(sampled)


def test_edges_are_edges_of_the_graph_by_their_original_ids(data: Data) -> None:
    for batch in batches(NeighborLoader(data, [4, 3], batch_size=7, rng_seed=1)):
        assert torch.equal(data.edge_index[:, batch.e_id], batch.n_id[batch.edge_index])
        assert torch.equal(batch.edge_attr, batch.e_id)
        assert torch.equal(batch.edge_kind, data.edge_kind[batch.e_id])
        assert torch.equal(batch.x, data.x[batch.n_id])
        assert torch.equal(batch.train_mask, data.train_mask[batch.n_id])
        assert (batch.title, batch.scale.item()) == ("a graph", 2.0)
        assert len(batch.e_id.unique()) == len(batch.e_id)


def test_counts_by_hop_add_up_and_bound_the_edges(data: Data) -> None:
    for batch in batches(NeighborLoader(data, [4, 3], batch_size=7)):
        assert (len(batch.num_sampled_nodes), len(batch.num_sampled_edges)) == (3, 2)
        assert sum(batch.num_sampled_nodes) == batch.num_nodes
        assert sum(batch.num_sampled_edges) == batch.num_edges
        first = batch.num_sampled_edges[0]
        assert (batch.edge_index[1, :first] < batch.batch_size).all()
        assert (batch.edge_index[1, first:] >= batch.batch_size).all()
        assert (batch.edge_index[1].bincount() <= 4).all()
        assert (batch.edge_index[1].diff() >= 0).all()


def test_sampling_with_replacement_draws_the_fanout(data: Data) -> None:
    batch = next(iter(NeighborLoader(data, [20], replace=True, batch_size=NUM_NODES)))
    drawn = batch.edge_index[1].bincount(minlength=NUM_NODES)[:NUM_NODES]
    degree = data.edge_index[1].bincount(minlength=NUM_NODES)
    assert torch.equal(drawn, torch.where(degree > 0, 20, 0))


def test_columns_are_read_when_a_batch_is_made(data: Data) -> None:
    """PyG's examples delete features from ``loader.data`` and add their own columns."""
    loader = NeighborLoader(data.clone(), [-1], batch_size=10)
    del loader.data.x
    loader.data.place = torch.arange(NUM_NODES)
    batch = next(iter(loader))
    assert "x" not in batch
    assert torch.equal(batch.place, batch.n_id)
    assert "x" in data


def test_it_is_a_dataloader_with_its_attributes(data: Data) -> None:
    loader = NeighborLoader(data, [2], batch_size=16, drop_last=True, num_workers=6, persistent_workers=True)
    assert isinstance(loader, torch.utils.data.DataLoader)
    assert (len(loader), len(loader.dataset), loader.batch_size, loader.num_workers) == (3, NUM_NODES, 16, 6)
    assert [batch.batch_size for batch in loader] == [16, 16, 16]


def test_a_call_makes_the_batch_of_the_inputs_at_those_positions(data: Data) -> None:
    loader = NeighborLoader(data, [2], input_nodes=data.train_mask)
    for index in ([4, 0], torch.tensor([4, 0])):
        batch = loader(index)
        assert batch.n_id[:2].tolist() == batch.input_id.tolist() == [12, 0]


def test_samplers_of_torch_choose_the_inputs(data: Data) -> None:
    chosen = torch.utils.data.SubsetRandomSampler(range(5))
    loader = NeighborLoader(data, [2], sampler=chosen, batch_size=2)
    assert sorted(int(i) for batch in loader for i in batch.input_id) == [0, 1, 2, 3, 4]
    loader = NeighborLoader(data, [2], batch_sampler=[[3], [1, 2, 59]])
    assert [batch.input_id.tolist() for batch in loader] == [[3], [1, 2, 59]]


def test_transforms_see_the_sample_and_the_batch(data: Data) -> None:
    def without_last_hop(out: Any) -> Any:
        kept = out.num_sampled_edges[0]
        out.row, out.col, out.edge = out.row[:kept], out.col[:kept], out.edge[:kept]
        return out

    def named(batch: Data) -> Data:
        batch.title = "batch"
        return batch

    options = {"transform": named, "transform_sampler_output": without_last_hop}
    for workers, filters in ((0, None), (2, None), (2, True), (2, False)):
        loader = NeighborLoader(data, [3, 3], num_workers=workers, filter_per_worker=filters, batch_size=20, **options)
        for batch in batches(loader):
            assert batch.title == "batch"
            assert batch.num_edges == batch.num_sampled_edges[0] == len(batch.edge_attr)
