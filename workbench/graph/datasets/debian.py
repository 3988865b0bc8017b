"""Debian 12's packages and the relations between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.params import param
from workbench.graph import csc
from workbench.graph.datasets import shipped
from workbench.graph.datasets.base import DATASETS, Dataset
from workbench.graph.graph import Graph


@DATASETS.register("debian")
@dataclass(frozen=True, slots=True, kw_only=True)
class Debian(Dataset):
    """Debian 12's 63,436 packages: 670,836 relations (both ways), 512 hashed words, 58 archive sections.

    Undirected by default: a pair that several relations join is one edge in each direction, of the strongest type
    (Depends, Pre-Depends, Recommends, Suggests, Enhances); directed, each relation is an edge from the package that
    declares it to the one that it names, 342,324 in all. Built from Debian's package lists (bookworm 12.15, main,
    amd64) by ``files/build_debian_graph.py``.
    """

    directed: bool = param(False, help="keep the direction in which a package declares a relation")
    features: str = param("log1p", help="log1p of the word counts, or the counts", choices=shipped.FEATURES)

    def load(self, root: Path | None) -> Graph:
        arrays = shipped.read(root, "debian_bookworm.npz", "debian")
        edges, types = shipped.strongest_first(arrays)
        if not self.directed:
            source, destination, edge = csc.both_directions(edges[0], edges[1], len(arrays["y"]))
            edges, types = np.stack([source, destination]), types[edge]
        return Graph.from_edge_index(
            edges,
            len(arrays["y"]),
            x=np.asarray(shipped.words(arrays, self.features)),
            y=arrays["y"],
            **shipped.splits(arrays),  # type: ignore[arg-type]
            node_data={"installed_size_kib": arrays["installed_size"]},
            edge_data={"type": types},
            node_names=shipped.lines(arrays["names"]),
            class_names=arrays["class_names"].tolist(),
            name="debian",
            meta=facts(arrays),
        )


def facts(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return where the graph comes from."""
    about = dict(line.split(": ", 1) for line in arrays["about"].tolist())
    return {
        "source": f"Debian {about['Version']} ({about['Codename']}), main, amd64, lists of {about['Date']}",
        "edge_type_names": arrays.get("edge_type_names", np.array([])).tolist(),
    }
