from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.graph import Graph
from workbench.partition import node_methods, partition
from workbench.widgets.asks import AskCancelledError, Progress
from workbench.widgets.partition_explorer import PartitionExplorer
from workbench.widgets.partition_lead import lead_sentence
from workbench.widgets.partition_results import HALO
from workbench.widgets.transport import encode


def from_networkx(graph: nx.Graph, **data: Any) -> Graph:
    edges = np.array(list(graph.edges()), dtype=np.int64).reshape(-1, 2).T
    return Graph.from_edge_index(np.concatenate([edges, edges[::-1]], axis=1), graph.number_of_nodes(), **data)


@pytest.fixture(scope="module")
def karate() -> Graph:
    club = nx.karate_club_graph()
    side = np.array([club.nodes[v]["club"] == "Officer" for v in club], dtype=np.int64)
    return from_networkx(club, y=side, train_nodes=np.array([0, 33]), name="karate", num_classes=2)


@pytest.fixture
def explorer(karate: Graph) -> Iterator[PartitionExplorer]:
    made = PartitionExplorer(karate)
    assert made._is_ready.wait(60)
    yield made
    made.close()


@pytest.fixture(scope="module")
def cora_like(data_root: Path) -> Graph:
    from workbench.graph import datasets

    return datasets.load("cora", root=data_root)


def ask(explorer: PartitionExplorer, question: str, **arguments: Any) -> dict[str, Any]:
    """Ask as a view does, without a browser; the answer must be able to travel."""
    answer = getattr(explorer, explorer._answers[question])(Progress(), **arguments)
    encode(answer)
    return answer


def test_partitions_are_there_by_method_with_matched_numbers(explorer: PartitionExplorer, karate: Graph) -> None:
    assert list(explorer.partitions) == ["metis", "random"]
    alone = partition(karate, 4, "random")
    assert explorer.partitions["random"].quality().edge_cut == alone.quality().edge_cut
    agreed = np.sum(explorer.partitions["random"].assignment == explorer.partitions["metis"].assignment)
    assert agreed >= np.sum(alone.assignment == explorer.partitions["metis"].assignment)


def test_the_view_changes_the_settings_and_gets_a_column_a_method(explorer: PartitionExplorer) -> None:
    answer = ask(explorer, "partition", methods=["hash", "metis", "contiguous"], num_parts=3, rng_seed=7)
    assert [column["label"] for column in answer["columns"]] == ["Hash", "METIS", "Contiguous"]
    assert (explorer.methods, explorer.num_parts, explorer.rng_seed) == (("hash", "metis", "contiguous"), 3, 7)
    for column, divided in zip(answer["columns"], explorer.partitions.values(), strict=True):
        assert column["traffic"].sum() == divided.quality().comm_volume
        assert np.array_equal(column["assignment"], divided.assignment)
    assert answer["costs"]["labels"] == ["Hash", "METIS", "Contiguous"]


def test_partition_again_makes_it_anew(explorer: PartitionExplorer) -> None:
    before = explorer.partitions["metis"]
    same = {"methods": ["metis", "random"], "num_parts": 4, "rng_seed": 0}
    ask(explorer, "partition", **same)
    assert explorer.partitions["metis"] is before
    ask(explorer, "partition", **same, again=True)
    assert explorer.partitions["metis"] is not before
    assert np.array_equal(explorer.partitions["metis"].assignment, before.assignment)


def test_cora_in_four_parts_says_what_the_specification_says(cora_like: Graph) -> None:
    explorer = PartitionExplorer(cora_like)
    answer = ask(explorer, "partition", methods=["metis", "random"], num_parts=4, rng_seed=0)
    metis, random = answer["columns"]
    assert (metis["cut"], random["cut"]) == (324, 3980)
    assert [row["text"] for row in metis["figures"][:4]] == ["324 edges", "6.1 %", "476 rows", "1.176"]
    verdicts = {row["name"]: row["verdict"] for row in metis["figures"]}
    assert verdicts["edge_cut_pairs"] == "▲ better, 12.3× less"
    assert verdicts["edge_balance"] == "▼ worse, 7% more"
    assert sorted(random["halo"]) == [1132, 1148, 1165, 1217]
    assert sorted(metis["train"]) == [23, 33, 38, 46]
    assert dict(answer["costs"]["rows"][i][:2] for i in (0, 6)) == {
        "Bytes an epoch, all parts": "238 KiB",
        "Rounds and messages an epoch": "2 and 24",
    }
    assert "METIS cuts 6.1% of the edges, random 75.4%" in answer["costs"]["lead"]
    explorer.close()


def test_selecting_a_part_tells_the_role_of_every_node(explorer: PartitionExplorer) -> None:
    answer = ask(explorer, "roles", part=2)
    assert explorer.selected_part == 2
    for role, divided in zip(answer["roles"], explorer.partitions.values(), strict=True):
        part = divided.part(2)
        assert np.array_equal(np.flatnonzero(role == HALO), part.halo_nodes)
        assert np.count_nonzero((role > 0) & (role < HALO)) == len(part.inner_nodes)
    assert ask(explorer, "roles", part=None)["roles"] == []
    assert explorer.selected_part is None
    with pytest.raises(InputError, match="selected_part"):
        ask(explorer, "roles", part=4)


def test_a_node_is_found_by_id_or_name_and_described(karate: Graph) -> None:
    named = karate.with_data(node_names=np.array([f"member {i}" for i in range(34)]))
    explorer = PartitionExplorer(named, num_parts=2, methods=("metis",))
    assert explorer._is_ready.wait(60)
    facts = ask(explorer, "node", query="member 33")
    assert facts == ask(explorer, "node", query=33) | {"places": facts["places"]}
    assert (facts["node"], facts["title"], facts["degree"]) == (33, "member 33", "degree 17")
    assert facts["places"][0]["part"] == explorer.partitions["metis"].assignment[33]
    with pytest.raises(InputError, match="exact name"):
        ask(explorer, "node", query="nobody")
    with pytest.raises(InputError, match="0 to 33"):
        ask(explorer, "node", query="34")
    explorer.close()


def test_a_lasso_gives_ids_to_python(explorer: PartitionExplorer) -> None:
    everything = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0]
    assert ask(explorer, "lasso", polygon=everything)["num_nodes"] == 34
    assert explorer.selected_nodes.tolist() == list(range(34))
    assert explorer.selected_nodes.dtype == np.int64
    ask(explorer, "lasso", polygon=[])
    assert explorer.selected_nodes.tolist() == []


def test_python_sets_the_controls_and_wrong_values_are_refused(explorer: PartitionExplorer) -> None:
    explorer.num_parts = 2
    assert explorer._is_ready.wait(60)
    assert explorer.partitions["metis"].num_parts == 2
    with pytest.raises(InputError, match="num_parts"):
        explorer.num_parts = 99
    assert explorer.num_parts == 2
    with pytest.raises(InputError, match="selected_part"):
        explorer.selected_part = 2
    explorer.selected_part = 1
    assert explorer.snapshot()["settings"]["selected_part"] == 1


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ({"num_parts": 1}, "num_parts"),
        ({"num_parts": 35}, "num_parts"),
        ({"num_parts": 2.5}, "num_parts"),
        ({"num_parts": 4.0}, "num_parts"),
        ({"num_parts": "4"}, "num_parts"),
        ({"num_parts": None}, "num_parts"),
        ({"num_parts": True}, "num_parts"),
        ({"methods": ()}, "methods"),
        ({"methods": ("metis", "metis")}, "methods"),
        ({"methods": ("metsi",)}, "methods"),
    ],
)
def test_wrong_arguments_are_refused_at_construction(karate: Graph, arguments: dict[str, Any], where: str) -> None:
    with pytest.raises(InputError, match=where):
        PartitionExplorer(karate, **arguments)


def test_every_registered_method_can_be_shown(karate: Graph) -> None:
    for method in node_methods():
        explorer = PartitionExplorer(karate, methods=method)
        assert explorer._is_ready.wait(60)
        assert list(explorer.partitions) == [method]
        assert "a layer exchanges" in explorer.text_summary()
        explorer.close()


def test_a_graph_without_anything_but_edges() -> None:
    bare = Graph.from_edge_index(np.array([[0, 1, 2], [1, 2, 0]]), 5)
    explorer = PartitionExplorer(bare, num_parts=2)
    assert explorer._is_ready.wait(60)
    answer = ask(explorer, "partition", methods=["metis", "random"], num_parts=2, rng_seed=0)
    assert answer["columns"][0]["figures"][0]["name"] == "edge_cut"
    assert ask(explorer, "map")["classes"] is None
    assert not explorer.snapshot()["facts"]["symmetric"]
    assert "5" in explorer.static_html()
    explorer.close()


def test_the_static_page_has_pictures_and_figures_and_stays_small(explorer: PartitionExplorer) -> None:
    page = explorer.static_html()
    assert len(page) < 100_000
    assert page.count("data:image/png;base64,") == 2
    for made in explorer._shown:
        for figure in made.quality.figures():
            assert figure.text in page
    assert "<script" not in page
    assert lead_sentence(explorer._shown, explorer._cost) in page
    summary = explorer.text_summary()
    assert "METIS: Edge cut" in summary
    assert "Random: Edge cut" in summary


def test_names_from_data_are_text(karate: Graph) -> None:
    explorer = PartitionExplorer(karate.with_data(name="<img src=x onerror=alert(1)>"))
    assert explorer._is_ready.wait(60)
    assert "<img src=x" not in explorer.static_html()
    explorer.close()


def slow_method(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, body: str) -> None:
    from workbench.partition.methods import metis

    script = tmp_path / "child.py"
    script.write_text(body)
    monkeypatch.setattr(metis, "CHILD_SCRIPT", script)


def test_cancelling_kills_the_child_and_a_crash_is_an_answer(
    karate: Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slow_method(monkeypatch, tmp_path, "import time\ntime.sleep(600)")
    explorer = PartitionExplorer(karate)
    time.sleep(0.5)
    explorer._command_cancel()
    assert explorer._is_ready.wait(30)
    assert explorer.partitions == {}
    progress = Progress()
    threading.Timer(0.3, progress.cancel).start()
    with pytest.raises(AskCancelledError):
        explorer._answer_partition(progress, methods=["metis"], num_parts=4, rng_seed=1)
    slow_method(monkeypatch, tmp_path, "import os\nos.abort()")
    with pytest.raises(ValueError, match="SIGABRT"):
        ask(explorer, "partition", methods=["metis"], num_parts=4, rng_seed=1)
    answer = ask(explorer, "partition", methods=["random"], num_parts=4, rng_seed=1)
    assert answer["columns"][0]["label"] == "Random"
    explorer.close()


def test_progress_reaches_the_views_while_preparing(karate: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    publish: Callable[..., bool] = PartitionExplorer.publish

    def note(self: PartitionExplorer, body: Any) -> bool:
        told.append(body)
        return publish(self, body)

    monkeypatch.setattr(PartitionExplorer, "publish", note)
    explorer = PartitionExplorer(karate)
    assert explorer._is_ready.wait(60)
    time.sleep(0.1)
    assert told[-1] == {"busy": None}
    assert any(re.search("METIS: dividing 34 nodes", str(body)) for body in told)
    explorer.close()
