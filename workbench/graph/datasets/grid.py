"""Grids: the graph with the least surprise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.core.params import param
from workbench.graph.datasets.base import DATASETS
from workbench.graph.datasets.generated import Array, Generated


@DATASETS.register("grid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Grid(Generated):
    """A grid: node ``row * width + column`` is joined to the nodes right of it and below it."""

    height: int = param(32, help="rows", minimum=1)
    width: int = param(32, help="columns", minimum=1)
    periodic: bool = param(False, help="join the last row to the first and the last column to the first")

    def edges(self) -> tuple[Array, int]:
        ids = np.arange(self.height * self.width, dtype=np.int64).reshape(self.height, self.width)
        pairs = [(ids[:, :-1], ids[:, 1:]), (ids[:-1], ids[1:])]
        if self.periodic:
            pairs += [(ids[:, -1], ids[:, 0]), (ids[-1], ids[0])]
        return np.concatenate([np.stack([a.ravel(), b.ravel()]) for a, b in pairs], axis=1), ids.size
