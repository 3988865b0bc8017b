"""Cora, CiteSeer and PubMed with Planetoid's public split, read from the raw files where they are."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.core.errors import Findings, InputError
from workbench.core.home import home_folder
from workbench.core.params import param
from workbench.graph.datasets.base import DATASETS, Dataset
from workbench.graph.graph import Graph

Array = NDArray[Any]
PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
NUM_VAL = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Planetoid(Dataset):
    """Base of the three citation graphs: undirected, without self-loops and parallel edges, words as features.

    With `root` the raw files are read where they are: in ``root``, ``root/raw``, ``root/<Name>/raw`` or
    ``root/planetoid/<Name>/raw``. Without, PyG downloads them into the workbench's home.
    """

    title: ClassVar[str] = ""
    normalize_features: bool = param(False, help="divide each row of x by its sum, as PyG's NormalizeFeatures does")

    def load(self, root: Path | None) -> Graph:
        name = self.title.lower()
        folder = find_raw(root, self.title) if root is not None else download(self.title)
        parts = {part: _read(folder / f"ind.{name}.{part}") for part in PARTS}
        x, y, test = _rows(parts)
        if self.normalize_features:
            x = x / np.maximum(x.sum(axis=1, keepdims=True), 1.0)
        num_train = parts["x"].shape[0]
        return Graph.from_edge_index(
            _edges(parts["graph"]),
            len(y),
            x=x,
            y=y,
            train_nodes=np.arange(num_train),
            val_nodes=np.arange(num_train, num_train + NUM_VAL),
            test_nodes=test,
            num_classes=parts["y"].shape[1],
            name=name,
            meta={"source": f"Planetoid's {self.title} (Yang, Cohen & Salakhutdinov 2016), public split"},
        )


@DATASETS.register("cora")
@dataclass(frozen=True, slots=True, kw_only=True)
class Cora(Planetoid):
    """Cora: 2,708 papers, 10,556 directed edges, 1,433 words, 7 topics; 140 / 500 / 1,000 nodes split."""

    title: ClassVar[str] = "Cora"


@DATASETS.register("citeseer")
@dataclass(frozen=True, slots=True, kw_only=True)
class CiteSeer(Planetoid):
    """CiteSeer: 3,327 papers, 9,104 directed edges, 3,703 words, 6 topics; 120 / 500 / 1,000 nodes split."""

    title: ClassVar[str] = "CiteSeer"


@DATASETS.register("pubmed")
@dataclass(frozen=True, slots=True, kw_only=True)
class PubMed(Planetoid):
    """PubMed: 19,717 papers, 88,648 directed edges, 500 words (TF-IDF), 3 topics; 60 / 500 / 1,000 nodes split."""

    title: ClassVar[str] = "PubMed"


def find_raw(root: Path, title: str) -> Path:
    """Return the folder under `root` that has every raw file, or say what was looked for."""
    tried = [root, root / "raw", root / title / "raw", root / "planetoid" / title / "raw"]
    wanted = [f"ind.{title.lower()}.{part}" for part in PARTS]
    for folder in tried:
        if all((folder / file).is_file() for file in wanted):
            return folder
    findings = Findings(f"datasets.load({title.lower()!r})")
    expected = f"a folder with {wanted[0]} to {wanted[-1]} in it, in raw/, {title}/raw/ or planetoid/{title}/raw/"
    findings.add("root", expected, str(root), "correct root, or leave it out to let PyG download the files")
    raise InputError(findings.subject, findings.items)


def download(title: str) -> Path:
    """Let PyG download the raw files into the workbench's home, once."""
    from torch_geometric.datasets import Planetoid as PygPlanetoid

    home = home_folder("datasets") / "planetoid"
    try:
        PygPlanetoid(str(home), title)
    except Exception as error:  # whatever the network, a proxy or the disk raises
        findings = Findings(f"datasets.load({title.lower()!r})")
        got = f"{type(error).__name__}: {error}"
        fix = "pass root=, a folder with the raw files, or load 'debian' or 'wordnet', which are shipped"
        findings.add("root", "a folder, or a network from which PyG can download", got, fix)
        raise InputError(findings.subject, findings.items) from error
    return find_raw(home, title)


class _Unpickler(pickle.Unpickler):
    """Unpickles arrays, sparse matrices and plain containers; any other name in the file is refused."""

    def find_class(self, module: str, name: str) -> Any:
        allowed: dict[str, Any] = {
            "csr_matrix": sparse.csr_matrix,
            "_reconstruct": np.array([]).__reduce__()[0],
            "ndarray": np.ndarray,
            "dtype": np.dtype,
            "defaultdict": defaultdict,
            "list": list,
            "dict": dict,
        }
        package = module.split(".")[0]
        if name in allowed and package in {"scipy", "numpy", "collections", "__builtin__", "builtins"}:
            return allowed[name]
        raise pickle.UnpicklingError(f"the file names {module}.{name}, which is no array, matrix or container")


def unpickle(stream: BinaryIO) -> Any:
    """Return the array, matrix or dict in a file of Planetoid's (written by Python 2)."""
    return _Unpickler(stream, encoding="latin1").load()


def _read(path: Path) -> Any:
    if path.suffix == ".index":
        return np.loadtxt(path, dtype=np.int64, ndmin=1)
    try:
        with path.open("rb") as stream:
            return unpickle(stream)
    except (pickle.UnpicklingError, EOFError, ValueError) as error:
        findings = Findings(f"datasets.load, {path.name}")
        findings.add(str(path), "a file of Planetoid's", str(error), "fetch the file again")
        raise InputError(findings.subject, findings.items) from error


def _rows(parts: Mapping[str, Any]) -> tuple[Array, Array, Array]:
    """Return x, y and the test nodes; rows of test nodes come in the order of test.index.

    CiteSeer lacks some of the ids between the first and the last test node: they are nodes of which nothing is known
    (features 0, label -1; PyG gives them label 0).
    """
    test, known = parts["test.index"], parts["allx"].shape[0]
    num_nodes = max(known, int(test.max()) + 1)
    x = np.zeros((num_nodes, parts["allx"].shape[1]), np.float32)
    y = np.full(num_nodes, -1, np.int64)
    x[:known], y[:known] = parts["allx"].toarray(), parts["ally"].argmax(axis=1)
    x[test], y[test] = parts["tx"].toarray(), parts["ty"].argmax(axis=1)
    return x, y, np.sort(test)


def _edges(neighbours: Mapping[int, list[int]]) -> Array:
    """Return each neighbour pair once in each direction given, without self-loops and repetitions, in PyG's order."""
    sizes = [len(ends) for ends in neighbours.values()]
    source = np.repeat(np.fromiter(neighbours, np.int64, len(neighbours)), sizes)
    destination = np.concatenate([np.asarray(ends, np.int64) for ends in neighbours.values()])
    apart = source != destination
    ordered: Array = np.unique(np.stack([destination[apart], source[apart]]), axis=1)
    return ordered[::-1]
