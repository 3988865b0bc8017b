"""The explorer's Python side: settings, traits, questions and what it would send, without a browser."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.graph import Graph, datasets
from workbench.sampling.explode import explosion
from workbench.sampling.explosion_profile import hub_ablation, saturation
from workbench.sampling.explosion_sizes import seed_sizes
from workbench.testing.graphs import NAMED
from workbench.widgets import NeighborhoodExplorer
from workbench.widgets.asks import Progress
from workbench.widgets.neighborhood_details import DETAILS, SAMPLED_BATCHES
from workbench.widgets.neighborhood_pack import pack_hubs, pack_saturation, pack_sizes
from workbench.widgets.neighborhood_static import format_short, spread_labels
from workbench.widgets.transport import encode


def test_the_first_batch_is_there_at_once_and_exact_numbers_follow(explore: Any) -> None:
    graph = datasets.load("karate")
    explorer = explore(graph, batch_size=4)
    assert explorer.result is not None
    explore.wait_exact(explorer)
    expected = explosion(graph, num_seeds=4, num_batches=explorer._settings.num_batches)
    np.testing.assert_array_equal(
        explorer.result.all_neighbors.unique_nodes.mean, expected.all_neighbors.unique_nodes.mean
    )
    np.testing.assert_array_equal(explorer.result.sampled.num_edges.mean, expected.sampled.num_edges.mean)
    assert explorer.seed_nodes.size == explorer.batch_size == 4


def test_attributes_are_controls(explore: Any) -> None:
    explorer = explore(datasets.load("karate"), batch_size=4)
    explorer.depth = 2
    assert explorer.fanouts == (15, 10)
    assert explorer.result.depth == 2
    explorer.fanouts = (3, 2, 1, 1)
    assert (explorer.depth, explorer.result.fanouts) == (4, (3, 2, 1, 1))
    explorer.seed_choice = "hub"
    explorer.batch_size = 2
    assert explorer.seed_nodes.tolist() == [33, 0]
    assert "The 2 largest hubs" in explorer.result.sentence
    explorer.seed_nodes = [5, 7, 9]
    assert (explorer.seed_choice, explorer.batch_size) == ("given", 3)
    explorer.batch_size = 8
    assert (explorer.seed_choice, explorer.seed_nodes.size) == ("random", 8)
    explorer.neighbors = "sampled"
    assert explorer.snapshot()["settings"]["neighbors"] == "sampled"


def test_a_shallower_depth_needs_no_measuring(explore: Any) -> None:
    explorer = explore(datasets.load("karate"), batch_size=4)
    explore.wait_exact(explorer)
    three = explorer.result
    explorer.depth = 1
    assert not explorer.result.is_estimate
    np.testing.assert_array_equal(three.all_neighbors.share[:2], explorer.result.all_neighbors.share)


def test_wrong_values_are_refused_and_change_nothing(explore: Any) -> None:
    explorer = explore(datasets.load("karate"), batch_size=4)
    for name, value in (("fanouts", (-2,)), ("seed_nodes", [99]), ("seed_nodes", [])):
        before = getattr(explorer, name)
        with pytest.raises(InputError):
            setattr(explorer, name, value)
        assert np.array_equal(getattr(explorer, name), before)
    with pytest.raises(InputError, match="depth"):
        NeighborhoodExplorer(explorer.graph, depth=9)
    with pytest.raises(InputError, match=r"a workbench\.Graph"):
        NeighborhoodExplorer("graph")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least one node"):
        NeighborhoodExplorer(NAMED["empty"]())


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [("hub", [33]), (3, [3]), ("8", [8]), ([2, 1], [1, 2]), (np.arange(34) == 6, [6])],
)
def test_seeds_of_every_kind(explore: Any, seeds: Any, expected: list[int]) -> None:
    assert explore(datasets.load("karate"), seeds=seeds, batch_size=1).seed_nodes.tolist() == expected


def test_the_view_asks_and_python_changes(explore: Any) -> None:
    explorer = explore(datasets.load("karate"), batch_size=4)
    assert explorer._explore(Progress(), depth=1, fanouts=[4, 3, 2]) == {}
    assert (explorer.depth, explorer.fanouts) == (1, (4,))
    explore.wait_exact(explorer)
    assert explorer._explore(Progress(), nodes=[7], choice="node") == {}
    assert (explorer.seed_nodes.tolist(), explorer.tree_node) == ([7], 7)
    explorer._redraw(Progress(), draw=3)
    assert explorer.snapshot()["tree"]["draw"] == 3


def test_a_mistyped_name_is_answered_with_a_suggestion(explore: Any) -> None:
    graph = Graph.from_edge_index(np.array([[0, 1], [1, 2]]), node_names=["python3-numpy", "libc6", "perl"])
    explorer = explore(graph)
    answer = explorer._explore(Progress(), node="python3-nunpy")
    assert answer["suggestion"] == "python3-numpy"
    assert "python3-nunpy" in answer["problem"]
    assert explorer._explore(Progress(), node="libc6") == {}
    assert explorer.seed_nodes.tolist() == [1]


def test_a_result_of_older_settings_is_dropped(explore: Any) -> None:
    explorer = explore(datasets.load("karate"), batch_size=4)
    explore.wait_exact(explorer)
    old, old_settings = explorer.result, explorer._settings
    explorer.batch_size = 7
    assert explorer._take(old, old_settings) is False
    assert explorer.result.num_seeds == 7
    explorer._cancel()


def test_details_follow_once_there_is_a_view(explore: Any) -> None:
    graph = datasets.load("karate")
    explorer = explore(graph, batch_size=4)
    explore.wait_exact(explorer)
    assert explorer.snapshot()["details"] == {}
    explorer._explore(Progress())
    explore.wait(lambda: set(explorer._found) == set(DETAILS))
    assert all("error" not in found for found in explorer._found.values())
    assert explorer._found["component"]["largest"] == 34
    assert explorer._found["sizes"] == pack_sizes(graph, seed_sizes(graph))
    assert explorer._found["hubs"] == pack_hubs(graph, hub_ablation(graph))
    explore.wait(lambda: explorer._found["saturation"]["num_orders"] == 200)
    expected = pack_saturation(saturation(graph, num_orders=200, num_batches=SAMPLED_BATCHES), (15, 10, 5))
    np.testing.assert_allclose(explorer._found["saturation"]["sampled"], expected["sampled"])


def test_a_failing_detail_is_told(explore: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = explore(datasets.load("karate"), batch_size=4)

    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr("workbench.widgets.neighborhood_details.hub_ablation", fail)
    explorer._explore(Progress())
    explore.wait(lambda: "hubs" in explorer._found)
    assert explorer._found["hubs"] == {"error": "MemoryError: no room"}


@pytest.mark.parametrize("name", sorted(set(NAMED) - {"empty"}))
def test_every_small_graph_can_be_explored(explore: Any, name: str) -> None:
    explorer = explore(NAMED[name]())
    explorer._explore(Progress(), depth=4)
    explorer._explore(Progress(), choice="hub", batch_size=1)
    explore.wait_exact(explorer)
    explore.wait(lambda: set(explorer._found) == set(DETAILS))
    assert all("error" not in found for found in explorer._found.values()), explorer._found
    json.dumps(encode(explorer.snapshot())[0], allow_nan=False)
    assert "<svg" in explorer.static_html()


def test_the_static_picture_and_text_say_the_same(explore: Any) -> None:
    explorer = explore(datasets.load("karate"), seeds=0)
    page, text = explorer.static_html(), explorer.text_summary()
    assert "<script" not in page
    for found in ("reads", explorer.result.sentence):
        assert found in page
        assert found in text
    assert "exact, 20 batches" in page


def test_names_from_data_are_text(explore: Any) -> None:
    graph = Graph.from_edge_index(np.array([[0], [1]]), node_names=["<img src=x onerror=alert(1)>", "b"])
    page = explore(graph, seeds=0).static_html()
    assert "<img" not in page
    assert "&lt;img" in page


def test_a_snapshot_is_small(explore: Any) -> None:
    explorer = explore(datasets.load("debian"))
    explorer._explore(Progress(), node="libc6", fanouts=[-1, -1, -1])
    content, buffers = encode(explorer.snapshot())
    assert len(json.dumps(content)) + sum(len(buffer) for buffer in buffers) < 100_000


def test_labels_do_not_touch() -> None:
    assert spread_labels([10, 12, 100], 20) == pytest.approx([1, 21, 100])
    assert spread_labels([250, 255], 20)[1] <= 256
    assert [format_short(v) for v in (10, 1000, 1e4, 1e7, 1e9)] == ["10", "1,000", "10 k", "10 M", "1 G"]
