"""Debian 12's packages and every directory that they put files into."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.params import param
from workbench.graph import csc
from workbench.graph.datasets import shipped
from workbench.graph.datasets.base import DATASETS, Dataset
from workbench.graph.datasets.debian import facts
from workbench.graph.graph import Graph
from workbench.graph.sparse_rows import SparseRows

Array = NDArray[Any]


@DATASETS.register("debian_files")
@dataclass(frozen=True, slots=True, kw_only=True)
class DebianFiles(Dataset):
    """Debian 12's packages and 619,720 directories: 683,156 nodes, 3,435,026 directed edges; a hub of degree 64,184.

    A package is joined to each directory that it puts a file into, a directory to its parent, packages by their
    relations (edge types ``puts_files_into``, ``parent`` and Debian's five). Only packages have a label and a split (9%
    of the nodes, as in ``"debian"``). The directories' paths are not in the data (their names are hashed words):
    they are called ``directory 0``, ``directory 1``, ... in the order of their paths. Features are sparse rows.
    Built by ``files/build_debian_graph.py``.
    """

    features: str = param("log1p", help="log1p of the word counts, or the counts", choices=shipped.FEATURES)

    def load(self, root: Path | None) -> Graph:
        packages = shipped.read(root, "debian_bookworm.npz", "debian_files")
        files = shipped.read(root, "debian_bookworm_files.npz", "debian_files")
        num_packages, num_directories = len(packages["y"]), len(files["parent"])
        num_nodes = num_packages + num_directories
        edges, types = _edges(packages, files)
        source, destination, edge = csc.both_directions(edges[0], edges[1], num_nodes)
        names = shipped.lines(packages["names"]) + [f"directory {i}" for i in range(num_directories)]
        meta = facts(packages)
        meta["edge_type_names"] = [*meta["edge_type_names"], "puts_files_into", "parent"]
        return Graph.from_edge_index(
            np.stack([source, destination]),
            num_nodes,
            x=stack(shipped.words(packages, self.features), shipped.words(files, self.features)),
            y=np.concatenate([packages["y"].astype(np.int64), np.full(num_directories, -1)]),
            **shipped.splits(packages),  # type: ignore[arg-type]
            node_data={"depth": np.concatenate([np.full(num_packages, -1, np.int8), depths(files["parent"])])},
            edge_data={"type": types[edge]},
            node_names=names,
            class_names=packages["class_names"].tolist(),
            name="debian_files",
            meta=meta,
        )


def _edges(packages: dict[str, Array], files: dict[str, Array]) -> tuple[Array, Array]:
    """Return every edge once with its type: relations, then package - directory, then directory - parent."""
    relations, types = shipped.strongest_first(packages)
    num_packages, kinds = len(packages["y"]), len(packages["edge_type_names"])
    holders = np.repeat(np.arange(num_packages), np.diff(files["package_indptr"]))
    children = np.arange(1, len(files["parent"])) + num_packages
    source = np.concatenate([relations[0], holders, children])
    into = files["package_dirs"].astype(np.int64) + num_packages
    destination = np.concatenate([relations[1], into, files["parent"][1:].astype(np.int64) + num_packages])
    codes = np.repeat(np.array([kinds, kinds + 1], np.uint8), [len(holders), len(children)])
    return np.stack([source, destination]), np.concatenate([types, codes])


def depths(parent: Array) -> Array:
    """Return how deep each directory lies under the root (directory 0), int8."""
    depth = np.zeros(len(parent), np.int8)
    above = parent.astype(np.int64)
    above[0] = 0
    reached = above
    while reached.any():
        depth[reached > 0] += 1
        reached = above[reached]
    depth[1:] += 1
    return depth


def stack(first: SparseRows, second: SparseRows) -> SparseRows:
    """Put the rows of one matrix under those of another."""
    return SparseRows(
        indptr=np.concatenate([first.indptr, second.indptr[1:].astype(np.int64) + int(first.indptr[-1])]),
        indices=np.concatenate([first.indices, second.indices]),
        values=np.concatenate([first.values, second.values]),
        num_columns=first.num_columns,
    )
