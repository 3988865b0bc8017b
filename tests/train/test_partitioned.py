"""The parts of a run: refused where they do not fit, written once, opened one by one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.core.errors import Finding, Findings, InputError
from workbench.graph import Graph
from workbench.partition import PARTITIONERS, Partition, partition
from workbench.testing.graphs import path
from workbench.train.partitioned import open_local_part, prepare_parts, record_parts

GRAPH = path(12)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))


def fault(graph: Graph, choice: Any, num_parts: int) -> Finding:
    with pytest.raises(InputError) as caught:
        prepare_parts(graph, choice, num_parts, Findings("launch"))
    (finding,) = caught.value.findings
    assert finding.where == "partition"
    return finding


def test_parts_are_written_once_and_hold_every_node_once() -> None:
    folder = prepare_parts(GRAPH, "contiguous", 3, Findings("launch"))
    written = {file: file.stat().st_mtime_ns for file in folder.rglob("*")}
    assert prepare_parts(GRAPH, PARTITIONERS.create("contiguous"), 3, Findings("launch")) == folder
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*")} == written
    parts = [open_local_part(folder, rank) for rank in range(3)]
    assert sorted(np.concatenate([part.inner_nodes for part in parts]).tolist()) == list(range(12))
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def test_another_method_number_or_content_is_another_folder() -> None:
    findings = Findings("launch")
    other = GRAPH.with_data(x=GRAPH.x + 1)
    made = partition(GRAPH, 3, "contiguous")
    folders = {
        prepare_parts(GRAPH, "contiguous", 3, findings),
        prepare_parts(GRAPH, "contiguous", 2, findings),
        prepare_parts(GRAPH, PARTITIONERS.create("random", rng_seed=1), 3, findings),
        prepare_parts(GRAPH, PARTITIONERS.create("random", rng_seed=2), 3, findings),
        prepare_parts(other, made, 3, findings),
        prepare_parts(GRAPH, made, 3, findings),
    }
    assert len(folders) == 6


def test_the_parts_of_a_ready_made_partition_hold_the_data_of_the_launch() -> None:
    made = partition(GRAPH, 2, "contiguous")
    folder = prepare_parts(GRAPH.with_data(x=GRAPH.x + 1), made, 2, Findings("launch"))
    part = open_local_part(folder, 1)
    assert np.array_equal(part.graph.x, GRAPH.x[part.node_ids] + 1)


def test_an_empty_part_is_a_part() -> None:
    assignment = np.array([0] * 5 + [2] * 7, np.int32)
    made = Partition(graph=GRAPH, assignment=assignment, num_parts=3, method="mine", fingerprint=GRAPH.fingerprint)
    part = open_local_part(prepare_parts(GRAPH, made, 3, Findings("launch")), 1)
    assert (part.num_inner, len(part.node_ids), part.graph.num_edges) == (0, 0, 0)
    assert part.graph.num_features == GRAPH.num_features


def test_a_record_says_how_the_parts_were_made_and_where_they_are() -> None:
    record = record_parts(GRAPH, PARTITIONERS.create("random", rng_seed=4), 2)
    assert (record["name"], record["params"], record["num_parts"]) == ("random", {"rng_seed": 4}, 2)
    assert open_local_part(record["parts_folder"], 0).num_parts == 2


def test_the_record_of_a_run_stands_for_its_very_parts() -> None:
    made = Partition(
        graph=GRAPH,
        assignment=np.arange(12, dtype=np.int32) % 2,
        num_parts=2,
        method="mine",
        fingerprint=GRAPH.fingerprint,
    )
    record = record_parts(GRAPH, made, 2)
    assert record_parts(GRAPH, record, 2) == record
    fault(GRAPH, record, 3)
    shutil.rmtree(record["parts_folder"])
    with pytest.raises(InputError, match="'mine'"):  # no method of that name could make it again
        record_parts(GRAPH, record, 2)
    named = record_parts(GRAPH, "contiguous", 2)
    shutil.rmtree(named["parts_folder"])
    assert record_parts(GRAPH, named, 2) == named


def test_what_is_no_partition_of_this_graph_into_these_parts_is_refused() -> None:
    assert "of 'path'" in fault(GRAPH, partition(path(10), 2, "contiguous"), 2).got
    assert fault(GRAPH, partition(GRAPH, 2, "contiguous"), 3).got == "2 parts for 3 trainers"
    assert fault(GRAPH, GRAPH, 2).got == "Graph"
    assert "divides the edges" in fault(GRAPH, "hdrf", 2).got
    assert fault(GRAPH, "metis", 13).got == "13 parts for 12 nodes"


def test_an_unknown_method_is_told_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="'metis'"):
        prepare_parts(GRAPH, "metiss", 2, Findings("launch"))
