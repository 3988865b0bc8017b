from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.partition import Partition, partition
from workbench.partition.local import open_part


@pytest.fixture(scope="module")
def graph() -> Graph:
    return Graph.from_edge_index(np.random.default_rng(0).integers(0, 300, (2, 900)), 300)


def mine(graph: Graph, assignment: Any, num_parts: Any = 4) -> Partition:
    made = {"method": "mine", "fingerprint": graph.fingerprint}
    return Partition(graph=graph, assignment=assignment, num_parts=num_parts, **made)


@pytest.mark.parametrize(
    ("assignment", "num_parts", "words"),
    [
        (np.zeros(5, np.int32), 4, "one part for each of 300 nodes; got shape"),
        (np.zeros((300, 1), np.int32), 4, "one part for each of 300 nodes; got shape"),
        (np.full(300, 9), 4, "parts from 0 to 3; got part 9 for node 0"),
        (np.arange(300) - 7, 400, "parts from 0 to 399; got part -7 for node 0"),
        (np.zeros(300), 4, "whole numbers; got float64"),
        (np.zeros(300, bool), 4, "whole numbers; got bool"),
        (np.zeros(300, np.int32), 0, "num_parts: expected a whole number of at least 1; got 0"),
        (np.zeros(300, np.int32), 2.0, "num_parts: expected a whole number"),
    ],
)
def test_owners_that_kernels_would_read_beyond_are_refused(
    graph: Graph, assignment: Any, num_parts: Any, words: str
) -> None:
    with pytest.raises(InputError, match=words):
        mine(graph, assignment, num_parts)


def test_a_partition_of_ones_own_may_have_wide_numbers_and_empty_parts(graph: Graph, tmp_path: Path) -> None:
    made = mine(graph, np.zeros(300, np.int64).tolist())
    assert made.assignment.dtype == np.int32
    assert not made.assignment.flags.writeable
    quality = made.quality()
    assert (quality.edge_cut, quality.comm_volume) == (0, 0)
    assert quality.part_nodes.tolist() == [300, 0, 0, 0]
    assert "4 parts" in quality._repr_html_()
    made.write_parts(tmp_path / "parts")
    assert len(open_part(tmp_path / "parts", 2).node_ids) == 0


@pytest.mark.parametrize("part", [4, -1, 1.5, True, "1", None])
def test_a_part_is_one_of_its_numbers(graph: Graph, part: Any) -> None:
    with pytest.raises(InputError, match="whole number from 0 to 3"):
        partition(graph, 4, "random").part(part)
    with pytest.raises(InputError, match="whole number from 0 to 3"):
        partition(graph, 4, "dbh").part(part)


@pytest.mark.parametrize("missing", ["num_parts", "method", "fingerprint", "format", "checksum"])
def test_a_record_that_lacks_something_does_not_open(graph: Graph, tmp_path: Path, missing: str) -> None:
    file = partition(graph, 4, "random").save(tmp_path / "kept") / "partition.json"
    record = json.loads(file.read_text())
    record.pop(missing)
    file.write_text(json.dumps(record))
    with pytest.raises(InputError, match=missing):
        Partition.open(tmp_path / "kept", graph)


@pytest.mark.parametrize(
    ("text", "words"),
    [("[]", "a saved partition"), ('"x"', "a saved partition"), ("{", "a saved partition")],
)
def test_a_record_that_is_none_does_not_open(graph: Graph, tmp_path: Path, text: str, words: str) -> None:
    (partition(graph, 4, "random").save(tmp_path) / "partition.json").write_text(text)
    with pytest.raises(InputError, match=words):
        Partition.open(tmp_path, graph)


def test_altered_numbers_of_parts_and_unknown_fields_do_not_open(graph: Graph, tmp_path: Path) -> None:
    file = partition(graph, 4, "random").save(tmp_path) / "partition.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps({**record, "num_parts": 2}))
    with pytest.raises(InputError, match="parts from 0 to 1"):
        Partition.open(tmp_path, graph)
    file.write_text(json.dumps({**record, "colour": "red"}))
    with pytest.raises(InputError, match="colour"):
        Partition.open(tmp_path, graph)
    with pytest.raises(InputError, match=r"a workbench\.Graph"):
        Partition.open(tmp_path, None)  # type: ignore[arg-type]


def test_a_file_in_the_way_and_a_folder_without_rights_are_named(
    graph: Graph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = partition(graph, 4, "random")
    (tmp_path / "file").write_text("")
    for write in (made.save, made.write_parts, partition(graph, 4, "dbh").save):
        with pytest.raises(InputError, match=r"got a file, for .*file"):
            write(tmp_path / "file")

    def denied(self: Path, **_options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", denied)
    for write in (made.save, made.write_parts):
        with pytest.raises(InputError, match="Permission denied"):
            write(tmp_path / "new")


def test_what_a_broken_off_write_left_is_replaced_and_nothing_else(graph: Graph, tmp_path: Path) -> None:
    made = partition(graph, 4, "random")
    made.write_parts(tmp_path)
    (tmp_path / "parts.json").unlink()
    (tmp_path / ".part-0002-77").mkdir()
    partition(graph, 2, "random").write_parts(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["part-0000", "part-0001", "parts.json"]
    (tmp_path / "part-notes").mkdir()
    made.write_parts(tmp_path)
    assert (tmp_path / "part-notes").is_dir(), "a folder of the person's own"
    (tmp_path / "parts.json").unlink()
    with pytest.raises(InputError, match="got one with 'part-notes'"):
        made.write_parts(tmp_path)


def test_partitions_of_two_graphs_are_not_matched(graph: Graph) -> None:
    other = Graph.from_edge_index(np.array([[0], [1]]), 20)
    with pytest.raises(InputError, match="a partition of 300 nodes; got one of 20"):
        partition(graph, 4, "random").matched_to(partition(other, 4, "random"))
