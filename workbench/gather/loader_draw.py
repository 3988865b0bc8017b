"""One batch of the loaders: from seed nodes, which may repeat, to PyG's ``SamplerOutput``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.sampler import SamplerOutput

from workbench.sampling import SampledSubgraph, Sampler, Topology

Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawKey:
    """What the randomness of a batch is a function of."""

    rng_seed: int
    epoch: int
    batch: int


def draw(
    graph: Topology, sampler: Sampler, seed_nodes: Ids, key: DrawKey, seed_times: Ids | None = None
) -> SampledSubgraph:
    """Sample a batch whose seeds may repeat: row i of the result is seed i.

    Where trees lie side by side, every seed has one of its own. Else each row of a repeated seed has the same in-edges:
    an edge into it comes once for each of its rows, an edge out of it leaves its first row.
    """
    parts: dict[str, Any] = {"epoch": key.epoch, "batch": key.batch, "rng_seed": key.rng_seed}
    if seed_times is not None:
        parts["seed_times"] = seed_times
    if is_disjoint(sampler):
        return sampler.sample(graph, seed_nodes, **parts)
    _, first, group = np.unique(seed_nodes, return_index=True, return_inverse=True)
    if len(first) == len(seed_nodes):
        return sampler.sample(graph, seed_nodes, **parts)
    order = np.argsort(first)  # each node once, by its first row
    number = np.empty_like(order)
    number[order] = np.arange(len(order))
    subgraph = sampler.sample(graph, seed_nodes[first[order]], **parts)
    return _with_repeats(subgraph, seed_nodes, number[group])


def is_disjoint(sampler: Any) -> bool:
    """Say whether a sampler lays the trees of its seeds side by side, which seeds with times always need."""
    return bool(getattr(sampler, "has_trees", False))


def _with_repeats(subgraph: SampledSubgraph, seed_nodes: Ids, number: Ids) -> SampledSubgraph:
    """Give the subgraph of distinct seeds one row for every seed; ``number[i]`` is the row of seed i among them."""
    num_distinct, added = subgraph.num_seeds, len(seed_nodes) - subgraph.num_seeds
    rows_of = np.ones(subgraph.num_nodes, np.int64)  # how many rows a node of the subgraph gets
    rows_of[:num_distinct] = np.bincount(number, minlength=num_distinct)
    begin = np.cumsum(rows_of) - rows_of
    others = np.arange(num_distinct, subgraph.num_nodes) + added
    rows = np.concatenate([np.argsort(number, kind="stable"), others])
    source, destination = subgraph.edge_index
    copies = rows_of[destination]
    edge = np.repeat(np.arange(len(copies)), copies)
    which = np.arange(len(edge)) - np.repeat(np.cumsum(copies) - copies, copies)
    hop = np.repeat(np.arange(len(subgraph.num_edges_per_hop)), subgraph.num_edges_per_hop)[edge]
    edge_index = np.stack([rows[begin[source[edge]]], rows[begin[destination[edge]] + which]])
    order = np.lexsort((edge_index[1], hop))  # by destination within a hop, as without repeats
    edge = edge[order]
    return SampledSubgraph(
        node_ids=np.concatenate([seed_nodes, subgraph.node_ids[num_distinct:]]),
        edge_index=edge_index[:, order],
        edge_ids=subgraph.edge_ids[edge],
        num_nodes_per_hop=np.concatenate([[len(seed_nodes)], subgraph.num_nodes_per_hop[1:]]),
        num_edges_per_hop=np.bincount(hop, minlength=len(subgraph.num_edges_per_hop)),
        edge_weight=None if subgraph.edge_weight is None else subgraph.edge_weight[edge],
        node_weight=None if subgraph.node_weight is None else subgraph.node_weight[number],
    )


def to_output(subgraph: SampledSubgraph, *, by_hop: bool) -> Any:
    """Return a sampled subgraph as PyG's record; its ``edge`` numbers the edges as the graph does.

    What a sampler says of the weight of edges and seeds goes along as ``edge_norm`` and ``node_norm``.
    """
    row, col = torch.from_numpy(subgraph.edge_index)
    out = SamplerOutput(
        node=torch.from_numpy(subgraph.node_ids),
        row=row,
        col=col,
        edge=torch.from_numpy(subgraph.edge_ids),
        batch=None if subgraph.batch is None else torch.from_numpy(subgraph.batch),
        num_sampled_nodes=subgraph.num_nodes_per_hop.tolist() if by_hop else None,
        num_sampled_edges=subgraph.num_edges_per_hop.tolist() if by_hop else None,
    )
    for name, weight in (("edge_norm", subgraph.edge_weight), ("node_norm", subgraph.node_weight)):
        if weight is not None:
            setattr(out, name, torch.from_numpy(weight))
    return out
