"""Real graphs that ship with the package, public ones by name, and generators.

``load("debian")``; ``names()``; one file a data set, registered in ``DATASETS``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.graph.datasets.base import DATASETS, Dataset
from workbench.graph.graph import Graph

__all__ = ["load", "names", "DATASETS", "Dataset"]


def load(name: str | Dataset, root: str | Path | None = None, **params: Any) -> Graph:
    """Return a graph by name.

    Parameters
    ----------
    name : str or Dataset
        One of :func:`names`, or a data set of your own.
    root : path, optional
        Folder with the raw files of a public data set: they are read where they are, nothing is written or downloaded.
    **params
        The data set's parameters (``DATASETS.entry(name).params`` lists them).

    Raises
    ------
    InputError
        Unknown name, unknown or ill-typed parameter, missing files.
    """
    return DATASETS.create(name, **params).load(None if root is None else Path(root).expanduser())


def names() -> tuple[str, ...]:
    """Return the names that :func:`load` knows, sorted."""
    return DATASETS.names()
