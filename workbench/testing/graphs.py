"""Tiny graphs with a name, for every test: each is the smallest that has its difficulty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.rng import generator
from workbench.graph.datasets.karate import Karate
from workbench.graph.folder import arrays_of
from workbench.graph.graph import Graph
from workbench.graph.graph_set import GRAPH_IDS

Array = NDArray[Any]
NUM_FEATURES, NUM_CLASSES = 4, 3


def build(name: str, edges: Any, num_nodes: int, *, both_ways: bool = True, labelled: bool = True) -> Graph:
    """Return a graph with keyed features, labels and a split (every second node trains, a fourth validates).

    Parameters
    ----------
    edges : sequence of (source, destination)
    both_ways : bool
        Add the reverse of every edge that is no self-loop.
    """
    pairs = np.asarray(edges, np.int64).reshape(-1, 2).T
    if both_ways:
        apart = pairs[:, pairs[0] != pairs[1]]
        pairs = np.concatenate([pairs, apart[::-1]], axis=1)
    if not labelled or num_nodes == 0:
        return Graph.from_edge_index(pairs, num_nodes, name=name)
    nodes = np.arange(num_nodes)
    labels = nodes % NUM_CLASSES
    noise = generator(num_nodes, pairs.shape[1]).normal(size=(num_nodes, NUM_FEATURES))
    centres = np.eye(NUM_CLASSES, NUM_FEATURES)[labels]
    return Graph.from_edge_index(
        pairs,
        num_nodes,
        x=(centres + 0.3 * noise).astype(np.float32),
        y=labels,
        num_classes=NUM_CLASSES,
        train_nodes=nodes[::2],
        val_nodes=nodes[1::4],
        test_nodes=nodes[3::4],
        name=name,
    )


def path(num_nodes: int = 6) -> Graph:
    """0 - 1 - 2 - ... ."""
    return build("path", [(i, i + 1) for i in range(num_nodes - 1)], num_nodes)


def cycle(num_nodes: int = 8) -> Graph:
    """A ring: every degree is 2."""
    return build("cycle", [(i, (i + 1) % num_nodes) for i in range(num_nodes)], num_nodes)


def star(num_leaves: int = 12) -> Graph:
    """Node 0 joined to every other: one hub."""
    return build("star", [(0, i) for i in range(1, num_leaves + 1)], num_leaves + 1)


def clique(num_nodes: int = 6) -> Graph:
    """Every pair joined."""
    return build("clique", [(i, j) for i in range(num_nodes) for j in range(i)], num_nodes)


def two_components() -> Graph:
    """A path of 5 and a triangle, not joined."""
    return build("two_components", [(0, 1), (1, 2), (2, 3), (3, 4), (5, 6), (6, 7), (7, 5)], 8)


def isolated_nodes() -> Graph:
    """A triangle among nodes 1 to 3; node 0, node 4 and the tail 5 to 7 have no edge."""
    return build("isolated_nodes", [(1, 2), (2, 3), (3, 1)], 8)


def self_loops() -> Graph:
    """A path of 5 with self-loops at 0 and 3, and one lone node that has nothing but its self-loop."""
    return build("self_loops", [(0, 1), (1, 2), (2, 3), (3, 4), (0, 0), (3, 3), (5, 5)], 6)


def multigraph() -> Graph:
    """Parallel edges: 0 - 1 three times, 1 - 2 twice, 2 - 3 once."""
    return build("multigraph", [(0, 1), (1, 2), (0, 1), (2, 3), (0, 1), (1, 2)], 4)


def directed() -> Graph:
    """A citation-like graph: edges run from later nodes to earlier ones only; node 5 has no in-edge."""
    return build("directed", [(1, 0), (2, 0), (2, 1), (3, 1), (4, 2), (5, 3), (5, 4), (5, 0)], 6, both_ways=False)


def no_edges() -> Graph:
    """Five nodes, no edge."""
    return build("no_edges", [], 5)


def one_node() -> Graph:
    """One node, no edge."""
    return build("one_node", [], 1)


def empty() -> Graph:
    """Neither node nor edge."""
    return build("empty", [], 0)


def unlabelled() -> Graph:
    """A path of 5 that carries nothing."""
    return build("unlabelled", [(0, 1), (1, 2), (2, 3), (3, 4)], 5, labelled=False)


def karate() -> Graph:
    """Zachary's karate club: 34 nodes, 156 directed edges, 2 classes."""
    return Karate().load(None)


def random(num_nodes: int = 200, num_edges: int = 1000, *, rng_seed: int = 0) -> Graph:
    """Uniform random edges, both ways, parallel ones and self-loops included as they fall."""
    edges = generator(rng_seed, num_nodes, num_edges).integers(0, max(1, num_nodes), size=(num_edges, 2))
    return build("random", edges, num_nodes)


def union(*sizes: int, rng_seed: int = 0) -> Graph:
    """Random graphs of these sizes side by side, to classify them: of three, one validates or tests, two train."""
    ids = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.cumsum(sizes) - np.asarray(sizes)
    draws = [
        start + generator(rng_seed, place, size).integers(0, size, (2 * size, 2))
        for place, (start, size) in enumerate(zip(starts, sizes, strict=True))
    ]
    return build("union", np.concatenate(draws), len(ids)).with_data(
        y=ids % NUM_CLASSES,
        node_data={GRAPH_IDS: ids},
        train_nodes=np.flatnonzero(ids % 3 > 0),
        val_nodes=np.flatnonzero(ids % 6 == 0),
        test_nodes=np.flatnonzero(ids % 6 == 3),
    )


def assert_same(first: Graph, second: Graph) -> None:
    """Assert that two graphs hold the same arrays, of the same types, under the same names."""
    ours, theirs = arrays_of(first), arrays_of(second)
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        assert array.dtype == theirs[name].dtype, name
        np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    for name in ("name", "class_names", "num_classes", "num_features", "fingerprint", "meta"):
        assert getattr(first, name) == getattr(second, name), name


NAMED: dict[str, Callable[[], Graph]] = {
    make.__name__: make
    for make in (
        path,
        cycle,
        star,
        clique,
        two_components,
        isolated_nodes,
        self_loops,
        multigraph,
        directed,
        no_edges,
        one_node,
        empty,
        unlabelled,
        karate,
        random,
    )
}
"""Name -> builder: ``NAMED["star"]()``; a test over all of them meets every difficulty above."""
