"""How a graph shows itself: complete, escaped, without anything from outside."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import sparse

from workbench.graph import Graph, SparseRows
from workbench.graph.display import degree_bin, degree_histogram
from workbench.testing.graphs import NAMED, karate, path


class Checker(HTMLParser):
    """Collects the tags, and counts those that stay open."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.tags.add(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attributes: object) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", NAMED)
def test_html_is_well_formed_for_every_graph(name: str) -> None:
    graph = NAMED[name]()
    for html in (graph._repr_html_(), graph.stats()._repr_html_()):
        assert Checker(html).open == []
        assert f"{graph.num_nodes:,}" in html


def test_text_names_what_the_graph_has() -> None:
    assert repr(karate()) == "Graph('karate': 34 nodes, 156 edges, 34 features, 2 classes)"
    assert repr(NAMED["unlabelled"]()) == "Graph('unlabelled': 5 nodes, 8 edges)"


def test_html_says_how_features_are_kept() -> None:
    graph = karate()
    assert "34 × float32, 4.52 KiB<" in graph._repr_html_()
    assert "4.52 KiB, mapped<" in Graph.open(graph.store())._repr_html_()
    sparse_rows = SparseRows.from_scipy(sparse.eye_array(34))
    assert "B, sparse<" in graph.with_data(x=sparse_rows)._repr_html_()


def test_names_from_data_are_text() -> None:
    evil = "<img src=x onerror=alert(1)>"
    graph = Graph.from_edge_index([[0], [1]], name=evil, node_data={evil: [1, 2]}, edge_data={evil: [1]})
    for html in (graph._repr_html_(), graph.stats()._repr_html_()):
        assert "img" not in Checker(html).tags
        assert "&lt;img" in html


def test_statistics_are_told_with_their_meaning() -> None:
    stats = karate().stats()
    assert "degree              mean 4.6, median 3, p99 16.67, max 17" in repr(stats)
    assert 'title="share of edges within one class' in stats._repr_html_()


def test_degrees_are_binned_by_doublings() -> None:
    assert degree_histogram(np.array([0, 1, 2, 3, 4, 7, 8, 0])).tolist() == [2, 1, 2, 2, 1]
    assert [degree_bin(i) for i in range(5)] == ["0", "1", "2–3", "4–7", "8–15"]


def test_targets_are_not_called_classes() -> None:
    numbers = path(4).with_data(y=[0.5, 1.0, 2.0, 3.0])
    labels = path(4).with_data(y=[[0.0, 1.0]] * 4)
    assert "1 target)" in repr(numbers)
    assert "2 targets)" in repr(labels)
    assert "2 targets" not in repr(path(4))
    assert "targets of y" in labels._repr_html_()
