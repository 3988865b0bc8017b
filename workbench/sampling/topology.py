"""What sampling needs of a graph."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray


class Topology(Protocol):
    """What a sampler needs of a graph: in-edges by destination. ``Graph`` is one."""

    @property
    def indptr(self) -> NDArray[Any]:
        """Return int64 (n + 1): the in-edges of v are ``indptr[v]`` to ``indptr[v + 1] - 1``."""

    @property
    def indices(self) -> NDArray[Any]:
        """Return int32 or int64 (m): the source of each edge."""

    @property
    def num_nodes(self) -> int: ...

    @property
    def num_edges(self) -> int: ...
