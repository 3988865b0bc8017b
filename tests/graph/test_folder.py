"""Graph folders: whole or not there, mapped, checked; and the store that ranks map."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.graph import Graph, SparseRows
from workbench.graph.folder import HEADER
from workbench.testing.graphs import NAMED, assert_same, karate, path, random


@pytest.mark.parametrize("name", NAMED)
def test_a_folder_gives_back_the_graph(name: str, tmp_path: Path) -> None:
    graph = NAMED[name]()
    folder = graph.save(tmp_path / "graph")
    opened = Graph.open(folder, verify=True)
    assert_same(graph, opened)
    assert opened.folder == folder
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph"]


def test_everything_a_graph_can_carry_comes_back(tmp_path: Path) -> None:
    rows = SparseRows(
        indptr=np.array([0, 1, 2, 2], np.int32),
        indices=np.array([4, 0], np.uint16),
        values=np.array([1.5, 2], np.float32),
        num_columns=5,
    )
    graph = Graph.from_edge_index(
        [[2, 0, 1], [0, 1, 0]],
        x=rows,
        y=[[0.5, 1], [2, 3], [4, 5]],
        test_nodes=[1],
        node_data={"a/b ü": ["one", "zwei", "three"], "..": [1, 2, 3]},
        edge_data={"weight": [0.5, 1.5, 2.5], "attr": np.ones((3, 2))},
        node_names=["a", "<b>", "c\nd"],
        class_names=["low", "hoch"],
        name="müsli / 1",
        meta={"source": "test", "numbers": [1, 2]},
    )
    opened = Graph.open(graph.save(tmp_path / "g"), verify=True)
    assert_same(graph, opened)
    assert opened.node_names is not None
    assert opened.node_names.tolist() == ["a", "<b>", "c\nd"]
    assert opened.node_data["a/b ü"].tolist() == ["one", "zwei", "three"]
    assert {file.parent for file in (tmp_path / "g").rglob("*.npy")} == {tmp_path / "g"}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20))
def test_any_edges_survive(pairs: list[tuple[int, int]]) -> None:
    graph = Graph.from_edge_index(np.array(pairs, np.int64).reshape(-1, 2).T, 6)
    assert_same(graph, Graph.open(graph.store(), verify=True))


def test_an_opened_graph_is_mapped_and_read_only(tmp_path: Path) -> None:
    opened = Graph.open(random().save(tmp_path / "g"))
    assert isinstance(opened.x, np.memmap)
    assert isinstance(opened.indices.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        opened.x[0, 0] = 1


def test_saving_over_a_graph_replaces_it_even_while_it_is_mapped(tmp_path: Path) -> None:
    folder = path(5).save(tmp_path / "g")
    opened = Graph.open(folder)
    opened.with_data(name="second").save(folder)
    assert Graph.open(folder, verify=True).name == "second"
    assert opened.edge_index().tolist() == path(5).edge_index().tolist()
    karate().save(folder)
    assert Graph.open(folder, verify=True).num_nodes == 34
    assert [entry.name for entry in tmp_path.iterdir()] == ["g"]


def test_a_folder_with_other_things_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match="choose another folder"):
        path().save(tmp_path)
    (tmp_path / "file").write_text("a file")
    with pytest.raises(InputError, match="choose another folder"):
        path().save(tmp_path / "file")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_disk_that_fills_up_leaves_the_old_graph_whole(tmp_path: Path, files_limited_to: Any) -> None:
    folder = path(5).save(tmp_path / "g")
    large = Graph.from_edge_index([[0], [1]], x=np.ones((2000, 100)))
    with files_limited_to(100_000), pytest.raises(InputError, match=r"expected a writable place with \d+ KiB free"):
        large.save(folder)
    assert_same(Graph.open(folder, verify=True), path(5))
    assert [entry.name for entry in tmp_path.iterdir()] == ["g"]


def findings_of(folder: Path, *, verify: bool = False) -> dict[str, str]:
    with pytest.raises(InputError) as caught:
        Graph.open(folder, verify=verify)
    return {finding.where: finding.got for finding in caught.value.findings}


def test_folders_that_hold_no_graph(tmp_path: Path) -> None:
    assert findings_of(tmp_path / "nowhere") == {"folder": "no such folder"}
    assert findings_of(tmp_path) == {"folder": "an unfinished or foreign folder"}
    (tmp_path / HEADER).write_text("{")
    assert HEADER in findings_of(tmp_path)
    (tmp_path / HEADER).write_text("[]")
    assert HEADER in findings_of(tmp_path)
    (tmp_path / HEADER).write_text(json.dumps({"format": 99, "files": {}}))
    assert findings_of(tmp_path) == {HEADER: "format 99"}


def test_missing_and_short_files_are_all_named(tmp_path: Path) -> None:
    folder = random().save(tmp_path / "g")
    (folder / "indices.npy").unlink()
    content = (folder / "node.x.npy").read_bytes()
    (folder / "node.x.npy").write_bytes(content[:-7])
    assert findings_of(folder) == {"indices.npy": "no such file", "node.x.npy": f"{len(content) - 7:,} bytes"}


def test_a_flipped_bit_is_found_when_asked(tmp_path: Path) -> None:
    folder = random().save(tmp_path / "g")
    content = bytearray((folder / "node.y.npy").read_bytes())
    content[-1] ^= 1
    (folder / "node.y.npy").write_bytes(content)
    Graph.open(folder)
    assert set(findings_of(folder, verify=True)) == {"node.y.npy"}


def test_a_damaged_array_header_is_told(tmp_path: Path) -> None:
    folder = random().save(tmp_path / "g")
    content = bytearray((folder / "indptr.npy").read_bytes())
    content[:6] = b"\x00" * 6
    (folder / "indptr.npy").write_bytes(content)
    assert "damaged" in findings_of(folder)["indptr.npy"]
