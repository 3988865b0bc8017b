"""Every store hands out the rows of the graph, whatever they are made of and wherever they lie."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from scipy import sparse

from workbench.core.errors import InputError
from workbench.gather import STORES
from workbench.gather.plan import _store_of
from workbench.gather.rows import RowStore, is_mapped, parts_of
from workbench.graph import Graph
from workbench.graph.sparse_rows import SparseRows

NUM_NODES, WIDTH = 50, 6
KINDS = ("dense", "sparse", "none")
IDS = [np.array([3, 3, 49, 0]), np.arange(NUM_NODES)[::-1], np.zeros(0, np.int64), np.arange(0, 50, 7)]


def dense_rows() -> np.ndarray:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(NUM_NODES, WIDTH)).astype(np.float32)
    rows[rng.random(rows.shape) < 0.7] = 0
    return rows


def expected_rows(kind: str) -> np.ndarray:
    return np.zeros((NUM_NODES, 0), np.float32) if kind == "none" else dense_rows()


def graph_with(kind: str) -> Graph:
    x = {"dense": dense_rows(), "sparse": sparse.csr_matrix(dense_rows()), "none": None}[kind]
    ring = np.stack([np.arange(NUM_NODES), np.roll(np.arange(NUM_NODES), 1)])
    return Graph.from_edge_index(ring, NUM_NODES, x=x)


@pytest.mark.parametrize("mapped", [False, True], ids=["in memory", "mapped"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", STORES.names())
def test_rows_are_those_of_the_graph(name: str, kind: str, mapped: bool) -> None:
    graph, rows = graph_with(kind), expected_rows(kind)
    store = STORES.create(name).open(Graph.open(graph.store()) if mapped else graph)
    assert (store.num_rows, store.width, store.dtype) == (NUM_NODES, rows.shape[1], np.float32)
    for ids in IDS:
        found = store.gather(ids)
        assert found.dtype == np.float32
        assert np.array_equal(found, rows[ids])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", STORES.names())
def test_rows_go_where_they_are_wanted(name: str, kind: str) -> None:
    store, rows = STORES.create(name).open(graph_with(kind)), expected_rows(kind)
    slot = np.full((10, rows.shape[1]), np.nan, np.float32)
    out = slot[2:6]
    assert store.gather(IDS[0], out=out) is out
    assert np.array_equal(out, rows[IDS[0]])
    assert np.isnan(slot[:2]).all()
    assert np.isnan(slot[6:]).all()


@pytest.mark.parametrize("name", STORES.names())
def test_wrong_ids_and_buffers_are_errors(name: str) -> None:
    store = STORES.create(name).open(graph_with("dense"))
    for ids in ([50], [-1, 3]):
        with pytest.raises(InputError, match="ids from 0 to 49"):
            store.gather(np.array(ids))
    for out in (np.empty((3, WIDTH), np.float32), np.empty((4, WIDTH), np.float64)):
        with pytest.raises(InputError, match=r"out: expected float32 \(4, 6\)"):
            store.gather(IDS[0], out=out)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_where_the_rows_lie(kind: str) -> None:
    graph = graph_with(kind)
    folder_graph = Graph.open(graph.store())

    def mapped(name: str, source: Graph) -> bool:
        store = STORES.create(name).open(source)
        assert isinstance(store, RowStore)
        return all(is_mapped(part) for part in parts_of(store.rows) if part.size)

    assert mapped("mmap", graph)
    assert mapped("mmap", folder_graph)
    assert not mapped("memory", folder_graph)
    in_memory = STORES.create("memory").open(graph)
    assert isinstance(in_memory, RowStore)
    assert in_memory.rows is graph.x, "rows in memory are shared, not copied"


def test_rows_of_other_types_come_as_float32() -> None:
    rows = np.arange(12, dtype=np.float16).reshape(4, 3)
    found = RowStore(rows).gather(np.array([2, 0]))
    assert found.dtype == np.float32
    assert found.tolist() == [[6, 7, 8], [0, 1, 2]]


def test_makers_of_one_process_share_a_store_while_one_lives(make_plan) -> None:
    one, same, other = make_plan(), make_plan(batch_size=3), make_plan(store={"name": "mmap", "params": {}})
    store = _store_of(one)
    assert _store_of(same) is store
    assert _store_of(other) is not store
    watched = weakref.ref(store)
    del store
    gc.collect()
    assert watched() is None, "features leave memory with the last maker"


def test_sparse_rows_stay_sparse_in_memory() -> None:
    store = STORES.create("memory").open(Graph.open(graph_with("sparse").store()))
    assert isinstance(store, RowStore)
    assert isinstance(store.rows, SparseRows)
