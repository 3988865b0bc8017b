"""The graph: immutable topology with node and edge data, in memory or mapped from a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from workbench.core.given import require_path
from workbench.graph import build, convert, convert_list, csc, display, folder, hashing, parquet, store
from workbench.graph.build import GraphData
from workbench.graph.node_data import Columns, Names, frozen

if TYPE_CHECKING:
    from workbench.graph.stats import GraphStats

Array = NDArray[Any]
_OF_TOPOLOGY = ("fingerprint", "symmetric")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Graph:
    """A directed graph in compressed columns (in-edges by destination) with data on nodes and edges.

    Use a constructor: :meth:`from_edge_index`, :meth:`from_pyg`, :meth:`from_pyg_list`, :meth:`from_networkx`,
    :meth:`from_scipy`, :meth:`from_parquet`, :meth:`open`.

    Parameters
    ----------
    indptr : array, int64 (n + 1)
    indices : array, int32 (int64 from 2^31 nodes on) (m)
        ``indices[indptr[v]:indptr[v + 1]]`` are the sources of v's in-edges, ascending; an edge's id is its position.
    node_data, edge_data : mapping of name -> column
        Read-only; edge data is in the order of edge ids.
    name : str
    class_names : tuple of str or None
    folder : Path or None
        Where the arrays are mapped from.
    meta : mapping of JSON values
        Where the graph comes from.
    edge_order : array (m) or None
        Original position of each edge; None where it equals the edge id.
    """

    indptr: Array
    indices: Array
    node_data: Columns = field(default_factory=Columns)
    edge_data: Columns = field(default_factory=Columns)
    name: str = "graph"
    names: Names | None = None
    class_names: tuple[str, ...] | None = None
    class_count: int | None = None
    folder: Path | None = None
    meta: Mapping[str, Any] = field(default_factory=Columns)
    edge_order: Array | None = None
    _cache: dict[str, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        assert self.indptr.dtype == np.int64, "indptr is int64"
        assert len(self.indptr) >= 1, "indptr has n + 1 entries"
        assert self.indptr[-1] == len(self.indices), "indptr ends at the number of edges"
        for key in ("indptr", "indices", "edge_order"):
            object.__setattr__(self, key, frozen(getattr(self, key)))
        if not isinstance(self.meta, Columns):
            object.__setattr__(self, "meta", Columns(self.meta))

    @classmethod
    def from_edge_index(cls, edge_index: Any, num_nodes: int | None = None, **data: Unpack[GraphData]) -> Graph:
        """Build from edges ``(2, m)``: a row of sources and a row of destinations.

        Parameters
        ----------
        edge_index : array, tensor or nested lists, whole numbers (2, m)
        num_nodes : int, optional
            Default: the rows of `x` or `y`, else the largest id + 1.
        **data
            ``x``, ``y``, ``train_nodes``, ``val_nodes``, ``test_nodes`` (ids or masks), ``node_data``, ``edge_data``,
            ``num_classes``, ``node_names``, ``class_names``, ``name``, ``meta``: see :class:`GraphData`.

        Raises
        ------
        InputError
            With every fault that was found: where, expected, got, fix.
        """
        return cls(**build.fields_from_edges(edge_index, num_nodes, data, "Graph.from_edge_index"))

    @classmethod
    def from_pyg(cls, data: Any, *, split: int = 0, **more: Unpack[GraphData]) -> Graph:
        """Build from a PyG ``Data``: edges, x, y, masks, and every further node or edge attribute as a column.

        ``edge_weight``, ``edge_attr``, ``edge_type`` and ``edge_time`` become the edge columns ``weight``, ``attr``,
        ``type`` and ``time``. Where masks have several columns, `split` chooses one. What `more` holds is put over
        what `data` has.
        """
        return cls(**convert.fields_from_pyg(data, split, more))

    @classmethod
    def from_pyg_list(
        cls,
        graphs: Iterable[Any],
        *,
        train_graphs: Any = None,
        val_graphs: Any = None,
        test_graphs: Any = None,
        **more: Unpack[GraphData],
    ) -> Graph:
        """Build one graph of many independent ones (PyG ``Data``, one label each), side by side, to classify them.

        Splits are positions in the list, or masks over it. The node column ``graph_ids`` says whose a node is; its
        ``y`` is the label of its graph.
        """
        splits = {"train_graphs": train_graphs, "val_graphs": val_graphs, "test_graphs": test_graphs}
        return cls(**convert_list.fields_from_pyg_list(graphs, splits, more))

    @classmethod
    def from_networkx(cls, graph: Any, *, label: str | None = None, **more: Unpack[GraphData]) -> Graph:
        """Build from a networkx graph; an undirected edge counts in both directions.

        Numeric attributes that all nodes or all edges have become columns; `label` names the node attribute (of any
        type) that becomes y, its values sorted into `class_names`.
        """
        return cls(**convert.fields_from_networkx(graph, label, more))

    @classmethod
    def from_scipy(cls, matrix: Any, **more: Unpack[GraphData]) -> Graph:
        """Build from a SciPy sparse (n, n) matrix: entry (i, j) is an edge from i to j, its value the weight."""
        return cls(**convert.fields_from_scipy(matrix, more))

    @classmethod
    def from_parquet(cls, edges: str | Path, nodes: str | Path | None = None, **more: Unpack[GraphData]) -> Graph:
        """Build from Parquet files.

        Parameters
        ----------
        edges : path
            Columns ``source`` and ``destination``; further columns of numbers become edge data.
        nodes : path, optional
            One row a node: ``id`` (what edges refer to, whole numbers or text; default the row number), ``x`` (lists of
            numbers), ``y`` or ``label``, ``split`` (train, val, test), ``name``; further columns become node data.
        """
        return cls(**parquet.fields_from_parquet(edges, nodes, more))

    @classmethod
    def open(cls, path: str | Path, *, verify: bool = False) -> Graph:
        """Map a folder written by :meth:`save`; `verify` reads everything and compares the checksums."""
        return folder.open_graph(cls, require_path(path, "path", "Graph.open"), verify=verify)

    def save(self, path: str | Path) -> Path:
        """Write a folder under a temporary name, then rename it: an earlier graph there stays whole until the end."""
        return folder.save_graph(self, Path(path))

    def store(self) -> Path:
        """Return the graph's folder for other processes to map, written once under the workbench's home."""
        return store.store_graph(self)

    def to_pyg(self) -> Any:
        """Return a PyG ``Data``, its edges in their original order."""
        return convert.to_pyg(self)

    def with_data(self, **data: Unpack[GraphData]) -> Graph:
        """Return a graph on the same topology with some data replaced (None removes it) or added."""
        changed = replace(self, **build.replaced_fields(self, data))
        changed._cache.update({key: self._cache[key] for key in _OF_TOPOLOGY if key in self._cache})
        return changed

    def to_undirected(self) -> Graph:
        """Return a graph with every joined pair once in each direction; edge data is that of the pair's first edge."""
        return replace(self, **build.undirected_fields(self))

    @property
    def num_nodes(self) -> int:
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """Directed edges: an undirected edge counts twice."""
        return len(self.indices)

    @property
    def x(self) -> Any:
        """Features: float32 (n, f), mapped or in memory, or :class:`SparseRows`; None where there are none."""
        return self.node_data.get("x")

    @property
    def y(self) -> Array | None:
        """Labels: int64 (n,), -1 where unknown; or targets, float32 (n, c), NaN where unknown; or None."""
        return self.node_data.get("y")

    @property
    def train_nodes(self) -> Array:
        """Sorted ids of the training nodes, empty where no split is known."""
        return self._split("train_nodes")

    @property
    def val_nodes(self) -> Array:
        """Sorted ids of the validation nodes, empty where no split is known."""
        return self._split("val_nodes")

    @property
    def test_nodes(self) -> Array:
        """Sorted ids of the test nodes, empty where no split is known."""
        return self._split("test_nodes")

    def _split(self, name: str) -> Array:
        nodes: Array | None = self.node_data.get(name)
        return np.zeros(0, np.int64) if nodes is None else nodes

    @property
    def num_features(self) -> int:
        return 0 if self.x is None else int(self.x.shape[1])

    @property
    def num_classes(self) -> int:
        """Classes of the labels (columns of the targets), 0 without labels."""
        if self.y is not None and self.y.ndim == 2:
            return int(self.y.shape[1])  # whatever labels there were before
        if self.class_count is not None:
            return self.class_count
        if self.y is None:
            return 0
        return int(self._cached("num_classes", lambda: self.y.max(initial=-1) + 1))

    @property
    def node_names(self) -> Array | None:
        """Names of the nodes (n), as NumPy's variable-width text, or None."""
        return None if self.names is None else self._cached("node_names", self.names.decode)

    @property
    def fingerprint(self) -> str:
        """BLAKE2b of the topology, in hexadecimal: equal for equal edges, whatever their original order."""
        return str(self._cached("fingerprint", lambda: hashing.topology_hash(self.indptr, self.indices)))

    def _cached(self, key: str, compute: Any) -> Any:
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def in_degrees(self) -> Array:
        """Return the number of in-edges of each node, int64 (n)."""
        return np.diff(self.indptr)

    def out_degrees(self) -> Array:
        """Return the number of out-edges of each node, int64 (n)."""
        return np.bincount(self.indices, minlength=self.num_nodes).astype(np.int64, copy=False)

    def edge_index(self) -> Array:
        """Return the edges in the order of their ids: (2, m) int64, sources above destinations."""
        return np.stack([self.indices.astype(np.int64), csc.destinations(self.indptr)])

    def is_symmetric(self) -> bool:
        """Say whether every edge stands beside its reverse, parallel edges counted."""
        return bool(self._cached("symmetric", lambda: csc.is_symmetric(self.indptr, self.indices)))

    def stats(self) -> GraphStats:
        """Return counts, degrees, components and homophily, as a record that shows itself."""
        from workbench.graph.stats import measure

        return self._cached("stats", lambda: measure(self))  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return display.graph_text(self)

    def _repr_html_(self) -> str:
        return display.graph_html(self)
