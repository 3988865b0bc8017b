"""The sampled computation tree of one seed: what is drawn, from whom, and what had been read already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.sampling.explosion_seeds import IdArray
from workbench.sampling.methods.neighbor import NeighborSampler
from workbench.sampling.seeds import as_node_ids

if TYPE_CHECKING:
    from workbench.graph import Graph


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputationTree:
    """The slots of a sampled tree, the seed first, hop by hop.

    A node that was read already stays a leaf: its vector is shared, its neighbours are not drawn again.

    Parameters
    ----------
    node_ids : ndarray, (slots,)
        Node in each slot.
    parents : ndarray, (slots,)
        Slot that drew it; -1 for the seed.
    hops : ndarray, (slots,)
        Hop of each slot, 0 for the seed.
    is_repeat : ndarray of bool, (slots,)
        True where the node stands in an earlier slot too.
    degrees : ndarray, (slots,)
        In-degree of the slot's node in the graph.
    fanouts : tuple of int
        Neighbours drawn a node and hop.
    """

    node_ids: IdArray
    parents: IdArray
    hops: IdArray
    is_repeat: NDArray[np.bool_]
    degrees: IdArray
    fanouts: tuple[int, ...]

    @property
    def num_slots_per_hop(self) -> IdArray:
        """Slots drawn at each hop, (depth + 1,)."""
        return np.bincount(self.hops, minlength=len(self.fanouts) + 1).astype(np.int64)

    @property
    def num_nodes(self) -> int:
        """Distinct nodes read."""
        return int(np.count_nonzero(~self.is_repeat))

    def children(self, slot: int) -> IdArray:
        """Return the slots that a slot drew."""
        return np.flatnonzero(self.parents == slot).astype(np.int64)

    def most_repeated(self, count: int = 10) -> list[tuple[int, int]]:
        """Return (node id, slots) of the nodes in most slots, most first; only those in more than one."""
        nodes, slots = np.unique(self.node_ids, return_counts=True)
        order = np.argsort(-slots, kind="stable")[:count]
        return [(int(nodes[i]), int(slots[i])) for i in order if slots[i] > 1]

    def nested(self, limits: Sequence[int] = ()) -> list[Any]:
        """Return the tree as ``[node id, degree, is new, children drawn, children]``, children likewise.

        Parameters
        ----------
        limits : sequence of int
            Children kept under a slot of each hop; those beyond are only counted. Default: all.
        """
        order = np.argsort(self.parents, kind="stable")
        starts = np.searchsorted(self.parents[order], np.arange(self.node_ids.size + 1))

        def subtree(slot: int, hop: int) -> list[Any]:
            drawn = order[starts[slot] : starts[slot + 1]]
            kept = drawn[: limits[hop]] if hop < len(limits) else drawn
            node, degree, new = int(self.node_ids[slot]), int(self.degrees[slot]), not self.is_repeat[slot]
            return [node, degree, int(new), int(drawn.size), [subtree(int(child), hop + 1) for child in kept]]

        return subtree(0, 0)


def computation_tree(
    graph: Graph, seed_node: int, *, fanouts: Sequence[int] = (15, 10, 5), draw: int = 0, rng_seed: int = 0
) -> ComputationTree:
    """Draw the computation tree of one seed, exactly as the neighbour sampler does.

    Parameters
    ----------
    seed_node : int
        Id of the seed.
    fanouts : sequence of int
        Neighbours drawn a node, hop 1 next to the seed, -1 = all.
    draw : int
        Number of the draw: equal numbers give equal trees.

    Raises
    ------
    InputError
        For a seed that is no node, or fanouts below -1.
    """
    taken = tuple(int(fanout) for fanout in fanouts)
    sampler = NeighborSampler(fanouts=taken)
    subgraph = sampler.sample(
        graph, as_node_ids([seed_node], graph.num_nodes, "seed_node"), epoch=draw, batch=0, rng_seed=rng_seed
    )
    source, destination = subgraph.edge_index
    # An edge is a slot; the first slot of a node is the one whose neighbours were drawn.
    local = np.concatenate([np.zeros(1, np.int64), source])
    _, first_slot = np.unique(local, return_index=True)
    slots = np.arange(local.size)
    hops = np.repeat(np.arange(len(taken) + 1), [1, *subgraph.num_edges_per_hop])
    node_ids = subgraph.node_ids[local]
    return ComputationTree(
        node_ids=node_ids,
        parents=np.concatenate([np.full(1, -1, np.int64), first_slot[destination]]),
        hops=hops.astype(np.int64),
        is_repeat=first_slot[local] != slots,
        degrees=(graph.indptr[node_ids + 1] - graph.indptr[node_ids]).astype(np.int64),
        fanouts=taken,
    )
