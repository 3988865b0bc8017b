"""Batches whose nodes are drawn as a whole: the edges among them, and which of them are seeds."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from workbench.sampling.base import SampledSubgraph, Weights
from workbench.sampling.numbering import NodeNumbering
from workbench.sampling.scratch import POOL, Scratch
from workbench.sampling.topology import Topology

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


def subgraph_among(
    graph: Topology, drawn_nodes: Ids, seed_nodes: Ids, *, scratch: Scratch | None = None
) -> SampledSubgraph:
    """Return the drawn nodes with all edges among them, as one hop; those of `seed_nodes` are the seeds, in order.

    Parameters
    ----------
    drawn_nodes : array, int64 (k)
        Each node once; those that are no seeds keep their order.
    seed_nodes : array, int64 (b)
        All nodes whose loss counts, each once.

    Raises
    ------
    InputError
        If a seed comes twice.
    """
    if scratch is None:
        with POOL.borrow(graph.num_nodes) as lent:
            return subgraph_among(graph, drawn_nodes, seed_nodes, scratch=lent)
    NodeNumbering(seed_nodes, scratch)  # each node once
    seeds = seed_nodes[np.isin(seed_nodes, drawn_nodes)]
    others = drawn_nodes[~np.isin(drawn_nodes, seeds)]
    numbering = NodeNumbering(np.concatenate([seeds, others]), scratch)
    sources, destinations, edge_ids = numbering.join(np.asarray(graph.indptr), np.asarray(graph.indices))
    return SampledSubgraph(
        node_ids=numbering.nodes[: numbering.count].copy(),
        edge_index=np.stack([sources, destinations]),
        edge_ids=edge_ids,
        num_nodes_per_hop=np.array([len(seeds), len(others)], np.int64),
        num_edges_per_hop=np.array([len(edge_ids)], np.int64),
    )


def normalised(
    subgraph: SampledSubgraph,
    num_population: int,
    *,
    node_chance: Callable[[Ids], Floats],
    pair_chance: Callable[[Ids, Ids, Ids], Floats],
) -> SampledSubgraph:
    """Return the subgraph with the weights that make its sums unbiased (GraphSAINT, section 3.2).

    An edge from u to v weighs P(v) / P(u and v), the sum over v's edges being read where v was drawn; the loss of a
    seed v weighs b / (N P(v)), with b seeds in the batch of N in all.

    Parameters
    ----------
    num_population : int
        N: all nodes whose loss counts.
    node_chance, pair_chance : callable
        The probability that a batch has a node; and both ends of an edge, by source, destination and edge id.
    """
    source, destination = subgraph.edge_index
    chances = node_chance(subgraph.node_ids)
    both = pair_chance(subgraph.node_ids[source], subgraph.node_ids[destination], subgraph.edge_ids)
    both = np.where(source == destination, chances[destination], both)
    edge_weight: Weights = (chances[destination] / both).astype(np.float32)
    num_seeds = subgraph.num_seeds
    node_weight: Weights = (num_seeds / (max(num_population, 1) * chances[:num_seeds])).astype(np.float32)
    return dataclasses.replace(subgraph, edge_weight=edge_weight, node_weight=node_weight)


def at_least_once(chance: Floats, num_draws: int) -> Floats:
    """Return the probability that something of this chance comes up in so many independent draws."""
    with np.errstate(divide="ignore"):  # what is certain has the logarithm -inf
        missed = np.log1p(-np.minimum(chance, 1.0))
    at_least: Floats = -np.expm1(num_draws * missed)
    return at_least


def both_at_least_once(one: Floats, other: Floats, together: Floats, num_draws: int) -> Floats:
    """Return the probability that two things both come up in so many independent draws.

    Parameters
    ----------
    one, other, together : array
        The chance of each in one draw, and of both in the same draw.
    """
    either = at_least_once(one + other - together, num_draws)
    return at_least_once(one, num_draws) + at_least_once(other, num_draws) - either
