"""Graph folders: whole or not there, mapped, checked; and the store that ranks map."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.core.home import home_folder
from workbench.graph import Graph, SparseRows
from workbench.graph.folder import HEADER, arrays_of
from workbench.testing.graphs import NAMED, karate, path, random


def assert_same(first: Graph, second: Graph) -> None:
    a, b = arrays_of(first), arrays_of(second)
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype, name
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)
    for name in ("name", "class_names", "class_count", "num_classes", "num_features", "fingerprint"):
        assert getattr(first, name) == getattr(second, name)
    assert dict(first.meta) == dict(second.meta)


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


@contextmanager
def files_limited_to(num_bytes: int) -> Iterator[None]:
    """Let the kernel refuse to write more than this into any file, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_fills_up_leaves_the_old_graph_whole(tmp_path: Path) -> None:
    folder = path(5).save(tmp_path / "g")
    large = Graph.from_edge_index([[0], [1]], x=np.ones((2000, 100)))
    with files_limited_to(100_000), pytest.raises(InputError, match=r"expected a writable place with \d+ KiB free"):
        large.save(folder)
    assert_same(Graph.open(folder, verify=True), path(5))
    assert [entry.name for entry in tmp_path.iterdir()] == ["g"]


def test_a_store_that_fills_up_says_so_and_can_be_tried_again() -> None:
    large = Graph.from_edge_index([[0], [1]], x=np.full((2000, 100), 3.0))
    with files_limited_to(100_000), pytest.raises(InputError, match="free some space"):
        large.store()
    assert_same(Graph.open(large.store(), verify=True), large)


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


def test_the_store_is_named_by_content_and_written_once() -> None:
    graph = random(rng_seed=1)
    folder = graph.store()
    before = (folder / HEADER).stat().st_mtime_ns
    assert folder.parent == home_folder("graphs")
    assert random(rng_seed=1).store() == folder
    assert Graph.open(folder).store() == folder
    assert (folder / HEADER).stat().st_mtime_ns == before
    assert graph.with_data(y=None, train_nodes=None).store() != folder


def test_a_graph_that_lies_in_a_folder_already_is_not_copied(tmp_path: Path) -> None:
    folder = random(rng_seed=2).save(tmp_path / "g")
    opened = Graph.open(folder)
    assert opened.store() == folder
    path().save(folder)  # the folder holds another graph now: the opened one is still mapped
    assert_same(Graph.open(opened.store(), verify=True), random(rng_seed=2))


def test_a_damaged_store_is_written_anew() -> None:
    graph = random(rng_seed=3)
    folder = graph.store()
    (folder / "indices.npy").unlink()
    assert graph.store() == folder
    assert_same(Graph.open(folder, verify=True), graph)


STORE = """
import sys
from workbench.testing.graphs import random
graph = random(2000, 20_000, rng_seed=4)
print("ready", flush=True)
sys.stdin.readline()
print(graph.store(), flush=True)
"""


@pytest.mark.slow
def test_processes_that_store_the_same_graph_at_once_agree() -> None:
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    workers = [subprocess.Popen([sys.executable, "-c", STORE], **pipes) for _ in range(3)]
    assert [worker.stdout.readline() for worker in workers] == ["ready\n"] * 3
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    folders = {worker.communicate(timeout=60)[0].strip() for worker in workers}
    assert len(folders) == 1
    assert_same(Graph.open(folders.pop(), verify=True), random(2000, 20_000, rng_seed=4))
    assert [entry for entry in home_folder("graphs").iterdir() if "partial" in entry.name] == []
