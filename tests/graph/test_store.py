"""The store: one folder a content, written once, whole under concurrent writers, full disks and damage."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.core.home import home_folder
from workbench.graph import Graph
from workbench.graph.folder import HEADER
from workbench.testing.graphs import assert_same, path, random


def test_a_store_that_fills_up_says_so_and_can_be_tried_again(files_limited_to: Any) -> None:
    large = Graph.from_edge_index([[0], [1]], x=np.full((2000, 100), 3.0))
    with files_limited_to(100_000), pytest.raises(InputError, match="free some space"):
        large.store()
    assert_same(Graph.open(large.store(), verify=True), large)


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
from workbench.testing.graphs import assert_same, random
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


def test_what_killed_writers_left_is_swept_after_a_day() -> None:
    folder = home_folder("graphs")
    old, new = folder / ".abc.1-2.partial", folder / ".abc.3-4.partial"
    for leftover in (old, new):
        leftover.mkdir()
        (leftover / "indptr.npy").write_bytes(b"half")
    day_before_yesterday = time.time() - 2 * 24 * 3600
    os.utime(old, (day_before_yesterday, day_before_yesterday))
    random(rng_seed=5).store()
    assert not old.exists()
    assert new.exists()
    (new / "indptr.npy").unlink()
    new.rmdir()
