"""Exact inference over a whole graph in bounded memory, by all ranks: layer by layer, piece by piece.

A full-batch forward keeps a message for every edge (2.7 GiB for 3 million edges of 256 values). Here each
message-passing call is computed once for every node, in pieces; only its outputs are kept. Ranks take turns
with pieces of nearly equal work and exchange their rows after each, so none waits long for another.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from workbench.models import ModelInputs, call_model
from workbench.train.boundaries.replay import Reached, Replay, StatisticWanted
from workbench.train.boundary import attached
from workbench.train.pieces import Ids, Piece, PieceMaker, piece_bounds, rounds_of
from workbench.train.whole import ATTRIBUTES, WEIGHT, as_tensor, edge_column

if TYPE_CHECKING:
    from workbench.graph import Graph
    from workbench.train.transport import Transport

PIECE_BYTES = 64 << 20  # messages of a piece in the widest layer
_MIN_WIDTH = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerwiseInference:
    """A graph prepared for exact inference.

    Parameters
    ----------
    graph : Graph
        Features may be mapped or sparse: rows are read by the piece.
    transport : Transport
    device, dtype
        Where and in what precision the model computes.
    num_calls : int
        Message-passing calls of one forward.
    piece_bytes : int
        About how much the messages of a piece may take.
    """

    graph: Graph
    transport: Transport
    device: torch.device
    dtype: torch.dtype
    num_calls: int
    piece_bytes: int = PIECE_BYTES
    _statistics: dict[Hashable, Tensor] = field(default_factory=dict)

    def run(self, module: nn.Module, keep: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``keep(outputs)`` for all nodes, on the CPU of every rank; all ranks call it.

        Parameters
        ----------
        module : Module
            In evaluation mode, the same on all ranks; what it does between message-passing calls is row by row.
        keep : callable
            Maps (rows, out_channels) to what is kept of each row.
        """
        outputs: list[Tensor] = []
        weighted = self.graph.edge_data.get(WEIGHT) is not None
        for index in range(max(self.num_calls, 1)):
            is_last = index >= self.num_calls - 1
            outputs.append(self._pass(module, outputs, keep if is_last else _as_it_is, is_last=is_last))
        if weighted:  # the weights may have passed through parameters of the model
            self._statistics.clear()
        return outputs[-1].cpu()

    def _pass(
        self, module: nn.Module, outputs: list[Tensor], keep: Callable[[Tensor], Tensor], *, is_last: bool
    ) -> Tensor:
        """Compute one message-passing call (the last: to the end of the forward) for all nodes."""
        while True:
            try:
                return self._over_pieces(lambda piece: keep(self._forward(module, piece, outputs, is_last=is_last)))
            except StatisticWanted as wanted:  # every rank meets it at its first piece
                self._statistics[wanted.key] = self._statistic(
                    lambda piece: self._ask(module, piece, outputs, is_last=is_last)
                )

    def _over_pieces(self, compute: Callable[[Piece], Tensor]) -> Tensor:
        """Return the rows that `compute` gives for the own nodes of each piece, of all ranks, in the order of ids."""
        graph, transport = self.graph, self.transport
        maker, result = PieceMaker(graph), torch.empty(0)
        for ranges in rounds_of(self._bounds(), transport.world_size):
            begin, end = ranges[transport.rank]
            # A rank without a node in this round joins with no row; the shape of a row it learns from some node.
            piece = maker.make(begin, end) if end > begin else maker.make(0, 1)
            rows = compute(piece)[: end - begin]
            parts = transport.all_gather(rows.contiguous(), [end - begin for begin, end in ranges], kind="evaluate")
            if not len(result):
                result = rows.new_empty(graph.num_nodes, *rows.shape[1:])
            for (begin, end), part in zip(ranges, parts, strict=True):
                result[begin:end] = part
        return result

    def _bounds(self) -> Ids:
        width = max(self.graph.num_features, _MIN_WIDTH) * torch.finfo(self.dtype).bits // 8
        max_edges = max(1, self.piece_bytes // width)
        return piece_bounds(self.graph.indptr, max_edges=max_edges, world_size=self.transport.world_size)

    def _statistic(self, ask: Callable[[Piece], StatisticWanted]) -> Tensor:
        """Return an adapter's number of every node: degrees added up over the pieces of all ranks."""
        transport, maker = self.transport, PieceMaker(self.graph)
        adapter, total = None, torch.empty(0)
        for ranges in rounds_of(self._bounds(), transport.world_size):
            begin, end = ranges[transport.rank]
            piece = maker.make(begin, end) if end > begin else maker.make(0, 1)
            wanted = ask(piece)
            if adapter is None:
                adapter, total = wanted.adapter, wanted.degree.new_zeros(self.graph.num_nodes)
            if end > begin:
                total.index_add_(0, torch.from_numpy(piece.node_ids).to(self.device), wanted.degree)
        assert adapter is not None, "a graph has a piece"
        transport.all_reduce(total, kind="evaluate")
        return adapter.finish(total)

    def _forward(self, module: nn.Module, piece: Piece, outputs: list[Tensor], *, is_last: bool) -> Tensor:
        node_ids = torch.from_numpy(piece.node_ids).to(self.device)
        replay = Replay(node_ids, piece.num_own, outputs, self._statistics, is_last=is_last)
        try:
            with attached(module, replay):
                rows: Tensor = call_model(module, self._inputs(piece))
        except Reached as reached:
            return reached.rows
        return rows[: piece.num_own]

    def _ask(self, module: nn.Module, piece: Piece, outputs: list[Tensor], *, is_last: bool) -> StatisticWanted:
        """Run up to the call that wants an adapter's statistic, and return what this piece adds to it."""
        node_ids = torch.from_numpy(piece.node_ids).to(self.device)
        replay = Replay(node_ids, piece.num_own, outputs, {}, is_last=is_last)
        try:
            with attached(module, replay):
                call_model(module, self._inputs(piece))
        except StatisticWanted as wanted:
            return wanted
        raise AssertionError("the call wanted a statistic a moment ago")

    def _inputs(self, piece: Piece) -> ModelInputs:
        graph, edge_ids = self.graph, piece.edge_ids
        return ModelInputs(
            x=as_tensor(graph.x[piece.node_ids], self.device, self.dtype),
            edge_index=torch.from_numpy(piece.edge_index).to(self.device),
            edge_weight=edge_column(graph, WEIGHT, edge_ids, self.device, self.dtype),
            edge_attr=edge_column(graph, ATTRIBUTES, edge_ids, self.device, self.dtype),
        )


def _as_it_is(rows: Tensor) -> Tensor:
    return rows
