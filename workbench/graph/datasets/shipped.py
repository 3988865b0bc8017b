"""How the shipped ``.npz`` files are laid out: typed edges, hashed words as compressed rows, labels, split, names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.graph.sparse_rows import SparseRows

Array = NDArray[Any]
FILES = Path(__file__).parent / "files"
FEATURES = ("log1p", "counts")


def read(root: Path | None, file: str, dataset: str) -> dict[str, Array]:
    """Return the arrays of a shipped file, or of the same file in `root`."""
    path = (FILES if root is None else root) / file
    if not path.is_file():
        findings = Findings(f"datasets.load({dataset!r})")
        findings.add("root", f"a folder with {file}", f"no such file: {path}", "leave root out: the file is shipped")
        findings.raise_if_any()
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def words(arrays: Mapping[str, Array], features: str) -> SparseRows:
    """Return the hashed words of each node: counts, or their ``log(1 + count)``."""
    values = arrays["x_values"].astype(np.float32)
    return SparseRows(
        indptr=arrays["x_indptr"],
        indices=arrays["x_indices"],
        values=np.log1p(values) if features == "log1p" else values,
        num_columns=int(arrays["x_shape"][1]),
    )


def splits(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Return the three splits as node ids."""
    split = arrays["split"]
    return {name: np.flatnonzero(split == code) for code, name in enumerate(("train_nodes", "val_nodes", "test_nodes"))}


def lines(block: Array, encoding: str = "utf-8") -> list[str]:
    """Return the names of a block of bytes, one a line."""
    return block.tobytes().decode(encoding).split("\n")


def strongest_first(arrays: Mapping[str, Array]) -> tuple[Array, Array]:
    """Return edges and types ordered by type, so that of several relations between a pair the first named counts."""
    order = np.argsort(arrays["edge_type"], kind="stable")
    return arrays["edge_index"][:, order], arrays["edge_type"][order]
