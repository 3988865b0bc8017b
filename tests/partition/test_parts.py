from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.partition.conftest import from_pairs
from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.partition import Partition, match_parts, partition


def test_a_saved_partition_opens_with_its_graph(karate: Graph, tmp_path: Path) -> None:
    made = partition(karate, 12, "metis", scheme="kway")
    opened = Partition.open(made.save(tmp_path / "p"), karate)
    assert np.array_equal(opened.assignment, made.assignment)
    for name in ("num_parts", "method", "fingerprint", "elapsed_s", "native_s", "repaired_parts"):
        assert getattr(opened, name) == getattr(made, name)
    assert dict(opened.params) == dict(made.params)
    assert opened.quality().edge_cut == made.quality().edge_cut


def test_another_graph_is_refused(karate: Graph, tmp_path: Path) -> None:
    folder = partition(karate, 2, "random").save(tmp_path)
    other = from_pairs([(0, 1)], karate.num_nodes)
    with pytest.raises(InputError, match=r"graph: expected the graph that it was made for"):
        Partition.open(folder, other)


def test_a_torn_or_altered_file_is_refused(karate: Graph, tmp_path: Path) -> None:
    made = partition(karate, 2, "random")
    folder = made.save(tmp_path)
    np.save(folder / "assignment.npy", made.assignment[::-1])
    with pytest.raises(InputError, match=r"assignment\.npy"):
        Partition.open(folder, karate)
    (folder / "partition.json").write_text("{")
    with pytest.raises(InputError, match="saved partition"):
        Partition.open(folder, karate)
    with pytest.raises(InputError, match="saved partition"):
        Partition.open(tmp_path / "nowhere", karate)


def test_saving_again_replaces(karate: Graph, tmp_path: Path) -> None:
    partition(karate, 2, "random").save(tmp_path)
    second = partition(karate, 3, "hash")
    assert Partition.open(second.save(tmp_path), karate).method == "hash"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["assignment.npy", "partition.json"]


@pytest.mark.parametrize("number", [-1, 4])
def test_a_part_out_of_range_is_refused(karate: Graph, number: int) -> None:
    with pytest.raises(InputError, match="0 to 3"):
        partition(karate, 4, "random").part(number)


@given(st.integers(1, 6), st.integers(0, 2**32))
def test_renumbered_parts_are_found_again(num_parts: int, rng_seed: int) -> None:
    rng = np.random.default_rng(rng_seed)
    assignment = np.concatenate([np.arange(num_parts), rng.integers(0, num_parts, 30)]).astype(np.int32)
    numbers = rng.permutation(num_parts).astype(np.int32)
    assert np.array_equal(match_parts(assignment, numbers[assignment], num_parts)[numbers[assignment]], assignment)


def test_matching_keeps_the_parts_and_maximises_the_overlap(cora: Graph) -> None:
    metis, random = partition(cora, 4), partition(cora, 4, "random")
    matched = random.matched_to(metis)
    assert matched.quality().edge_cut == random.quality().edge_cut
    assert np.sum(matched.assignment == metis.assignment) >= np.sum(random.assignment == metis.assignment)


@pytest.mark.parametrize(("one", "other"), [(3, 6), (6, 3)])
def test_matching_to_another_number_of_parts_keeps_numbers_dense(karate: Graph, one: int, other: int) -> None:
    matched = partition(karate, one, "metis").matched_to(partition(karate, other, "metis"))
    assert set(np.unique(matched.assignment)) == set(range(one))
    assert matched.num_parts == one
