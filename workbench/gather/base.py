"""What a feature store is, and the registry of its kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.params import Params
from workbench.core.registry import Registry
from workbench.graph import Graph

Ids = NDArray[np.int64]
Rows = NDArray[np.float32]


class FeatureStore(ABC):
    """Rows of features by node id, wherever they lie; safe to use from several threads."""

    __slots__ = ("__weakref__",)

    @property
    @abstractmethod
    def num_rows(self) -> int:
        """Return the number of rows: one a node."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Return the features of a row; 0 for a graph without features."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Return the type in which rows are kept; they are always handed out as float32."""

    @abstractmethod
    def gather(self, ids: Ids, out: Rows | None = None) -> Rows:
        """Return the rows of `ids` (k) as float32 (k, width), in their order.

        Parameters
        ----------
        ids : array, int64 (k)
            Ids may repeat.
        out : array, float32 (k, width), optional
            Where the rows are written; it is what is returned then.

        Raises
        ------
        InputError
            If an id is outside the store, or `out` has another shape or type.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(Params):
    """Base of the kinds of store: its fields are its parameters, `open` makes the store of a graph."""

    @abstractmethod
    def open(self, graph: Graph) -> FeatureStore:
        """Return the store of the graph's ``x``."""


STORES: Registry[Store] = Registry(
    "store",
    Store,  # type: ignore[type-abstract]
    "workbench.gather.stores",
    "workbench.stores",
)
