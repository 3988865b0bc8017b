"""What a data set is: parameters, and a function that gives the graph."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workbench.core.params import Params
from workbench.core.registry import Registry
from workbench.graph.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset(Params):
    """Base of every data set; `load` gives its graph."""

    def load(self, root: Path | None) -> Graph:
        """Return the graph.

        Parameters
        ----------
        root : Path or None
            Folder with the data set's raw files; None for what ships with the package, is generated or downloaded.
        """
        raise NotImplementedError


DATASETS: Registry[Dataset] = Registry("dataset", Dataset, "workbench.graph.datasets", "workbench.datasets")
