"""Graphs that partitioners trip over, and the two whose figures are published."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from workbench.graph import Graph


def from_pairs(pairs: object, num_nodes: int, *, both: bool = True, **data: object) -> Graph:
    edges = np.asarray(pairs, dtype=np.int64).reshape(-1, 2).T
    if both:
        edges = np.concatenate([edges, edges[::-1]], axis=1)
    return Graph.from_edge_index(edges, num_nodes, **data)


def from_networkx(graph: nx.Graph) -> Graph:
    return from_pairs(list(graph.edges()), graph.number_of_nodes())


def random_out_graph(num_nodes: int, out_degree: int, rng_seed: int = 0) -> Graph:
    """Every node points at a few random others: asymmetric, the input on which bare METIS crashes or hangs."""
    rng = np.random.default_rng(rng_seed)
    source = np.repeat(np.arange(num_nodes), out_degree)
    return Graph.from_edge_index(np.stack([source, rng.integers(0, num_nodes, len(source))]), num_nodes)


@pytest.fixture(scope="session")
def karate() -> Graph:
    return from_networkx(nx.karate_club_graph())


@pytest.fixture(scope="session")
def planetoid(data_root: Path) -> Callable[[str], Graph]:
    """Read a citation graph from the raw file of its edges: topology and the public training nodes."""

    def read(name: str) -> Graph:
        raw = data_root / "planetoid" / name / "raw"
        with (raw / f"ind.{name.lower()}.graph").open("rb") as file:
            lists = pickle.load(file, encoding="latin1")
        with (raw / f"ind.{name.lower()}.y").open("rb") as file:
            num_train = len(pickle.load(file, encoding="latin1"))
        both = {(u, v) for u, others in lists.items() for v in others if u != v}
        both |= {(v, u) for u, v in both}
        edges = np.array(sorted(both)).T
        return Graph.from_edge_index(edges, len(lists), train_nodes=np.arange(num_train), name=name)

    return read


@pytest.fixture(scope="session")
def cora(planetoid: Callable[[str], Graph]) -> Graph:
    return planetoid("Cora")


@pytest.fixture(scope="session")
def pubmed(planetoid: Callable[[str], Graph]) -> Graph:
    return planetoid("PubMed")
