"""Collections of small graphs in the format of TU Dortmund: text files, read where they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings, InputError
from workbench.core.home import home_folder
from workbench.core.params import param
from workbench.core.rng import generator
from workbench.graph.datasets.base import DATASETS, Dataset
from workbench.graph.graph import Graph
from workbench.graph.graph_set import GRAPH_IDS, random_split

Array = NDArray[Any]
REQUIRED = ("A", "graph_indicator", "graph_labels")


@dataclass(frozen=True, slots=True, kw_only=True)
class TuDataset(Dataset):
    """Base of the collections of graphs to classify: a union whose column ``graph_ids`` says whose a node is.

    Features are the nodes' attributes and their labels as one-hot columns; edge labels are the edge column ``type``.
    With `root` the raw files are read where they are: in ``root``, ``root/raw``, ``root/<NAME>/raw`` or
    ``root/tu/<NAME>/raw`` (or ``raw_cleaned``, without isomorphic copies). Without, PyG downloads them into the
    workbench's home. No split is published: one is drawn within each class.
    """

    title: ClassVar[str] = ""
    train_share: float = param(0.8, help="share of the graphs that train", minimum=0, maximum=1)
    val_share: float = param(0.1, help="share of the graphs that validate; the rest tests", minimum=0, maximum=1)
    rng_seed: int = param(0, help="what the split is drawn from", minimum=0)

    def load(self, root: Path | None) -> Graph:
        folder = find_raw(root, self.title) if root is not None else download(self.title)
        raw = _Raw(folder, self.title)
        ids, edges = raw.numbers("graph_indicator") - 1, raw.numbers("A").T - 1
        class_names, labels = np.unique(raw.numbers("graph_labels"), return_inverse=True)
        kept = _first_of_each(edges)
        random = generator(self.rng_seed, len(labels))
        splits = random_split(labels, train_share=self.train_share, val_share=self.val_share, random=random)
        names = ("train_nodes", "val_nodes", "test_nodes")
        return Graph.from_edge_index(
            edges[:, kept],
            len(ids),
            x=raw.features(len(ids)),
            y=labels[ids],
            class_names=[str(name) for name in class_names],
            node_data={GRAPH_IDS: ids},
            edge_data={"type": raw.numbers("edge_labels")[kept]} if raw.has("edge_labels") else None,
            name=self.title.lower(),
            meta={"source": f"TUDataset {self.title} (Morris et al. 2020), from {folder.name}/"},
            **{name: np.flatnonzero(np.isin(ids, part)) for name, part in zip(names, splits, strict=True) if len(part)},  # type: ignore[arg-type]
        )


@DATASETS.register("mutag")
@dataclass(frozen=True, slots=True, kw_only=True)
class Mutag(TuDataset):
    """MUTAG: 188 molecules (135 without isomorphic copies), 7 kinds of atoms, 2 classes: does it cause mutations?"""

    title: ClassVar[str] = "MUTAG"


@DATASETS.register("enzymes")
@dataclass(frozen=True, slots=True, kw_only=True)
class Enzymes(TuDataset):
    """ENZYMES: 600 proteins as graphs of their parts, 18 attributes and 3 kinds of nodes, 6 classes."""

    title: ClassVar[str] = "ENZYMES"


def _first_of_each(edges: Array) -> Array:
    """Return the positions of edges between different nodes, each pair once in each direction, in their order."""
    apart = np.flatnonzero(edges[0] != edges[1])
    _, first = np.unique(edges[:, apart], axis=1, return_index=True)
    return np.sort(apart[first])


class _Raw:
    """The text files of one collection."""

    def __init__(self, folder: Path, title: str) -> None:
        self._folder, self._title = folder, title

    def _path(self, part: str) -> Path:
        return self._folder / f"{self._title}_{part}.txt"

    def has(self, part: str) -> bool:
        return self._path(part).is_file()

    def numbers(self, part: str, dtype: Any = np.int64) -> Array:
        path = self._path(part)
        try:
            return np.loadtxt(path, dtype=dtype, delimiter=",", ndmin=1)
        except ValueError as error:
            findings = Findings(f"datasets.load({self._title.lower()!r})")
            findings.add(str(path), "rows of numbers with commas between", str(error), "fetch the file again")
            raise InputError(findings.subject, findings.items) from error

    def features(self, num_nodes: int) -> Array:
        """Return attributes and one-hot labels side by side; ones where the collection has neither."""
        columns = []
        if self.has("node_attributes"):
            columns.append(self.numbers("node_attributes", np.float32).reshape(num_nodes, -1))
        if self.has("node_labels"):
            kinds, kind = np.unique(self.numbers("node_labels"), return_inverse=True)
            columns.append(np.eye(len(kinds), dtype=np.float32)[kind])
        return np.concatenate(columns, axis=1) if columns else np.ones((num_nodes, 1), np.float32)


def find_raw(root: Path, title: str) -> Path:
    """Return the folder under `root` that has every raw file, or say what was looked for."""
    places = [
        root,
        *(place / name for place in (root, root / title, root / "tu" / title) for name in ("raw", "raw_cleaned")),
    ]
    for folder in places:
        if all((folder / f"{title}_{part}.txt").is_file() for part in REQUIRED):
            return folder
    findings = Findings(f"datasets.load({title.lower()!r})")
    expected = f"a folder with {title}_A.txt and the others in it, in raw/, {title}/raw/ or tu/{title}/raw/"
    findings.add("root", expected, str(root), "correct root, or leave it out to let PyG download the files")
    raise InputError(findings.subject, findings.items)


def download(title: str) -> Path:
    """Let PyG download the raw files into the workbench's home, once."""
    from torch_geometric.datasets import TUDataset

    home = home_folder("datasets") / "tu"
    try:
        TUDataset(str(home), title)
    except Exception as error:  # whatever the network, a proxy or the disk raises
        findings = Findings(f"datasets.load({title.lower()!r})")
        got = f"{type(error).__name__}: {error}"
        findings.add(
            "root", "a folder, or a network from which PyG can download", got, "pass root=, a folder with the raw files"
        )
        raise InputError(findings.subject, findings.items) from error
    return find_raw(home, title)
