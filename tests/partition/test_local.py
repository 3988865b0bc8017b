from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.partition.conftest import random_out_graph
from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.graph.sparse_rows import SparseRows
from workbench.partition import Partition, open_part, partition


@pytest.fixture
def graph() -> Graph:
    bare = random_out_graph(60, 4)
    rng = np.random.default_rng(1)
    return bare.with_data(
        x=rng.random((60, 5), dtype=np.float32),
        y=rng.integers(0, 3, 60),
        train_nodes=np.arange(0, 60, 3),
        test_nodes=np.arange(1, 60, 3),
        edge_data={"weight": rng.random(bare.num_edges)},
    )


@pytest.fixture
def made(graph: Graph) -> Partition:
    return partition(graph, 4, "metis")


def test_all_parts_at_once_are_each_part_alone(made: Partition) -> None:
    for part in made.parts():
        alone = made.part(part.id)
        for name in ("inner_nodes", "halo_nodes", "boundary_nodes"):
            assert np.array_equal(getattr(part, name), getattr(alone, name))


def test_parts_put_together_are_the_graph(graph: Graph, made: Partition, tmp_path: Path) -> None:
    folder = made.write_parts(tmp_path / "parts")
    seen_edges, seen_nodes, seen_train = [], [], []
    for number in range(4):
        part = open_part(folder, number)
        local, expected = part.graph, made.part(number)
        assert np.array_equal(part.inner_nodes, expected.inner_nodes)
        assert np.array_equal(np.sort(part.halo_nodes), expected.halo_nodes)
        source, destination = local.edge_index()
        assert destination.max() < part.num_inner
        assert np.array_equal(graph.edge_index()[:, part.edge_ids], part.node_ids[np.stack([source, destination])])
        assert np.array_equal(local.x, graph.x[part.node_ids])
        assert np.array_equal(local.y, graph.y[part.node_ids])
        assert np.array_equal(local.edge_data["weight"], graph.edge_data["weight"][part.edge_ids])
        assert np.array_equal(part.in_degrees, graph.in_degrees()[part.node_ids])
        assert local.train_nodes.max() < part.num_inner
        assert local.num_classes == graph.num_classes
        assert part.fingerprint == graph.fingerprint
        seen_edges.append(part.edge_ids)
        seen_nodes.append(part.inner_nodes)
        seen_train.append(part.node_ids[local.train_nodes])
    assert np.array_equal(np.sort(np.concatenate(seen_edges)), np.arange(graph.num_edges))
    assert np.array_equal(np.sort(np.concatenate(seen_nodes)), np.arange(60))
    assert np.array_equal(np.sort(np.concatenate(seen_train)), graph.train_nodes)


def test_what_one_part_sends_is_what_another_reads_in_its_order(made: Partition, tmp_path: Path) -> None:
    folder = made.write_parts(tmp_path / "parts")
    parts = [open_part(folder, number) for number in range(4)]
    for reader in parts:
        for owner in parts:
            read = reader.halo_nodes[reader.halo_starts[owner.id] : reader.halo_starts[owner.id + 1]]
            local = owner.send_nodes[owner.send_starts[reader.id] : owner.send_starts[reader.id + 1]]
            assert np.array_equal(owner.node_ids[local], read)


def test_a_worker_opens_its_part_alone(made: Partition, tmp_path: Path) -> None:
    folder = made.write_parts(tmp_path / "parts")
    for other in (0, 1, 3):
        shutil.rmtree(folder / f"part-000{other}")
    assert open_part(folder, 2).num_inner == len(made.part(2).inner_nodes)
    assert isinstance(open_part(folder, 2).graph.indices.base, np.memmap)
    with pytest.raises(InputError, match="a part that write_parts wrote"):
        open_part(folder, 0)


def test_sparse_features_stay_sparse(graph: Graph, tmp_path: Path) -> None:
    from scipy import sparse

    rows = SparseRows.from_scipy(sparse.random(60, 40, density=0.1, random_state=0))
    made = partition(graph.with_data(x=rows), 3, "hash")
    part = open_part(made.write_parts(tmp_path / "parts"), 1)
    assert isinstance(part.graph.x, SparseRows)
    assert np.array_equal(part.graph.x[np.arange(len(part.node_ids))], rows[part.node_ids])


def test_writing_again_replaces_and_a_foreign_folder_is_refused(made: Partition, tmp_path: Path) -> None:
    folder = made.write_parts(tmp_path / "parts")
    partition(made.graph, 2, "hash").write_parts(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["part-0000", "part-0001", "parts.json"]
    assert open_part(folder, 0).num_parts == 2
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(InputError, match="choose another folder"):
        made.write_parts(tmp_path / "mine")


def test_a_part_without_halo_or_edges_round_trips(tmp_path: Path) -> None:
    lonely = Graph.from_edge_index(np.zeros((2, 0), dtype=np.int64), 4)
    part = open_part(partition(lonely, 2, "contiguous").write_parts(tmp_path / "parts"), 1)
    assert part.inner_nodes.tolist() == [2, 3]
    assert len(part.halo_nodes) == len(part.edge_ids) == 0
