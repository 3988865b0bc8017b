"""The partition explorer with several numbers of parts side by side."""

from __future__ import annotations

import itertools
from typing import Any

import networkx as nx
import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.partition import partition
from workbench.widgets.asks import Progress
from workbench.widgets.partition_explorer import PartitionExplorer
from workbench.widgets.partition_results import HALO
from workbench.widgets.transport import encode


@pytest.fixture(scope="module")
def karate() -> Graph:
    club = nx.karate_club_graph()
    edges = np.array(list(club.edges()), dtype=np.int64).T
    both = np.concatenate([edges, edges[::-1]], axis=1)
    return Graph.from_edge_index(both, 34, train_nodes=np.array([0, 33]), name="karate")


def ask(explorer: PartitionExplorer, question: str, **arguments: Any) -> dict[str, Any]:
    """Ask as a view does, without a browser; the answer must be able to travel."""
    answer = getattr(explorer, explorer._answers[question])(Progress(), **arguments)
    encode(answer)
    return answer


@pytest.mark.parametrize(
    ("num_parts", "expected", "got"),
    [
        ((), "1 to 4 numbers of parts", "none"),
        ((2, 3, 4, 5, 6), "1 to 4 numbers of parts", "2, 3, 4, 5, 6, ..."),
        (itertools.count(2), "1 to 4 numbers of parts", "2, 3, 4, 5, 6, ..."),
        ((0, 4), "2 to 34, for the graph has 34 nodes", "0"),
        ((4, -2), "2 to 34, for the graph has 34 nodes", "-2"),
        ((4, 35, 99), "2 to 34, for the graph has 34 nodes", "35, 99"),
        ((2, 4, 2), "every number of parts once", "2"),
        ((2, True), "whole numbers", "True"),
        ((2, 4.0), "whole numbers", "4.0"),
        (("2", "4"), "whole numbers", "'2', '4'"),
        (np.array([2.0, 4.0]), "whole numbers", "np.float64(2.0), np.float64(4.0)"),
        (((2, 4), (8, 16)), "whole numbers", "(2, 4), (8, 16)"),
    ],
)
def test_wrong_numbers_of_parts_give_one_error(karate: Graph, num_parts: Any, expected: str, got: str) -> None:
    with pytest.raises(InputError) as caught:
        PartitionExplorer(karate, num_parts=num_parts)
    (finding,) = caught.value.findings
    assert (finding.where, finding.expected, finding.got) == ("num_parts", expected, got)


def test_several_numbers_of_parts_stand_side_by_side(karate: Graph) -> None:
    explorer = PartitionExplorer(karate, num_parts=np.array([2, 4, 8]), methods="metis")
    assert explorer._is_ready.wait(60)
    assert explorer.num_parts == (2, 4, 8)
    assert list(explorer.partitions) == [("metis", 2), ("metis", 4), ("metis", 8)]
    answer = ask(explorer, "partition", methods=["metis"], num_parts=[2, 4, 8], rng_seed=0)
    assert [column["label"] for column in answer["columns"]] == ["METIS, 2 parts", "METIS, 4 parts", "METIS, 8 parts"]
    assert [column["against"] for column in answer["columns"]] == [
        "METIS in 4 parts",
        "METIS in 2 parts",
        "METIS in 2 parts",
    ]
    assert {row["kind"] for row in answer["columns"][2]["figures"]} == {"same"}, "neither is better for cutting less"
    for column, divided in zip(answer["columns"], explorer.partitions.values(), strict=True):
        alone = partition(karate, divided.num_parts).quality()
        assert column["cut"] == alone.edge_cut_pairs
        assert sorted(column["nodes"]) == sorted(alone.part_nodes)
    assert answer["costs"]["verdicts"] == []
    assert "METIS in 8 instead of 2 parts" in answer["costs"]["scaling"][0]
    cuts = [f"{divided.quality().edge_cut_ratio * 100:.1f}%" for divided in explorer.partitions.values()]
    lead = f"METIS cuts {cuts[0]} of the edges in 2 parts, {cuts[1]} in 4 and {cuts[2]} in 8: a layer exchanges"
    assert answer["costs"]["lead"].startswith(lead)
    assert "2, 4 and 8 parts" in explorer.text_summary()
    page = explorer.static_html()
    assert all(f"METIS, {count} parts" in page for count in (2, 4, 8))
    explorer.close()


def test_methods_and_numbers_of_parts_mix(karate: Graph) -> None:
    explorer = PartitionExplorer(karate, num_parts=(4, 2), methods=("random", "metis"))
    assert explorer._is_ready.wait(60)
    keys = [("random", 4), ("metis", 4), ("random", 2), ("metis", 2)]
    assert list(explorer.partitions) == keys
    answer = ask(explorer, "cost", widths=[64], epochs=200, link_gbit=1)
    assert answer["costs"]["labels"] == ["Random, 4 parts", "METIS, 4 parts", "Random, 2 parts", "METIS, 2 parts"]
    assert [text[:11] for text in answer["costs"]["verdicts"]] == ["In 4 parts:", "In 2 parts:"]
    assert len(answer["costs"]["scaling"]) == 2
    assert "better" in answer["figures"][1][0]["verdict"], "of as many parts one is better"
    for at, reference in ((1, 0), (2, 0), (3, 2)):
        shown, leader = explorer.partitions[keys[at]], explorer.partitions[keys[reference]]
        agreed = np.sum(shown.assignment == leader.assignment)
        assert agreed == np.sum(shown.matched_to(leader).assignment == leader.assignment), "no numbering agrees more"
    with pytest.raises(InputError, match="at most 8 partitions side by side; got 3 methods in 4 numbers of parts, 12"):
        PartitionExplorer(karate, num_parts=(2, 3, 4, 5), methods=("metis", "random", "hash"))
    explorer.close()


def test_a_selected_part_is_looked_for_in_every_partition(karate: Graph) -> None:
    explorer = PartitionExplorer(karate, num_parts=(2, 4), methods="metis")
    assert explorer._is_ready.wait(60)
    found = ask(explorer, "roles", part=3)["roles"]
    assert found[0] is None, "two parts have no part 3"
    assert np.array_equal(np.flatnonzero(found[1] == HALO), explorer.partitions["metis", 4].part(3).halo_nodes)
    facts = ask(explorer, "node", query=0)
    assert "part 3" not in facts["places"][0]["role"]
    explorer.num_parts = 2
    assert explorer.selected_part is None
    assert explorer._is_ready.wait(60)
    assert list(explorer.partitions) == ["metis"]
    with pytest.raises(InputError, match="num_parts"):
        explorer.num_parts = (2, 2)
    assert explorer.num_parts == 2
    explorer.num_parts = [2, 3]
    assert explorer.num_parts == (2, 3)
    assert explorer._is_ready.wait(60)
    ask(explorer, "partition", methods=["metis"], num_parts=[3], rng_seed=0)
    assert explorer.num_parts == 3
    explorer.close()
