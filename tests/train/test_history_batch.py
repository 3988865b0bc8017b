"""Batches of histories have every in-edge of their nodes; what is read ahead of a write is read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from workbench.graph import Graph
from workbench.testing import graphs
from workbench.testing.rank_context import train_here
from workbench.train import resolve
from workbench.train.history import HistoryRows, Slot
from workbench.train.history_batch import ClusterDeal, batch_of, positions_at_owners
from workbench.train.history_share import SharedHistories
from workbench.train.thread_transport import run_in_threads
from workbench.train.transport import SoloTransport, Transport


@settings(max_examples=60, deadline=None)
@given(
    num_nodes=st.integers(1, 30), num_edges=st.integers(0, 90), num_batches=st.integers(1, 5), draw=st.integers(0, 99)
)
def test_batches_have_every_edge_once_and_keep_its_ends(
    num_nodes: int, num_edges: int, num_batches: int, draw: int
) -> None:
    rng = np.random.default_rng(draw)
    graph = Graph.from_edge_index(rng.integers(0, num_nodes, (2, num_edges)), num_nodes)
    owners, seen = rng.integers(0, num_batches, num_nodes), []
    for one in range(num_batches):
        batch = batch_of(graph, np.flatnonzero(owners == one))
        own, sources = batch.node_ids[: batch.num_own], batch.node_ids[batch.edge_index[0]]
        assert own.tolist() == np.flatnonzero(owners == one).tolist()
        assert len(set(batch.node_ids.tolist())) == len(batch.node_ids)
        assert not set(own.tolist()) & set(batch.halo_ids.tolist())
        assert set(batch.halo_ids.tolist()) <= set(sources.tolist())  # none that nobody reads
        assert sources.tolist() == graph.indices[batch.edge_ids].tolist()
        ends = np.searchsorted(graph.indptr, batch.edge_ids, side="right") - 1
        assert batch.node_ids[batch.edge_index[1]].tolist() == ends.tolist()
        seen += batch.edge_ids.tolist()
    assert sorted(seen) == list(range(graph.num_edges))


@pytest.mark.parametrize("num_ranks", [1, 2, 3])
def test_every_node_is_computed_once_an_epoch_by_its_owner(num_ranks: int) -> None:
    rng = np.random.default_rng(0)
    clusters = rng.integers(0, 7, 50).astype(np.int32)
    owned = [np.arange(7)[rank::num_ranks] for rank in range(num_ranks)]
    deals = [ClusterDeal(clusters, owned, 2, rank, rng_seed=3) for rank in range(num_ranks)]
    steps = deals[0].steps_per_epoch
    assert {deal.steps_per_epoch for deal in deals} == {steps}
    orders = []
    for epoch in (1, 2):
        nodes = [deal.own_nodes(epoch, step) for deal in deals for step in range(steps)]
        assert sorted(np.concatenate(nodes).tolist()) == list(range(50))
        orders.append([own.tolist() for own in nodes])
    assert orders[0] != orders[1]
    for rank, deal in enumerate(deals):
        assert all((deal.owners[deal.own_nodes(1, step)] == rank).all() for step in range(steps))


def test_positions_at_owners_ascend_with_ids() -> None:
    owners = np.array([1, 0, 1, 1, 0], np.int32)
    assert positions_at_owners(owners, 3).tolist() == [0, 0, 1, 2, 1]


def rows_of(num_rows: int) -> tuple[HistoryRows, Slot]:
    return HistoryRows(num_rows, 2, torch.float64, "memory"), Slot(index=1, layer=nn.Identity(), shape=(2,), first=0)


def test_what_is_written_after_it_was_read_ahead_is_read_again() -> None:
    rows, slot = rows_of(4)
    shared = SharedHistories(rows, np.zeros(4, np.int32), SoloTransport())
    ahead = shared.read_ahead(np.array([0, 2, 3]))
    rows.write(torch.tensor([2]), slot, torch.tensor([[5.0, 6.0]], dtype=torch.float64))
    rows.stamp(torch.tensor([2]), 7)
    found, written = shared.pull(np.array([0, 2, 3]), ahead)
    assert found.tolist() == [[0, 0], [5, 6], [0, 0]]
    assert written.tolist() == [0, 7, 0]


def test_ranks_ask_owners_for_rows() -> None:
    """Three ranks, one without a node: each gets the rows and steps of any nodes, whoever holds them."""
    owners = np.array([0, 2, 2, 0, 2], np.int32)
    wanted = [np.array([1, 3, 4]), np.array([0, 1]), np.zeros(0, np.int64)]

    def rank(transport: Transport) -> tuple[list[Any], list[int]]:
        own = np.flatnonzero(owners == transport.rank)
        rows, slot = rows_of(len(own))
        values = torch.from_numpy(np.stack([own, own * 10], axis=1).astype(np.float64))
        rows.write(torch.arange(len(own)), slot, values)
        rows.stamp(torch.arange(len(own)), transport.rank + 1)
        shared, ids = SharedHistories(rows, owners, transport), wanted[transport.rank]
        found, written = shared.pull(ids, shared.read_ahead(ids))
        return found.tolist(), written.tolist()

    results = run_in_threads(3, rank, through_memory=True)
    for ids, (found, written) in zip(wanted, results, strict=True):
        assert found == [[node, 10 * node] for node in ids.tolist()]
        assert written == [int(owners[node]) + 1 for node in ids.tolist()]


def test_a_file_holds_the_same_as_memory_and_goes_away(tmp_path: Path) -> None:
    rows = HistoryRows(3, 2, torch.float32, "mmap", tmp_path, rank=1)
    assert [path.name for path in tmp_path.iterdir()] == ["rank1.rows"]
    rows.write(torch.tensor([1]), Slot(index=1, layer=nn.Identity(), shape=(2,), first=0), torch.ones(1, 2))
    assert rows.rows.tolist() == [[0, 0], [1, 1], [0, 0]]
    assert rows.num_bytes == 24
    rows.close()
    assert not list(tmp_path.iterdir())


def test_pinned_memory_without_a_gpu_is_plain_memory_and_said(tmp_path: Path) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    words: dict[str, Any] = {"epochs": 1, "num_clusters": 3, "clusters_per_batch": 1, "partitioner": "hash"}
    run = train_here(resolve(graphs.random(40, 90), "gcn", "historical", history="pinned", **words), tmp_path)
    assert any("plain memory" in log["text"] for log in run.told("log_written"))


def test_rows_of_another_model_are_refused() -> None:
    from workbench.core.errors import RunError

    rows, _ = rows_of(3)
    with pytest.raises(RunError, match=r"expected rows of shape \(3, 2\); got \(3, 5\)"):
        rows.load_state_dict({"rows": torch.zeros(3, 5), "written": torch.zeros(3, dtype=torch.int64)})
