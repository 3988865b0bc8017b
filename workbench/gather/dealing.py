"""What an epoch deals out to steps and ranks where it is not the training nodes: the registry of its kinds."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.core.params import Params
from workbench.core.registry import Registry
from workbench.graph import Graph
from workbench.sampling import SampledSubgraph
from workbench.sampling.base import Sampler

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Drawn:
    """What a batch is made of, before features are gathered.

    Parameters
    ----------
    subgraph : SampledSubgraph
    y : array (rows, ...) or None
        Targets, one row for each of what is scored.
    pairs : array, int64 (2, rows), optional
        Positions in the subgraph's nodes of the two ends of what is scored, where that is a pair.
    weights : array of numbers (rows), optional
        Factors of the losses.
    """

    subgraph: SampledSubgraph
    y: NDArray[Any] | None
    pairs: Ids | None = None
    weights: NDArray[np.floating[Any]] | None = None


class Deal(Protocol):
    """Examples of one graph, opened."""

    @property
    def ids(self) -> Ids:
        """Return what an epoch deals out, each once."""
        ...

    def draw(self, sampler: Sampler, ids: Ids, *, epoch: int, batch: int, rng_seed: int) -> Drawn:
        """Return the batch of some of the ids: a function of the arguments alone."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples(Params):
    """Base of the kinds of examples: its fields are its parameters, `open` finds the examples of a graph."""

    @abstractmethod
    def open(self, graph: Graph) -> Deal:
        """Return the graph's examples, ready to be dealt out."""


EXAMPLES: Registry[Examples] = Registry(
    "kind of examples",
    Examples,  # type: ignore[type-abstract]
    "workbench.gather.examples",
    "workbench.examples",
)
