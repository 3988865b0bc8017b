"""Widths of layers, epochs and link of the partition explorer: from Python, from the view, and what they cost."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import networkx as nx
import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.core.units import format_bytes
from workbench.graph import Graph
from workbench.partition import partition
from workbench.widgets.asks import Progress
from workbench.widgets.partition_cost import CostSettings, cost_rows, exchange_cost
from workbench.widgets.partition_explorer import PartitionExplorer
from workbench.widgets.transport import encode


@pytest.fixture(scope="module")
def karate() -> Graph:
    edges = np.array(list(nx.karate_club_graph().edges()), dtype=np.int64).T
    x = np.ones((34, 10), dtype=np.float32)
    return Graph.from_edge_index(np.concatenate([edges, edges[::-1]], axis=1), 34, x=x, name="karate")


@pytest.fixture
def explorer(karate: Graph) -> Iterator[PartitionExplorer]:
    made = PartitionExplorer(karate, methods=("contiguous", "random"), widths=(256, 64))
    assert made._is_ready.wait(60)
    yield made
    made.close()


def ask(explorer: PartitionExplorer, question: str, **arguments: Any) -> dict[str, Any]:
    """Ask as a view does, without a browser; the answer must be able to travel."""
    answer = getattr(explorer, explorer._answers[question])(Progress(), **arguments)
    encode(answer)
    return answer


def test_every_layer_has_its_bytes_and_the_epoch_their_sum(karate: Graph) -> None:
    """Theory, section 3: s H sum F_l forward from l = 0 and backward from l = 1; the features are kept once."""
    quality, widths = partition(karate, 4, "random").quality(), (256, 64, 7)
    settings = CostSettings(widths=widths, epochs=30, link_gbit=1, num_features=10)
    cost = exchange_cost(quality, settings)
    forward = quality.traffic_bytes((10, *widths)).sum(axis=(1, 2)).tolist()
    assert cost.once_bytes == forward[0]
    assert cost.layer_bytes == tuple(2 * num_bytes for num_bytes in forward[1:])
    assert cost.epoch_bytes == 2 * 4 * quality.comm_volume * sum(widths)
    assert cost.total_bytes == forward[0] + 30 * cost.epoch_bytes
    assert cost.messages == 6 * np.count_nonzero(quality.traffic)
    rows = dict(cost_rows([cost], settings))
    for layer, (width, num_bytes) in enumerate(zip(widths, cost.layer_bytes, strict=True), 2):
        assert rows[f"\u2003layer {layer}, width {width}, forward and back"] == [format_bytes(num_bytes)]
    assert rows["Rounds and messages an epoch"] == [f"6 and {cost.messages:,}"]


def test_one_width_has_no_rows_by_layer(karate: Graph) -> None:
    one = PartitionExplorer(karate, methods="random")
    assert one._is_ready.wait(60)
    assert one.widths == (64,)
    costs = ask(one, "cost", widths=[64], epochs=200, link_gbit=1)["costs"]
    assert not any("layer 2" in label for label, *_ in costs["rows"])
    assert costs["model"].startswith("2-layer GraphSAGE 10 → 64 → 1,")
    one.close()


def test_widths_stand_in_both_tables_and_the_saved_picture(explorer: PartitionExplorer) -> None:
    settings = {"methods": list(explorer.methods), "num_parts": 4, "rng_seed": 0}
    answer = ask(explorer, "partition", **settings)
    for column, divided in zip(answer["columns"], explorer.partitions.values(), strict=True):
        shown = {row["label"]: row["text"] for row in column["figures"]}
        volume = divided.quality().comm_volume
        assert shown["Bytes of layer 2, width 256, float32"] == format_bytes(4 * 256 * volume)
        assert shown["Bytes of layer 3, width 64, float32"] == format_bytes(4 * 64 * volume)
    assert answer["costs"]["model"].startswith("3-layer GraphSAGE 10 → 256 → 64 → 1, full graph")
    page = explorer.static_html()
    assert "Bytes of layer 3, width 64" in page
    assert "layer 3, width 64, forward and back" in page
    assert explorer.snapshot()["cost"] == {"widths": [256, 64], "epochs": 200, "link_gbit": 1}


def test_what_is_typed_is_taken_and_told_to_other_views(
    explorer: PartitionExplorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr(explorer, "refresh", lambda: told.append(explorer.widths))
    for text, widths in (
        ("128,32", (128, 32)),
        (" 16 ; 8 4,", (16, 8, 4)),
        ("512", (512,)),
    ):
        answer = ask(explorer, "cost", widths=text, epochs=1000, link_gbit=100)
        assert answer["costs"]["settings"] == {"widths": list(widths), "epochs": 1000, "link_gbit": 100}
        assert (explorer.widths, explorer.epochs, explorer.link_gbit) == (widths, 1000, 100)
        assert len(answer["figures"]) == 2
    answer = ask(explorer, "cost", widths=[512])
    assert answer["costs"]["settings"] == {"widths": [512], "epochs": 1000, "link_gbit": 100}, "the rest stays"
    assert told == [(128, 32), (16, 8, 4), (512,)], "what did not change is not told"


@pytest.mark.parametrize(
    "text", ["", "  ", ",", "abc", "64, x", "0", "-64", "64.0", "1e3", "nan", "1000001", "9" * 5000, "64," * 17, "٦٤"]
)
def test_bad_text_is_refused_with_a_message_and_the_old_value_stays(explorer: PartitionExplorer, text: str) -> None:
    with pytest.raises(InputError, match=r"widths: expected 1 to 16 widths .* whole numbers from 1 to 1,000,000; got"):
        ask(explorer, "cost", widths=text, epochs=200, link_gbit=1)
    assert explorer.widths == (256, 64)


NO_WIDTHS = [0, -1, True, 6.4, 64.0, math.nan, "64", (), (64, 0), (64, "8"), itertools.count(1), b"64", [[64]], 10**7]


@pytest.mark.parametrize("widths", NO_WIDTHS)
def test_wrong_widths_are_refused_in_python(karate: Graph, explorer: PartitionExplorer, widths: Any) -> None:
    with pytest.raises(InputError, match="widths"):
        PartitionExplorer(karate, widths=widths)
    with pytest.raises(InputError, match="widths"):
        PartitionExplorer(karate, width=widths)
    with pytest.raises(InputError, match="widths"):
        explorer.widths = widths
    assert explorer.widths == (256, 64)


def test_one_of_two_names_gives_the_widths(karate: Graph) -> None:
    with pytest.raises(InputError, match="one of the two"):
        PartitionExplorer(karate, width=64, widths=(64, 32))
    explorer = PartitionExplorer(karate, methods="random", width=np.int64(128))
    assert explorer.widths == (128,)
    assert explorer.snapshot()["choices"]["widths"] == [16, 64, 128, 256]
    explorer.close()


def test_python_sets_what_the_costs_are_made_of(explorer: PartitionExplorer) -> None:
    explorer.widths, explorer.epochs, explorer.link_gbit = np.array([32, 8]), np.int64(300), np.float32(2.5)
    assert explorer.snapshot()["cost"] == {"widths": [32, 8], "epochs": 300, "link_gbit": 2.5}
    assert (explorer.snapshot()["choices"]["epochs"], explorer.snapshot()["choices"]["links"]) == (
        [50, 200, 300, 1000],
        [1, 2.5, 10, 100],
    )
    explorer.widths = 48
    assert explorer.widths == (48,)
    for name, value in (("epochs", 0), ("epochs", 1.5), ("epochs", True), ("link_gbit", -1), ("link_gbit", math.inf)):
        with pytest.raises(InputError, match=name):
            setattr(explorer, name, value)
    assert (explorer.epochs, explorer.link_gbit) == (300, 2.5)


def test_costs_may_be_chosen_before_anything_is_shown(explorer: PartitionExplorer) -> None:
    explorer._shown = ()  # what was to be shown was cancelled
    assert ask(explorer, "cost", widths="8", epochs=1, link_gbit=1) == {"costs": None, "figures": []}
    assert explorer.widths == (8,)


@pytest.mark.parametrize(
    ("name", "equal"),
    [("widths", (256.0, 64)), ("epochs", 200.0), ("link_gbit", True), ("num_parts", 4.0), ("rng_seed", False)]
    + [(name, None) for name in ("widths", "epochs", "link_gbit", "num_parts", "rng_seed")],
)
def test_none_and_what_equals_the_value_that_is_set_are_checked_too(
    explorer: PartitionExplorer, name: str, equal: Any
) -> None:
    before = getattr(explorer, name)
    assert equal is None or before == equal
    with pytest.raises(InputError, match=name):
        setattr(explorer, name, equal)
    assert getattr(explorer, name) is before


def test_one_width_in_an_array_is_held_as_a_tuple(explorer: PartitionExplorer) -> None:
    explorer.widths = 64
    explorer.widths = np.array([64])
    assert explorer.widths == (64,)
    assert type(explorer.widths) is tuple


@pytest.mark.parametrize("rng_seed", [-1, 2**31, 1.5, "0", None, True])
def test_a_seed_that_no_method_takes_is_refused_at_once(
    karate: Graph, explorer: PartitionExplorer, rng_seed: Any
) -> None:
    with pytest.raises(InputError, match="rng_seed"):
        PartitionExplorer(karate, rng_seed=rng_seed)
    with pytest.raises(InputError, match="rng_seed"):
        explorer.rng_seed = rng_seed
    assert explorer.rng_seed == 0
