"""Mini-batches on a partitioned graph: seeds stay with their owner, remote rows are fetched and counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.gather import Batch, BatchMaker, BatchPlan
from workbench.gather.rows import RowStore, features_of
from workbench.gather.stores.partitioned import PartitionedRows, owners_in
from workbench.graph import Graph
from workbench.partition import Partition, partition
from workbench.partition.local import open_part
from workbench.sampling import SAMPLERS
from workbench.testing import graphs
from workbench.testing.rank_context import train_here
from workbench.testing.sampler_cases import cases, sampler_of, with_columns
from workbench.train import Transport, resolve
from workbench.train.strategies.partitioned_mini_batch import ArrayPeers
from workbench.train.thread_transport import run_in_threads

NewFolder = Callable[[], Path]
WORDS: dict[str, Any] = {"hidden_channels": 8, "dropout": 0.0, "fanouts": (3, 2)}


@pytest.fixture(scope="module")
def graph() -> Graph:
    return with_columns(graphs.random(120, 400))


def uneven(graph: Graph, num_parts: int) -> Partition:
    """Return a partition whose last part has most of the nodes."""
    made = partition(graph, num_parts, "contiguous")
    assignment = np.full(graph.num_nodes, num_parts - 1, np.int32)
    for part in range(num_parts - 1):
        assignment[7 * part : 7 * part + 7] = part
    return Partition(
        graph=graph, assignment=assignment, num_parts=num_parts, method="by hand", fingerprint=made.fingerprint
    )


def plan_of(graph: Graph, folder: Path, num_parts: int, batch_size: int, **sampler: Any) -> BatchPlan:
    return BatchPlan(
        folder=str(graph.store()),
        sampler={"name": "neighbor", "params": {"fanouts": (3, 2), **sampler}},
        store=None,
        batch_size=batch_size,
        world_size=num_parts,
        parts_folder=str(folder),
    )


def epoch_of(maker: BatchMaker, epoch: int, rank: int) -> Iterator[Batch]:
    for step in range(maker.steps_per_epoch):
        yield maker.make(epoch=epoch, step=step + 1, step_in_epoch=step, rank=rank)


@pytest.mark.parametrize("num_parts", [1, 2, 3, 4])
@pytest.mark.parametrize("batch_size", [4, 11, 1000])
def test_seeds_stay_with_their_owner_and_come_once_an_epoch(
    num_parts: int, batch_size: int, graph: Graph, tmp_path: Path
) -> None:
    parts = uneven(graph, num_parts)
    maker = BatchMaker(plan_of(graph, parts.write_parts(tmp_path / "parts"), num_parts, batch_size))
    sizes = np.bincount(parts.assignment[graph.train_nodes], minlength=num_parts)
    assert maker.steps_per_epoch == -(-sizes.max() // batch_size)
    seen = []
    for rank in range(num_parts):
        batches = list(epoch_of(maker, 1, rank))
        counts = [batch.num_seeds for batch in batches]
        assert max(counts) - min(counts) <= 1, "smaller batches rather than missing ones"
        assert max(counts) <= batch_size
        seeds = np.concatenate([batch.node_ids[: batch.num_seeds] for batch in batches])
        assert np.array_equal(np.sort(seeds), graph.train_nodes[parts.assignment[graph.train_nodes] == rank])
        again = np.concatenate([batch.node_ids[: batch.num_seeds] for batch in epoch_of(maker, 2, rank)])
        assert len(seeds) < 5 or not np.array_equal(seeds, again)
        seen.append(seeds)
    assert np.array_equal(np.sort(np.concatenate(seen)), graph.train_nodes)


@pytest.mark.parametrize("kind", ["dense", "sparse", "none"])
@pytest.mark.parametrize("num_parts", [1, 2, 4])
def test_rows_are_those_of_the_graph_whoever_owns_them(num_parts: int, kind: str, tmp_path: Path) -> None:
    from scipy import sparse

    graph = graphs.random(60, 150)
    x = np.array(graph.x)
    if kind != "dense":
        x = np.maximum(x, 0) if kind == "sparse" else x[:, :0]
        graph = Graph.from_edge_index(
            graph.edge_index(), graph.num_nodes, x=sparse.csr_matrix(x) if kind == "sparse" else None
        )
    parts = uneven(graph, num_parts)
    folder = parts.write_parts(tmp_path / "parts")
    owners = owners_in(folder, num_parts, graph.num_nodes)
    assert np.array_equal(owners, parts.assignment)
    asked = [[np.array([59, 3, 3, 0, 17]), np.zeros(0, np.int64), np.arange(60)[::-1].copy()] for _ in range(num_parts)]
    asked[-1] = [np.arange(5), np.arange(40, 60), np.zeros(0, np.int64)]

    def rank(transport: Transport) -> tuple[Any, ...]:
        rows = PartitionedRows(open_part(folder, transport.rank), owners, ArrayPeers(transport))
        found = [rows.gather(ids) for ids in asked[transport.rank]]
        return found, rows.num_local, rows.num_remote, transport.take_bytes()

    results = run_in_threads(num_parts, rank)
    sent: dict[str, int] = {}
    for ids, (found, num_local, num_remote, moved) in zip(asked, results, strict=True):
        for wanted, rows in zip(ids, found, strict=True):
            assert rows.dtype == np.float32
            assert np.array_equal(rows, x[wanted])
        assert num_local + num_remote == sum(map(len, ids))
        sent = {name: sent.get(name, 0) + moved.get(name, 0) for name in {*sent, *moved}}
    remote = sum(result[2] for result in results)
    assert (remote > 0) == (num_parts > 1)
    assert sent.get("gather_remote", 0) == remote * x.shape[1] * 4
    assert sent.get("request", 0) == remote * 8


def test_halo_rows_too_come_from_their_owner(graph: Graph, tmp_path: Path) -> None:
    """What a part's folder keeps of others' nodes is not read: bytes are those of all nodes not owned."""
    parts = partition(graph, 2, "hash")
    folder = parts.write_parts(tmp_path / "parts")
    halo = open_part(folder, 0).halo_nodes
    owners = owners_in(folder, 2, graph.num_nodes)

    def rank(transport: Transport) -> int:
        rows = PartitionedRows(open_part(folder, transport.rank), owners, ArrayPeers(transport))
        rows.gather(np.asarray(halo) if transport.rank == 0 else halo[:0])
        return rows.num_remote

    assert run_in_threads(2, rank) == [len(halo), 0]


@pytest.mark.parametrize("trainers", [1, 2, 3, 4])
def test_rows_of_a_run_are_local_or_remote_and_all_are_counted(
    trainers: int, graph: Graph, new_folder: NewFolder
) -> None:
    made = uneven(graph, trainers)
    words = {**WORDS, "batch_size": 9, "epochs": 2, "trainers": trainers, "partition": made}
    run = train_here(resolve(graph, "sage", "partitioned_mini_batch", **words), new_folder())
    assert all(outcome.status == "finished" for outcome in run.outcomes)
    steps, width = run.told("step_finished"), graph.num_features * 4
    assert sum(step["num_seeds"] for step in steps) == 2 * len(graph.train_nodes)
    assert len({len(run.told("step_finished", rank=rank)) for rank in range(trainers)}) == 1
    moved = {kind: sum(step["bytes"].get(kind, 0) for step in steps) for kind in ("gather", "gather_remote")}
    assert moved["gather"] + moved["gather_remote"] == width * sum(step["num_nodes"] for step in steps)
    assert (moved["gather_remote"] > 0) == (trainers > 1)
    told = run.told("epoch_finished")
    assert sum(epoch["bytes"].get("gather_remote", 0) for epoch in told) == moved["gather_remote"]


def test_one_part_is_mini_batch_bit_by_bit(graph: Graph, new_folder: NewFolder) -> None:
    words = {**WORDS, "batch_size": 20, "epochs": 3}
    plain = train_here(resolve(graph, "sage", "mini_batch", **words), new_folder())
    parted = train_here(resolve(graph, "sage", "partitioned_mini_batch", **words), new_folder())
    assert parted.losses == plain.losses
    assert np.array_equal(np.load(parted.folder / "predictions.npy"), np.load(plain.folder / "predictions.npy"))


def test_a_step_on_all_seeds_is_the_same_however_they_are_parted(graph: Graph, new_folder: NewFolder) -> None:
    """All neighbours, one step an epoch: the gradient of the full batch, whoever owns which seed."""
    words = {"hidden_channels": 8, "dropout": 0.0, "sampler": "full", "num_hops": 2, "epochs": 3}
    whole = train_here(resolve(graph, "sage", "full_graph", hidden_channels=8, dropout=0.0, epochs=3), new_folder())
    for made in (uneven(graph, 3), partition(graph, 3, "metis")):
        resolved = resolve(graph, "sage", "partitioned_mini_batch", trainers=3, partition=made, **words)
        run = train_here(resolved, new_folder())
        assert run.losses == pytest.approx(whole.losses, rel=1e-5)


@pytest.mark.parametrize("case", cases(draws_seeds=False))
def test_every_sampler_that_follows_seeds_works(case: str, graph: Graph, new_folder: NewFolder) -> None:
    words = {"sampler": sampler_of(case), "trainers": 2, "partition": "hash", "batch_size": 16, "epochs": 1}
    resolved = resolve(graph, "gcn", "partitioned_mini_batch", hidden_channels=4, evaluate_every=0, **words)
    run = train_here(resolved, new_folder())
    assert run.outcomes[0].status == "finished"
    assert np.isfinite(run.losses).all()


@pytest.mark.parametrize("name", ["cluster", "saint_node", "saint_edge", "saint_walk"])
def test_a_sampler_that_draws_its_seeds_is_refused(name: str, graph: Graph) -> None:
    assert SAMPLERS.entry(name).factory.draws_seeds
    with pytest.raises(InputError, match="rank's own part"):
        resolve(graph, "gcn", "partitioned_mini_batch", sampler=name, partition="hash", epochs=1)


def test_three_training_nodes_on_four_ranks_join_with_zeros(new_folder: NewFolder) -> None:
    graph = graphs.random(40, 120).with_data(train_nodes=np.array([0, 2, 4]))
    words = {**WORDS, "trainers": 4, "partition": "contiguous", "batch_size": 1, "epochs": 2}
    run = train_here(resolve(graph, "sage", "partitioned_mini_batch", **words), new_folder())
    assert sum(step["num_seeds"] for step in run.told("step_finished")) == 6
    assert {len(run.told("step_finished", rank=rank)) for rank in range(4)} == {6}


def test_a_plan_without_a_store_gives_batches_without_features(graph: Graph, tmp_path: Path) -> None:
    folder = partition(graph, 2, "hash").write_parts(tmp_path / "parts")
    plan = BatchPlan.from_json(plan_of(graph, folder, 2, 10).to_json())
    batch = Batch.from_arrays(BatchMaker(plan).make(epoch=1, step=1, rank=1).to_arrays())
    assert batch.x.shape == (batch.num_nodes, 0)
    rows = RowStore(features_of(graph)).gather(batch.node_ids)
    assert rows.shape == (batch.num_nodes, graph.num_features)
