"""Data sets by name: shipped graphs, generators, and the rules that all of them keep."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.graph import Graph, SparseRows, check_graph, datasets
from workbench.graph.datasets import DATASETS, shipped
from workbench.graph.datasets.debian_files import depths, stack
from workbench.graph.datasets.generated import Generated
from workbench.graph.datasets.sbm import _triangle

GENERATED = ("rmat", "sbm", "barabasi_albert", "grid")
OFFLINE = ("debian", "wordnet", "karate", *GENERATED)


@pytest.mark.parametrize("name", OFFLINE)
def test_a_data_set_can_be_trained_on_and_says_where_it_comes_from(name: str) -> None:
    graph = datasets.load(name)
    assert graph.name == name
    assert graph.meta["source"]
    assert graph.is_symmetric()
    assert graph.num_classes == len(np.unique(graph.y))
    splits = [graph.train_nodes, graph.val_nodes, graph.test_nodes]
    assert len(np.unique(np.concatenate(splits))) == sum(map(len, splits)) == graph.num_nodes
    assert graph.x.shape[0] == graph.num_nodes
    assert {finding.severity for finding in check_graph(graph)} <= {"info"}
    assert graph.edge_order is None or name == "karate"  # what is made has no original order


def test_every_data_set_has_a_summary_and_explained_parameters() -> None:
    assert set(OFFLINE) | {"debian_files", "cora", "citeseer", "pubmed", "mutag", "enzymes"} == set(datasets.names())
    for entry in DATASETS:
        assert entry.summary
        assert all(info.help for info in entry.params)


def test_unknown_names_and_parameters_are_told() -> None:
    with pytest.raises(InputError, match="use 'debian'"):
        datasets.load("debain")
    with pytest.raises(InputError, match="features: expected one of"):
        datasets.load("debian", features="tfidf")
    with pytest.raises(InputError, match="an unknown keyword"):
        datasets.load("karate", directed=True)
    with pytest.raises(InputError, match="leave root out"):
        datasets.load("debian", root="/nowhere")


def test_an_object_can_be_loaded_instead_of_a_name() -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Mine(datasets.Dataset):
        def load(self, root: Path | None) -> Graph:
            return Graph.from_edge_index([[0], [1]], name=str(root))

    assert datasets.load(Mine(), root="/data").name == "/data"


def test_debian_is_quick_and_complete() -> None:
    start = time.process_time()  # a busy machine is no finding
    graph = datasets.load("debian")
    assert time.process_time() - start < 2
    assert graph.x.dtype == np.float32
    assert graph.x.shape == (63_436, 512)
    assert graph.class_names is not None
    assert graph.class_names[:2] == ("admin", "cli-mono")
    assert graph.node_names is not None
    libc = int(np.flatnonzero(graph.node_names == "libc6")[0])
    assert graph.in_degrees()[libc] == 21_815
    assert graph.class_names[graph.y[libc]] == "libs"  # type: ignore[index]
    assert [len(graph.train_nodes), len(graph.val_nodes), len(graph.test_nodes)] == [38_060, 12_690, 12_686]
    assert graph.meta["edge_type_names"] == ["Depends", "Pre-Depends", "Recommends", "Suggests", "Enhances"]


def test_debian_directed_keeps_each_relation() -> None:
    graph = datasets.load("debian", directed=True)
    assert graph.num_edges == 342_324
    assert np.bincount(graph.edge_data["type"]).tolist() == [274_536, 995, 34_196, 30_724, 1_873]
    assert graph.to_undirected().fingerprint == datasets.load("debian").fingerprint


def test_debian_undirected_keeps_the_strongest_relation_of_a_pair_in_both_directions() -> None:
    graph = datasets.load("debian")
    source, destination = graph.edge_index()
    forth = np.lexsort((destination, source))
    np.testing.assert_array_equal(graph.edge_data["type"], graph.edge_data["type"][forth])
    directed = datasets.load("debian", directed=True)
    strongest: dict[tuple[int, int], int] = {}
    for u, v, kind in zip(*directed.edge_index().tolist(), directed.edge_data["type"].tolist(), strict=True):
        pair = (min(u, v), max(u, v))
        strongest[pair] = min(kind, strongest.get(pair, 9))
    some = np.arange(0, graph.num_edges, 997)
    found = [strongest[min(u, v), max(u, v)] for u, v in zip(source[some], destination[some], strict=True)]
    assert graph.edge_data["type"][some].tolist() == found


def test_features_are_log1p_of_the_counts() -> None:
    counts = datasets.load("debian", features="counts").x
    np.testing.assert_allclose(datasets.load("debian").x[:500], np.log1p(counts[:500]), rtol=1e-6)
    assert counts.sum() == counts.astype(np.int64).sum() > 2_269_545
    assert np.count_nonzero(counts) == 2_269_545


def test_wordnet() -> None:
    graph = datasets.load("wordnet")
    assert isinstance(graph.x, SparseRows)
    assert graph.node_names is not None
    assert graph.node_names[0] == "entity"
    assert "Princeton University" in graph.meta["licence"]
    directed = datasets.load("wordnet", directed=True)
    assert directed.num_edges == 364_543
    hypernyms = directed.meta["edge_type_names"].index("hypernym")
    assert np.count_nonzero(directed.edge_data["type"] == hypernyms) == 89_089


@pytest.mark.slow
def test_debian_files() -> None:
    graph = datasets.load("debian_files")
    packages = datasets.load("debian")
    assert graph.num_edges - packages.num_edges == 2_764_190
    kinds = np.bincount(graph.edge_data["type"], minlength=7)
    assert (kinds[5], kinds[6]) == (2 * 762_376, 2 * 619_719)
    np.testing.assert_array_equal(graph.train_nodes, packages.train_nodes)
    np.testing.assert_array_equal(graph.x[np.arange(5)], packages.x[:5])
    assert graph.x.shape == (683_156, 512)
    assert graph.y is not None
    assert (graph.y >= 0).sum() == 63_436
    assert graph.node_names is not None
    assert graph.node_names[[0, 63_436]].tolist() == ["0ad", "directory 0"]
    assert graph.node_data["depth"][63_435:63_438].tolist() == [-1, 0, 1]


def test_depths_follow_the_parents() -> None:
    assert depths(np.array([0, 0, 1, 2, 1, 0])).tolist() == [0, 1, 2, 3, 2, 1]


def test_stacked_rows() -> None:
    first = SparseRows(indptr=np.array([0, 1]), indices=np.array([1]), values=np.array([2.0]), num_columns=2)
    assert np.asarray(stack(first, first)).tolist() == [[0, 2], [0, 2]]


def test_shipped_files_equal_their_source(data_root: Path) -> None:
    for source in ("debian/debian_bookworm.npz", "debian/debian_bookworm_files.npz", "wordnet/wordnet30.npz"):
        ours, theirs = shipped.FILES / Path(source).name, data_root / source
        assert hashlib.sha256(ours.read_bytes()).digest() == hashlib.sha256(theirs.read_bytes()).digest()
    assert (shipped.FILES / "wordnet-LICENSE.txt").read_bytes() == (data_root / "wordnet/LICENSE.txt").read_bytes()
    for source in ("debian/build_debian_graph.py", "wordnet/build_wordnet_graph.py"):
        assert (shipped.FILES / Path(source).name).read_bytes() == (data_root / source).read_bytes()


def test_shipped_data_can_be_read_from_a_folder(data_root: Path) -> None:
    assert datasets.load("debian", root=data_root / "debian").fingerprint == datasets.load("debian").fingerprint


@pytest.mark.parametrize("name", GENERATED)
def test_generators_are_keyed(name: str) -> None:
    first, second, other = datasets.load(name), datasets.load(name), datasets.load(name, rng_seed=1)
    assert first.store() == second.store()
    assert other.store() != first.store()
    if name != "grid":
        assert other.fingerprint != first.fingerprint


@pytest.mark.parametrize("name", GENERATED)
def test_generators_without_features_or_labels(name: str) -> None:
    plain = {"num_features": 0} if name == "sbm" else {"num_features": 0, "num_classes": 0}
    graph = datasets.load(name, **plain)
    assert graph.x is None
    assert (graph.y is None) == (name != "sbm")
    assert graph.fingerprint == datasets.load(name).fingerprint


@pytest.mark.parametrize("name", GENERATED)
def test_planted_labels_follow_edges_and_features_tell_them(name: str) -> None:
    graph = datasets.load(name)
    stats = graph.stats()
    chance = sum((count / graph.num_nodes) ** 2 for count in stats.nodes_per_class)
    assert stats.homophily is not None
    assert stats.homophily > 1.3 * chance
    assert graph.y is not None
    centres = np.stack([graph.x[graph.y == label].mean(axis=0) for label in range(graph.num_classes)])
    nearest = ((graph.x[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == graph.y).mean() > 0.9
    noisy = datasets.load(name, feature_noise=100.0)
    assert noisy.x.std() > 50


@pytest.mark.parametrize("num_nodes", [1, 2, 3, 100])
@pytest.mark.parametrize("name", ["rmat", "sbm", "barabasi_albert"])
def test_generators_of_any_size(name: str, num_nodes: int) -> None:
    graph = datasets.load(name, num_nodes=num_nodes)
    stats = graph.stats()
    assert (stats.num_nodes, stats.num_self_loops, stats.num_duplicates, stats.symmetric) == (num_nodes, 0, 0, True)


def test_rmat_has_hubs_wherever_they_are() -> None:
    graph = datasets.load("rmat", num_nodes=3000, num_edges=30_000)
    degrees = graph.stats().degrees
    assert degrees.max > 20 * degrees.mean > 20 * degrees.median
    top = np.argsort(graph.in_degrees())[-30:]
    assert top.min() < 1000 < 2000 < top.max()
    flat = datasets.load("rmat", num_nodes=3000, num_edges=30_000, a=0.25, b=0.25, c=0.25)
    assert flat.stats().degrees.max < 60


def test_sbm_has_the_expected_degree_and_homophily() -> None:
    stats = datasets.load("sbm", num_nodes=4000, num_classes=5, mean_degree=12.0, homophily=0.7).stats()
    assert stats.degrees.mean == pytest.approx(12, rel=0.03)
    assert stats.homophily == pytest.approx(0.7, abs=0.02)


def test_sbm_draws_any_pair_within_a_block() -> None:
    draw = np.random.default_rng(0)
    rows, columns = _triangle(draw, 40, 1.0)
    assert {*zip(rows.tolist(), columns.tolist(), strict=True)} == {(i, j) for i in range(40) for j in range(i)}


def test_barabasi_albert_has_a_power_law_tail() -> None:
    degrees = datasets.load("barabasi_albert", num_nodes=20_000, edges_per_node=4).in_degrees()
    tail = degrees[degrees >= 20]
    exponent = 1 + len(tail) / np.log(tail / 19.5).sum()
    assert exponent == pytest.approx(3, abs=0.35)
    assert degrees.argmax() < 100


@pytest.mark.parametrize("periodic", [False, True])
def test_grid_is_the_grid_of_networkx(periodic: bool) -> None:
    graph = datasets.load("grid", height=4, width=5, periodic=periodic)
    reference = nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 5, periodic=periodic), ordering="sorted")
    assert graph.fingerprint == Graph.from_networkx(reference).fingerprint


def test_the_base_of_generators_is_abstract() -> None:
    with pytest.raises(NotImplementedError):
        Generated().edges()
