"""Local ids for the nodes of a batch: one a node, or one a node and tree where trees lie side by side."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.sampling import kernels, kernels_trees, kernels_whole
from workbench.sampling.room import written
from workbench.sampling.scratch import Scratch

Ids = NDArray[np.int64]
NO_TREES: Ids = np.empty(0, np.int64)


class Numbering(Protocol):
    """Gives the nodes of a batch their local ids, in the order in which they are found."""

    nodes: Ids
    count: int

    def trees_of(self, first: int) -> Ids:
        """Return the trees of the nodes from local id `first` on; empty where there are no trees."""

    def number(self, indices: NDArray[Any], edge_ids: Ids, destinations: Ids, sources: Ids) -> None:
        """Write the local ids of the edges' sources, new ones from `count` on."""

    def join(self, indptr: Ids, indices: NDArray[Any]) -> tuple[Ids, Ids, Ids]:
        """Return source, destination and id of all edges among the nodes (of a tree), by destination."""


class NodeNumbering:
    """One local id a node, kept in the slots of a thread's scratch.

    Raises
    ------
    InputError
        If a seed comes twice.
    """

    def __init__(self, seed_nodes: Ids, scratch: Scratch) -> None:
        self._slots, self.tag = scratch.slots, scratch.next_tag()
        self.nodes: Ids = np.empty(len(seed_nodes) + 1, np.int64)
        self.count = len(seed_nodes)
        twice = kernels.enter_seeds(seed_nodes, self._slots, self.tag, self.nodes)
        if twice >= 0:
            findings = Findings("sample")
            where, got = "seed_nodes", f"node {seed_nodes[twice]} again at position {twice}"
            findings.add(where, "each node once", got, "pass numpy.unique(seed_nodes)")
            findings.raise_if_any()

    def trees_of(self, first: int) -> Ids:
        return NO_TREES

    def number(self, indices: NDArray[Any], edge_ids: Ids, destinations: Ids, sources: Ids) -> None:
        most = min(len(self._slots), self.count + len(edge_ids))
        self.nodes = _grown(self.nodes, self.count, most + 1)  # one to spare: every edge writes behind the last node
        self.count = kernels.number_sources(
            indices, edge_ids, self._slots, self.tag, self.nodes, self.count, sources
        )  # fmt: skip

    def join(self, indptr: Ids, indices: NDArray[Any]) -> tuple[Ids, Ids, Ids]:
        nodes = self.nodes[: self.count]
        return written(
            lambda *room: kernels_whole.join_nodes(indptr, indices, nodes, self._slots, self.tag, *room),
            room_for=4 * len(nodes),
            kinds=(np.int64,) * 3,
        )


class TreeNumbering:
    """One local id for each node of each seed's tree; a seed may come twice, and has two trees."""

    def __init__(self, seed_nodes: Ids) -> None:
        self.nodes: Ids = seed_nodes.copy()
        self.trees: Ids = np.arange(len(seed_nodes))
        self.count = len(seed_nodes)
        self._table: Ids = np.zeros(0, np.int64)
        self._reserve(2 * self.count)

    def trees_of(self, first: int) -> Ids:
        return self.trees[first : self.count]

    def number(self, indices: NDArray[Any], edge_ids: Ids, destinations: Ids, sources: Ids) -> None:
        self._reserve(self.count + len(edge_ids))
        self.count = kernels_trees.number_pairs(
            indices, edge_ids, destinations, self.nodes, self.trees, self.count, self._table, sources
        )

    def join(self, indptr: Ids, indices: NDArray[Any]) -> tuple[Ids, Ids, Ids]:
        nodes, trees = self.nodes[: self.count], self.trees[: self.count]
        return written(
            lambda *room: kernels_trees.join_pairs(indptr, indices, nodes, trees, self._table, *room),
            room_for=4 * len(nodes),
            kinds=(np.int64,) * 3,
        )

    def _reserve(self, most: int) -> None:
        """Make room for `most` pairs; the table stays at least half empty."""
        self.nodes = _grown(self.nodes, self.count, most)
        self.trees = _grown(self.trees, self.count, most)
        if len(self._table) < 2 * most + 1:
            self._table = np.zeros(1 << (2 * most + 1).bit_length(), np.int64)
            kernels_trees.enter_pairs(self.nodes, self.trees, self.count, self._table)


def _grown(array: Ids, count: int, size: int) -> Ids:
    larger = np.empty(size, np.int64)
    larger[:count] = array[:count]
    return larger
