"""What a sampler is, what it returns, and the function that samples once."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.params import Params
from workbench.core.registry import Registry
from workbench.sampling.scratch import Scratch
from workbench.sampling.seeds import as_seed_nodes
from workbench.sampling.topology import Topology

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampledSubgraph:
    """The nodes and edges that a batch reads.

    Parameters
    ----------
    node_ids : array, int64 (k)
        Global ids: the seeds in their order, then the others by hop, in the order of their discovery.
    edge_index : array, int64 (2, e)
        ``[source, destination]`` as positions in `node_ids`, ordered by hop.
    edge_ids : array, int64 (e)
        The position of each edge in the graph's ``indices``.
    num_nodes_per_hop : array, int64 (hops + 1)
        Nodes that were new at each hop; the seeds are hop 0. Sums to k.
    num_edges_per_hop : array, int64 (hops)
        Edges drawn at each hop; hop 1, next to the seeds, comes first. Sums to e.
    """

    node_ids: Ids
    edge_index: Ids
    edge_ids: Ids
    num_nodes_per_hop: Ids
    num_edges_per_hop: Ids

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
    def seed_nodes(self) -> Ids:
        """Return the global ids of the seeds."""
        return self.node_ids[: self.num_seeds]

    def __repr__(self) -> str:
        hops = " + ".join(f"{count:,}" for count in self.num_nodes_per_hop)
        return f"SampledSubgraph({self.num_nodes:,} nodes = {hops} by hop, {self.num_edges:,} edges)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler(Params):
    """Base of every sampler: its fields are its parameters, `sample` is what it does.

    What it draws is a function of ``(rng_seed, epoch, batch, hop, node)`` alone, never of the process, the
    thread or the batches before.
    """

    @abstractmethod
    def sample(
        self,
        graph: Topology,
        seed_nodes: Ids,
        *,
        epoch: int,
        batch: int,
        rng_seed: int,
        scratch: Scratch | None = None,
    ) -> SampledSubgraph:
        """Return the subgraph of a batch.

        Parameters
        ----------
        seed_nodes : array, int64 (b)
            Checked ids (:func:`workbench.sampling.as_seed_nodes`), each once; none at all is a valid batch.
        epoch, batch, rng_seed : int
            The key of its randomness.
        scratch : Scratch, optional
            Working memory for a graph of this size, used by one thread at a time; borrowed from the pool otherwise.

        Raises
        ------
        InputError
            If a seed comes twice.
        """


SAMPLERS: Registry[Sampler] = Registry(
    "sampler",
    Sampler,  # type: ignore[type-abstract]
    "workbench.sampling.methods",
    "workbench.samplers",
)


def sample(
    graph: Topology,
    seed_nodes: Any,
    sampler: str | Sampler = "neighbor",
    *,
    epoch: int = 0,
    batch: int = 0,
    rng_seed: int = 0,
    **params: Any,
) -> SampledSubgraph:
    """Sample the subgraph that a batch of seed nodes reads.

    Parameters
    ----------
    graph : Graph
    seed_nodes : int, sequence, array or tensor
        Node ids, each at most once, or a boolean mask (n).
    sampler : str or Sampler
        A name of ``SAMPLERS.names()`` with its parameters as keywords, or an object.
    epoch, batch, rng_seed : int
        The key of the randomness: equal keys give equal samples, on any machine and any thread.

    Returns
    -------
    SampledSubgraph

    Raises
    ------
    InputError
        For ids that are no whole numbers, out of range or repeated, and for wrong parameters.

    Notes
    -----
    A repeated seed is an error and is not merged: row i of what a model computes for the seeds must belong to seed i.

    Examples
    --------
    >>> sample(graph, [0, 5], fanouts=(15, 10))
    """
    chosen = SAMPLERS.create(sampler, **params)
    seeds = as_seed_nodes(graph, seed_nodes)
    return chosen.sample(graph, seeds, epoch=epoch, batch=batch, rng_seed=rng_seed)
