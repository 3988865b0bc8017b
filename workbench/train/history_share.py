"""Histories divided among ranks: each holds the rows of its own nodes, and others ask it for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.train.history import HistoryRows
from workbench.train.history_batch import Ids, positions_at_owners

if TYPE_CHECKING:
    from workbench.train.transport import Transport

REMOTE, REQUEST = "history_remote", "request"  # as what bytes between ranks are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadAhead:
    """Rows of this rank that were read before they were needed: positions, rows, and the steps they were written at."""

    is_own: Tensor
    positions: Tensor
    rows: Tensor
    written: Tensor


class SharedHistories:
    """The histories of all ranks, as one of them sees them.

    Parameters
    ----------
    rows : HistoryRows
        Of the rank's own nodes, ascending by id.
    owners : array, int32 (n)
        The rank that owns each node.
    transport : Transport
    """

    def __init__(self, rows: HistoryRows, owners: NDArray[np.int32], transport: Transport) -> None:
        self.rows, self._transport = rows, transport
        self._owners = torch.from_numpy(owners)
        self._positions = torch.from_numpy(positions_at_owners(owners, transport.world_size))

    def own_positions(self, own: Ids) -> Tensor:
        """Return the positions of nodes of this rank among its rows."""
        return self._positions[torch.from_numpy(own)]

    def read_ahead(self, halo: Ids) -> ReadAhead:
        """Read what this rank holds of some nodes; on any thread, also while rows are written."""
        ids = torch.from_numpy(halo)
        is_own = self._owners[ids] == self._transport.rank
        positions = self._positions[ids[is_own]]
        rows, written = self.rows.read(positions)
        return ReadAhead(is_own=is_own, positions=positions, rows=rows, written=written)

    def pull(self, halo: Ids, ahead: ReadAhead) -> tuple[Tensor, Tensor]:
        """Return rows (k, width) of some nodes and the steps at which they were written; every rank calls it in a step.

        What was written after it was read ahead is read again: the rows are those of now.
        """
        rows, written = ahead.rows, ahead.written
        changed = torch.nonzero(self.rows.written[ahead.positions] != written).squeeze(1)
        if len(changed):
            rows[changed], written[changed] = self.rows.read(ahead.positions[changed])
        if self._transport.world_size == 1:
            return rows, written
        all_rows = rows.new_empty(len(halo), rows.shape[1])
        all_written = written.new_empty(len(halo))
        all_rows[ahead.is_own], all_written[ahead.is_own] = rows, written
        self._fetch(torch.from_numpy(halo), all_rows, all_written)
        return all_rows, all_written

    def _fetch(self, ids: Tensor, rows: Tensor, written: Tensor) -> None:
        """Fill in the rows that other ranks hold: one request and one answer an owner."""
        transport, rank, world = self._transport, self._transport.rank, self._transport.world_size
        owners = self._owners[ids]
        wanted = [torch.nonzero(owners == q).squeeze(1) if q != rank else ids[:0] for q in range(world)]
        counts = torch.tensor([[len(places) for places in wanted]])
        table = torch.cat(transport.all_gather(counts, [1] * world, kind="control"))  # [who asks, whom]
        asked = transport.exchange(
            [self._positions[ids[places]] for places in wanted], table[:, rank].tolist(), kind=REQUEST
        )
        answers = [self.rows.read(positions) for positions in asked]
        num_rows = table[rank].tolist()
        found = transport.exchange([answer[0] for answer in answers], num_rows, kind=REMOTE)
        steps = transport.exchange([answer[1] for answer in answers], num_rows, kind=REQUEST)
        for places, block, step in zip(wanted, found, steps, strict=True):
            rows[places], written[places] = block, step
