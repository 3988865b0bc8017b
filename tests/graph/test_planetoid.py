"""Planetoid: read where it lies, equal to PyG's own reading, and nothing but arrays is unpickled."""

from __future__ import annotations

import io
import pickle
import shutil
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from workbench.core.errors import InputError
from workbench.graph import datasets
from workbench.graph.datasets.planetoid import unpickle


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "features", "classes", "train"),
    [("cora", 2_708, 10_556, 1_433, 7, 140), ("pubmed", 19_717, 88_648, 500, 3, 60)],
)
def test_counts(data_root: Path, name: str, nodes: int, edges: int, features: int, classes: int, train: int) -> None:
    graph = datasets.load(name, root=data_root)
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (
        nodes,
        edges,
        features,
        classes,
    )
    assert [len(graph.train_nodes), len(graph.val_nodes), len(graph.test_nodes)] == [train, 500, 1000]
    assert graph.y is not None
    assert np.bincount(graph.y[graph.train_nodes]).tolist() == [20] * classes
    assert graph.is_symmetric()


@pytest.mark.parametrize("normalize", [False, True])
def test_cora_equals_what_pyg_reads(data_root: Path, tmp_path: Path, normalize: bool) -> None:
    import torch
    from torch_geometric.datasets import Planetoid
    from torch_geometric.transforms import NormalizeFeatures

    shutil.copytree(data_root / "planetoid" / "Cora", tmp_path / "Cora", copy_function=shutil.copyfile)
    theirs = Planetoid(str(tmp_path), "Cora", transform=NormalizeFeatures() if normalize else None)[0]
    ours = datasets.load("cora", root=data_root, normalize_features=normalize).to_pyg()
    assert torch.equal(ours.edge_index, theirs.edge_index)
    for key in ("y", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(ours[key], theirs[key]), key
    torch.testing.assert_close(ours.x, theirs.x)


@pytest.mark.parametrize("below", ["", "planetoid", "planetoid/Cora", "planetoid/Cora/raw"])
def test_the_files_are_found_in_any_usual_folder_and_left_alone(data_root: Path, below: str) -> None:
    before = sorted(path.name for path in (data_root / "planetoid").rglob("*"))
    assert datasets.load("cora", root=data_root / below).num_nodes == 2_708
    assert sorted(path.name for path in (data_root / "planetoid").rglob("*")) == before


def test_missing_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ind\.cora\.x to ind\.cora\.test\.index"):
        datasets.load("cora", root=tmp_path)


def test_ids_that_the_test_index_lacks_are_nodes_without_features(tmp_path: Path) -> None:
    def write(part: str, value: object) -> None:
        (tmp_path / f"ind.citeseer.{part}").write_bytes(pickle.dumps(value, protocol=4))

    known, tested = np.eye(3, 4, dtype=np.float32), np.full((2, 4), 7, np.float32)
    labels = np.eye(2, dtype=np.int32)
    for part, rows, targets in (("x", known[:2], labels), ("allx", known, labels[[0, 1, 1]]), ("tx", tested, labels)):
        write(part, sparse.csr_matrix(rows))
        write(part.replace("x", "y"), targets)
    write("graph", defaultdict(list, {0: [1, 1, 0], 1: [0], 5: [2], 2: [5]}))
    (tmp_path / "ind.citeseer.test.index").write_text("5\n3\n")
    with pytest.raises(InputError, match="val_nodes"):  # a toy has fewer than 500 validation nodes
        datasets.load("citeseer", root=tmp_path)
    from workbench.graph.datasets.planetoid import PARTS, _edges, _read, _rows

    parts = {part: _read(tmp_path / f"ind.citeseer.{part}") for part in PARTS}
    x, y, test = _rows(parts)
    assert x.tolist() == [*known.tolist(), [7] * 4, [0] * 4, [7] * 4]
    assert y.tolist() == [0, 1, 1, 1, -1, 0]
    assert test.tolist() == [3, 5]
    assert _edges(parts["graph"]).tolist() == [[1, 0, 5, 2], [0, 1, 2, 5]]


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("this must never run",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_pickle_that_names_anything_else_is_refused(
    protocol: int, tmp_path: Path, data_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(pickle.UnpicklingError, match="print"):
        unpickle(io.BytesIO(pickle.dumps(Evil(), protocol=protocol)))
    shutil.copytree(data_root / "planetoid" / "Cora" / "raw", tmp_path / "raw", copy_function=shutil.copyfile)
    (tmp_path / "raw" / "ind.cora.graph").write_bytes(pickle.dumps({0: Evil()}, protocol=protocol))
    with pytest.raises(InputError, match="print"):
        datasets.load("cora", root=tmp_path)
    assert capsys.readouterr().out == ""


def test_without_root_pyg_downloads_or_the_error_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, data_root: Path
) -> None:
    import torch_geometric.datasets as pyg

    def offline(root: str, name: str) -> None:
        raise OSError("no network")

    monkeypatch.setattr(pyg, "Planetoid", offline)
    with pytest.raises(InputError, match=r"no network.*pass root="):
        datasets.load("cora")

    def online(root: str, name: str) -> None:
        raw = Path(root) / name / "raw"
        shutil.copytree(data_root / "planetoid" / "Cora" / "raw", raw, copy_function=shutil.copyfile)

    monkeypatch.setattr(pyg, "Planetoid", online)
    assert datasets.load("cora").num_nodes == 2_708
