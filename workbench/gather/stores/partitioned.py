"""Features that lie with the owners of their nodes: own rows from the own part, the others' in one message an owner.

No entry of ``STORES``: such rows cannot be read by one process alone. Every rank asks in every step, also for nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np
from numpy.typing import NDArray

from workbench.gather.base import Ids, Rows
from workbench.gather.rows import RowStore, features_of
from workbench.partition.local import LocalPart, open_part

REQUEST, ROWS, COUNTS = "request", "gather_remote", "control"  # the kinds of bytes that move


class Peers(Protocol):
    """The other ranks, as far as fetching rows needs them; all ranks make the same calls in the same order."""

    @property
    def rank(self) -> int: ...
    @property
    def world_size(self) -> int: ...

    def exchange(self, blocks: Sequence[NDArray[Any]], num_rows: Sequence[int], kind: str) -> list[NDArray[Any]]:
        """Send ``blocks[q]`` to rank q, and return one block from each rank, of ``num_rows[q]`` rows."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Wanted:
    """Who needs rows of whom in a step.

    Parameters
    ----------
    places : list of int64 arrays
        For each owner, the positions in the batch of its nodes.
    requests : list of int64 arrays
        For each owner, the global ids of those nodes; empty for this rank's own.
    own : int64 array
        Global ids of this rank's own nodes in the batch.
    num_asked : list of int
        Rows that each rank asks of this one.
    """

    places: list[Ids]
    requests: list[Ids]
    own: Ids
    num_asked: list[int]


@final
class PartitionedRows:
    """The rows of a graph's features, divided among ranks.

    Parameters
    ----------
    part : LocalPart
        This rank's part; of its rows those of inner nodes are read, so that halo rows too come from their owner.
    owners : array, int32 (n)
        The rank that owns each node.
    peers : Peers

    Attributes
    ----------
    num_local, num_remote : int
        Rows brought so far, from the own part and from others': together the rows asked for.
    """

    def __init__(self, part: LocalPart, owners: NDArray[np.int32], peers: Peers) -> None:
        self._rows, self._inner = RowStore(features_of(part.graph)), np.asarray(part.inner_nodes)
        self._owners, self._peers = owners, peers
        self.num_local = self.num_remote = 0

    @property
    def width(self) -> int:
        return self._rows.width

    def announce(self, ids: Ids) -> Wanted:
        """Sort ids by owner and tell every owner how many rows will be asked of it; every rank calls it."""
        peers, owner = self._peers, self._owners[ids]
        places = [np.flatnonzero(owner == rank) for rank in range(peers.world_size)]
        requests = [ids[place] for place in places]
        own, requests[peers.rank] = requests[peers.rank], np.zeros(0, np.int64)
        counts = [np.array([len(request)], np.int64) for request in requests]
        asked = peers.exchange(counts, [1] * peers.world_size, COUNTS)
        return Wanted(places=places, requests=requests, own=own, num_asked=[int(count[0]) for count in asked])

    def fetch(self, wanted: Wanted) -> Rows:
        """Return the rows, in the order of the ids: one request to an owner and one answer; every rank calls it.

        Parameters
        ----------
        wanted : Wanted
            What :meth:`announce` returned on this rank.
        """
        peers, width = self._peers, self.width
        asked = peers.exchange(wanted.requests, wanted.num_asked, REQUEST)
        answers = [self._read(ids) for ids in asked]
        found = peers.exchange(answers, [len(request) for request in wanted.requests], ROWS)
        rows = np.empty((sum(map(len, wanted.places)), width), np.float32)
        for rank, place in enumerate(wanted.places):
            rows[place] = self._read(wanted.own) if rank == peers.rank else found[rank]
        self.num_local += len(wanted.own)
        self.num_remote += len(rows) - len(wanted.own)
        return rows

    def gather(self, ids: Ids) -> Rows:
        """Return the rows of `ids` (k) as float32 (k, width), in their order; every rank calls it."""
        return self.fetch(self.announce(ids))

    def _read(self, ids: Ids) -> Rows:
        return self._rows.gather(np.searchsorted(self._inner, ids))


def owners_in(folder: str | Path, num_parts: int, num_nodes: int) -> NDArray[np.int32]:
    """Return the part that owns each node, int32 (n), from the ids in a folder of parts."""
    owners = np.full(num_nodes, -1, np.int32)
    for part in range(num_parts):
        owners[open_part(folder, part).inner_nodes] = part
    assert owners.min(initial=0) >= 0, f"{folder} has parts of another graph"
    return owners
