"""The tiny graphs keep what their names promise."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.testing.graphs import NAMED, path, random, star


@pytest.mark.parametrize("name", NAMED)
def test_a_named_graph_carries_its_name_and_is_the_same_each_time(name: str) -> None:
    first, second = NAMED[name](), NAMED[name]()
    assert first.name == name
    assert first.store() == second.store()


@pytest.mark.parametrize("name", sorted(set(NAMED) - {"empty", "unlabelled"}))
def test_a_labelled_graph_can_be_trained_on(name: str) -> None:
    graph = NAMED[name]()
    assert graph.num_features
    assert graph.num_classes >= 2
    assert len(graph.train_nodes)
    splits = np.concatenate([graph.train_nodes, graph.val_nodes, graph.test_nodes])
    assert sorted(splits.tolist()) == list(range(graph.num_nodes))


def test_each_has_its_difficulty() -> None:
    stats = {name: make().stats() for name, make in NAMED.items()}
    assert stats["path"].degrees.max == 2
    assert stats["cycle"].degrees.mean == 2
    assert stats["star"].degrees.max == stats["star"].num_nodes - 1
    assert stats["clique"].num_edges == 6 * 5
    assert stats["two_components"].num_components == 2
    assert stats["isolated_nodes"].num_isolated == 5
    assert stats["self_loops"].num_self_loops == 3
    assert stats["multigraph"].num_duplicates == 6
    assert not stats["directed"].symmetric
    assert all(record.symmetric for name, record in stats.items() if name != "directed")
    assert (stats["no_edges"].num_nodes, stats["no_edges"].num_edges) == (5, 0)
    assert stats["one_node"].num_nodes == 1
    assert stats["empty"].num_nodes == 0
    assert stats["random"].num_duplicates > 0 < stats["random"].num_self_loops


def test_sizes_can_be_chosen() -> None:
    assert path(1).num_edges == 0
    assert star(40).in_degrees()[0] == 40
    assert random(50, 100, rng_seed=1).fingerprint != random(50, 100, rng_seed=2).fingerprint
