"""The stochastic block model: communities with known borders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.core.params import param
from workbench.core.rng import generator
from workbench.graph.datasets.base import DATASETS
from workbench.graph.datasets.generated import EDGES, Array, Generated
from workbench.graph.graph import Graph


@DATASETS.register("sbm")
@dataclass(frozen=True, slots=True, kw_only=True)
class Sbm(Generated):
    """Stochastic block model (Holland et al. 1983): equal blocks, each pair of nodes joined independently.

    Node v belongs to block ``v % num_classes``, which is its label. The chance of an edge is chosen so that
    the expected degree is `mean_degree` and the expected share of edges within blocks is `homophily`.
    """

    num_nodes: int = param(1000, help="nodes", minimum=1)
    num_classes: int = param(4, help="blocks, which are the classes", minimum=1)
    mean_degree: float = param(10.0, help="expected neighbours a node", minimum=0)
    homophily: float = param(0.8, help="expected share of edges within blocks", minimum=0, maximum=1)

    def labels(self, topology: Graph) -> Array:
        return np.arange(topology.num_nodes) % self.num_classes

    def edges(self) -> tuple[Array, int]:
        draw = generator(self.rng_seed, EDGES)
        sizes = np.bincount(np.arange(self.num_nodes) % self.num_classes, minlength=self.num_classes)
        total = self.num_nodes * self.mean_degree / 2
        within = int((sizes * (sizes - 1) // 2).sum())
        between = self.num_nodes * (self.num_nodes - 1) // 2 - within
        p_within = min(1.0, total * self.homophily / max(1, within))
        p_between = min(1.0, total * (1 - self.homophily) / max(1, between))
        found = []
        for i in range(self.num_classes):
            for j in range(i + 1):
                if i == j:
                    pairs = _triangle(draw, int(sizes[i]), p_within)
                else:
                    pairs = _rectangle(draw, int(sizes[i]), int(sizes[j]), p_between)
                found.append(pairs * self.num_classes + np.array([[i], [j]]))
        return np.concatenate(found, axis=1), self.num_nodes


def _triangle(draw: np.random.Generator, size: int, chance: float) -> Array:
    """Draw pairs i > j below `size`, each with `chance`: number k is the pair with i (i - 1) / 2 + j = k."""
    number = _choose(draw, size * (size - 1) // 2, chance)
    row = np.floor((1 + np.sqrt(1 + 8.0 * number)) / 2).astype(np.int64)
    row -= row * (row - 1) // 2 > number  # the root is rounded
    row += (row + 1) * row // 2 <= number
    return np.stack([row, number - row * (row - 1) // 2])


def _rectangle(draw: np.random.Generator, rows: int, columns: int, chance: float) -> Array:
    number = _choose(draw, rows * columns, chance)
    return np.stack([number // max(1, columns), number % max(1, columns)])


def _choose(draw: np.random.Generator, population: int, chance: float) -> Array:
    """Return the numbers below `population` that are chosen, each with `chance`."""
    count = int(draw.binomial(population, chance)) if population else 0
    return draw.choice(population, count, replace=False, shuffle=False) if count else np.zeros(0, np.int64)
