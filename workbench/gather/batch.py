"""A batch: a flat record of arrays, the same whether it crossed a thread, a ring or a socket."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.phases import Phase, Span

Ids = NDArray[np.int64]

_PHASES = tuple(Phase)
_SCALARS = ("epoch", "step_in_epoch", "step", "rank")
_ARRAYS = ("node_ids", "edge_index", "edge_ids", "num_nodes_per_hop", "num_edges_per_hop", "x")
_OPTIONAL = ("y", "edge_weight", "node_weight", "batch", "pairs")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """What a rank trains on in a step.

    Parameters
    ----------
    node_ids : array, int64 (k)
        Global ids, seeds first, then by hop.
    edge_index : array, int64 (2, e)
        ``[source, destination]`` as positions in `node_ids`, ordered by hop.
    edge_ids : array, int64 (e)
    num_nodes_per_hop, num_edges_per_hop : array, int64 (hops + 1), (hops)
    x : array, float32 (k, f)
        Features of all nodes of the batch.
    y : array (rows) or (rows, c), or None
        Targets: of the seeds; of the pairs; of the graphs that lie side by side.
    edge_weight, node_weight, batch : array or None
        As of a :class:`workbench.sampling.SampledSubgraph`: factors of messages (e) and of the losses (rows), and each
        node's tree or graph (k).
    pairs : array, int64 (2, rows), or None
        Where pairs are scored: the ends of each, as positions in `node_ids`.
    epoch : int
        From 1.
    step_in_epoch : int
        From 0.
    step : int
        Global step, from 1.
    rank : int
    spans : tuple of Span
        When it was sampled and gathered, by the clock of the process that did it.
    """

    node_ids: Ids
    edge_index: Ids
    edge_ids: Ids
    num_nodes_per_hop: Ids
    num_edges_per_hop: Ids
    x: NDArray[np.float32]
    y: NDArray[Any] | None
    epoch: int
    step_in_epoch: int
    step: int
    rank: int
    spans: tuple[Span, ...] = ()
    edge_weight: NDArray[np.float32] | None = None
    node_weight: NDArray[np.floating[Any]] | None = None
    batch: Ids | None = None
    pairs: Ids | None = None

    @property
    def num_seeds(self) -> int:
        return int(self.num_nodes_per_hop[0])

    @property
    def num_nodes(self) -> int:
        return len(self.node_ids)

    @property
    def num_edges(self) -> int:
        return len(self.edge_ids)

    @property
    def nbytes(self) -> int:
        """Return the bytes of all arrays of :meth:`to_arrays`."""
        return sum(array.nbytes for array in self.to_arrays().values())

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the batch as arrays by name; nothing large is copied.

        ``ids`` (int64) holds epoch, step_in_epoch, step and rank; ``spans`` (float64, one row a span) the
        position of the phase in :class:`Phase`, start and duration in seconds. What is None is left out.
        """
        arrays: dict[str, NDArray[Any]] = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {name: getattr(self, name) for name in _OPTIONAL if getattr(self, name) is not None}
        arrays["ids"] = np.array([getattr(self, name) for name in _SCALARS], np.int64)
        rows = [(_PHASES.index(span.phase), span.start_s, span.duration_s) for span in self.spans]
        arrays["spans"] = np.array(rows, np.float64).reshape(-1, 3)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Batch:
        """Return the batch that :meth:`to_arrays` described; it holds the arrays given, not copies."""
        spans = tuple(
            Span(phase=_PHASES[int(phase)], start_s=float(start), duration_s=float(duration))
            for phase, start, duration in arrays["spans"]
        )
        fields: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
        fields |= {name: int(value) for name, value in zip(_SCALARS, arrays["ids"], strict=True)}
        fields |= {name: arrays.get(name) for name in _OPTIONAL}
        return cls(**fields, spans=spans)

    def __repr__(self) -> str:
        size = f"{self.num_seeds:,} seeds, {self.num_nodes:,} nodes, {self.num_edges:,} edges"
        return f"Batch(epoch {self.epoch}, step {self.step}, rank {self.rank}: {size})"
