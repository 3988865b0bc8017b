"""What a sampler is, what it returns, and the function that samples once."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import Findings
from workbench.core.given import note_whole, require_graph
from workbench.core.params import Params
from workbench.core.registry import Registry
from workbench.sampling.scratch import Scratch
from workbench.sampling.seeds import as_seed_nodes, num_steps
from workbench.sampling.topology import Topology

Ids = NDArray[np.int64]
Weights = NDArray[np.float32]


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
        Nodes that were new at each hop; the seeds are hop 0. Sums to k. A method without hops has one: seeds, others.
    num_edges_per_hop : array, int64 (hops)
        Edges drawn at each hop; hop 1, next to the seeds, comes first. Sums to e.
    edge_weight : array, float32 (e), optional
        Factor of the message along each edge: the weighted sum over a node's sampled in-edges is, in expectation over
        the batches that have the node, the sum over all of its in-edges.
    node_weight : array, float32 (num_seeds), optional
        Factor of each seed's loss: the mean of the weighted losses of a batch's seeds is in expectation the mean loss
        over all seed nodes.
    batch : array, int64 (k), optional
        For each node the position of the seed whose tree it belongs to, where trees lie side by side.
    """

    node_ids: Ids
    edge_index: Ids
    edge_ids: Ids
    num_nodes_per_hop: Ids
    num_edges_per_hop: Ids
    edge_weight: Weights | None = None
    node_weight: Weights | None = None
    batch: Ids | None = None

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

    Most samplers take the seeds that they are given. One that *draws* its seeds (``draws_seeds``) is given all nodes
    whose loss counts, chooses its subgraph by the key alone, and returns those of them that lie in it as its seeds.
    """

    draws_seeds: ClassVar[bool] = False

    @property
    def is_by_hop(self) -> bool:
        """Say whether every hop's edges end at nodes of the hop before, so that a model may cut rows by hop."""
        return not self.draws_seeds

    @property
    def has_trees(self) -> bool:
        """Say whether each seed has a tree of its own: `batch` is set, and the same seed may come twice."""
        return False

    def num_batches(self, graph: Topology) -> int:
        """Return the batches of an epoch, of a sampler that draws its seeds; for the others the seeds decide."""
        raise NotImplementedError(f"{type(self).__name__} takes the seeds that it is given")

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
            Checked ids (:func:`workbench.sampling.as_seed_nodes`), each once (trees side by side may have the same
            seed: `has_trees`); none at all is a valid batch.
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


def steps_per_epoch(sampler: Sampler, graph: Topology, num_seeds: int, *, batch_size: int, world_size: int) -> int:
    """Return the global steps of an epoch: by the batches of a sampler that draws its seeds, else by the seeds."""
    if sampler.draws_seeds:
        return -(-sampler.num_batches(graph) // world_size)
    return num_steps(num_seeds, batch_size, world_size)


def sample(
    graph: Topology,
    seed_nodes: Any,
    sampler: str | Sampler = "neighbor",
    *,
    epoch: int = 0,
    batch: int = 0,
    rng_seed: int = 0,
    seed_times: Any = None,
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
    seed_times : array (b), optional
        The time of each seed, for a sampler with ``time_attr``; by default the seeds' own times.

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
    require_graph(graph, "sample")
    findings = Findings("sample")
    note_whole(findings, epoch=epoch, batch=batch, rng_seed=rng_seed)
    findings.raise_if_any()
    chosen = SAMPLERS.create(sampler, **params)
    seeds = as_seed_nodes(graph, seed_nodes)
    times = {} if seed_times is None else {"seed_times": seed_times}
    if times and not hasattr(chosen, "time_attr"):
        findings.add("seed_times", "a sampler with time_attr", type(chosen).__name__, "use 'neighbor', or leave it out")
        findings.raise_if_any()
    return chosen.sample(graph, seeds, epoch=epoch, batch=batch, rng_seed=rng_seed, **times)
