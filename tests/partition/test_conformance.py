"""What every registered method must survive: the suite asks the registry, so a new method is in it at once."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from tests.partition.conftest import from_networkx, from_pairs, random_out_graph
from workbench.core.errors import InputError, MissingDependencyError
from workbench.graph import Graph
from workbench.partition import PARTITIONERS, EdgePartition, Partition, partition
from workbench.partition import base as partition_base
from workbench.partition.base import is_usable

METHODS = PARTITIONERS.names()
EDGE_CUT = [name for name in METHODS if PARTITIONERS.entry(name).factory.divides == "nodes"]
VERTEX_CUT = [name for name in METHODS if PARTITIONERS.entry(name).factory.divides == "edges"]
SEEDED = [name for name in METHODS if any(info.name == "rng_seed" for info in PARTITIONERS.entry(name).params)]

GRAPHS = {
    "karate": lambda: from_networkx(nx.karate_club_graph()),
    "star": lambda: from_networkx(nx.star_graph(30)),
    "clique": lambda: from_networkx(nx.complete_graph(12)),
    "disconnected": lambda: from_networkx(nx.disjoint_union_all([nx.cycle_graph(5)] * 5)),
    "isolated nodes": lambda: from_pairs([(0, 1), (1, 2)], 20),
    "no edges": lambda: from_pairs([], 9),
    "one node": lambda: from_pairs([], 1),
    "loops only": lambda: Graph.from_edge_index(np.array([[0, 1, 2], [0, 1, 2]]), 6),
    "parallel edges": lambda: from_pairs([(0, 1)] * 5 + [(1, 2), (2, 3), (3, 0)], 7),
    "asymmetric": lambda: random_out_graph(40, 3),
    "one way": lambda: from_pairs([(i, i + 1) for i in range(14)], 15, both=False),
}


@pytest.fixture(autouse=True)
def usable(request: pytest.FixtureRequest) -> None:
    method = request.node.callspec.params.get("method") if hasattr(request.node, "callspec") else None
    if method is not None and not is_usable(PARTITIONERS.entry(method).factory):
        pytest.skip(f"the optional package of {method} is not installed")


def check(made: Partition | EdgePartition, graph: Graph, num_parts: int) -> None:
    """One owner in range for every node or edge; no part is empty unless it is said."""
    quality = made.quality()
    if isinstance(made, EdgePartition):
        owners, count = made.edge_assignment, graph.num_edges
        assert quality.replication_factor >= 1
        assert quality.part_edges.sum() == graph.num_edges
        assert quality.part_masters.sum() == graph.num_nodes
        assert set(made.empty_parts) == set(range(num_parts)) - set(np.unique(owners))
        assert all(str(part) in repr(made) for part in made.empty_parts)
    else:
        owners, count = made.assignment, graph.num_nodes
        assert set(np.unique(owners)) == set(range(num_parts))
        assert quality.part_nodes.sum() == graph.num_nodes
        assert quality.edge_cut == graph.num_edges - quality.part_inner_edges.sum()
    assert owners.dtype == np.int32
    assert owners.shape == (count,)
    assert not owners.flags.writeable
    assert count == 0 or 0 <= owners.min() <= owners.max() < num_parts


@pytest.mark.parametrize("num_parts", [1, 2, 5, None], ids=["1", "2", "5", "n"])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("method", METHODS)
def test_awkward_graphs(method: str, name: str, num_parts: int | None) -> None:
    graph = GRAPHS[name]()
    num_parts = min(num_parts or graph.num_nodes, graph.num_nodes)
    check(partition(graph, num_parts, method), graph, num_parts)


@pytest.mark.parametrize("method", METHODS)
def test_equal_seeds_give_equal_parts_whatever_ran_before(karate: Graph, method: str) -> None:
    first = partition(karate, 5, method)
    np.random.seed(7)  # noqa: NPY002 (a method that drew from the global stream would be found out)
    second = partition(karate, 5, method)
    for name in ("assignment", "edge_assignment"):
        if name in type(first).__dataclass_fields__:
            assert np.array_equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize("method", SEEDED)
def test_another_seed_is_used(karate: Graph, method: str) -> None:
    made = [partition(karate, 4, method, rng_seed=rng_seed) for rng_seed in range(6)]
    owners = [one.edge_assignment if isinstance(one, EdgePartition) else one.assignment for one in made]
    assert any(not np.array_equal(owners[0], other) for other in owners[1:])


@pytest.mark.parametrize("method", METHODS)
def test_time_and_parameters_are_kept(karate: Graph, method: str) -> None:
    made = partition(karate, 3, method)
    assert made.elapsed_s > 0
    assert made.peak_memory_bytes >= 0
    assert made.method == method
    assert dict(made.params) == PARTITIONERS.create(method).to_dict()
    assert PARTITIONERS.entry(method).summary.strip()


@pytest.mark.parametrize("method", EDGE_CUT)
def test_a_map_of_two_halves_is_found_better_than_at_random(method: str) -> None:
    if method in ("random", "hash", "contiguous"):
        pytest.skip("it does not look at edges")
    rng = np.random.default_rng(0)
    names = rng.permutation(120)  # numbers tell nothing
    halves = nx.stochastic_block_model([60, 60], [[0.3, 0.01], [0.01, 0.3]], seed=1)
    graph = from_pairs(names[np.array(halves.edges())], 120)
    ratio = partition(graph, 2, method).quality().edge_cut_ratio
    assert ratio < 0.4  # at random: 0.5


@pytest.mark.parametrize("method", ["bfs", "community", "fennel", "label_propagation", "ldg", "metis"])
@pytest.mark.parametrize("num_parts", [3, 8])
def test_parts_keep_to_their_limit(cora: Graph, method: str, num_parts: int) -> None:
    made = partition(cora, num_parts, method)
    allowed = float(made.params.get("imbalance") or (0.031 if method == "metis" else 0.0))
    largest = np.ceil(cora.num_nodes * (1 + allowed) / num_parts)
    assert np.bincount(made.assignment).max() <= largest


@pytest.mark.parametrize("name", ["kahip", "mtkahypar"])
def test_a_missing_package_is_named_with_its_extra(karate: Graph, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_base, "available", lambda module: False)
    with pytest.raises(MissingDependencyError, match=rf"'{name}'.*gnn-workbench\[{name}\]"):
        partition(karate, 2, name)
    assert name not in partition_base.node_methods()
    assert "metis" in partition_base.node_methods()


@pytest.mark.parametrize("method", VERTEX_CUT)
def test_a_vertex_cut_is_refused_where_nodes_need_owners(karate: Graph, method: str) -> None:
    made = partition(karate, 4, method)
    for use in (lambda: made.assignment, lambda: made.matched_to(made), lambda: made.write_parts("nowhere")):
        with pytest.raises(InputError, match=rf"{method}' gives every edge an owner"):
            use()
    assert not hasattr(made, "no_such_name")


BOUNDED = [name for name in METHODS if any(info.name == "imbalance" for info in PARTITIONERS.entry(name).params)]


@pytest.mark.parametrize("method", BOUNDED)
def test_the_largest_imbalance_works_and_a_larger_one_is_refused(karate: Graph, method: str) -> None:
    check(partition(karate, 3, method, imbalance=partition_base.MAX_IMBALANCE), karate, 3)
    for imbalance in (1e18, 1e300, np.inf, np.nan, -0.1):
        with pytest.raises(InputError, match="imbalance"):
            partition(karate, 3, method, imbalance=imbalance)
