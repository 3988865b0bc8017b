"""The row cut: in a sampled batch each layer computes only the rows that later layers read."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any, Literal

import torch
from torch import Tensor

from workbench.train.adapter import adapter_of
from workbench.train.boundary import Boundary, BoundaryError, Call, takes_pair

CutMode = Literal["cut", "padded", "off"]


class RowCut(Boundary):
    """Cuts the rows and edges of each call to those that the seeds' outputs depend on.

    Nodes and edges of a sampled batch lie in the order of their hops. Of K calls, the output of call i is read for
    nodes within K - 1 - i hops, from nodes within K - i hops, by the edges into the former. The counting is
    right for calls one after another and keeps too much, never too little, for calls side by side.

    Parameters
    ----------
    num_nodes_per_hop : sequence of int
        New nodes by hop, seeds first (hops + 1).
    num_edges_per_hop : sequence of int
        Edges by hop (hops).
    num_calls : int
        Message-passing calls of one forward of the model.
    padded : bool
        Whether rows that nobody reads come back as zeros, so that outputs keep the height of their inputs
        (residuals, JumpingKnowledge); BatchNorm then sees the computed rows alone.
    """

    def __init__(
        self, num_nodes_per_hop: Sequence[int], num_edges_per_hop: Sequence[int], num_calls: int, *, padded: bool
    ) -> None:
        self._nodes = list(accumulate(int(count) for count in num_nodes_per_hop))  # [h]: nodes within h hops
        self._edges = [0, *accumulate(int(count) for count in num_edges_per_hop)]  # [h]: edges into those within h - 1
        self._num_calls, self._padded = num_calls, padded
        self._num_valid = self._nodes[-1]
        self._statistics: dict[Hashable, Tensor] = {}

    def before(self, call: Call) -> None:
        hops = self._num_calls - 1 - call.index  # the output is read for nodes within so many hops
        if hops < 0:
            raise BoundaryError(
                f"{type(call.layer).__name__}: expected {self._num_calls} message-passing calls, as in the check at "
                f"launch; got call {call.index + 1}. Fix: launch with row_cut='off'"
            )
        x, edge_index = _plain_tensors(call)
        depth = len(self._nodes) - 1
        num_sources, num_outputs = self._nodes[min(hops + 1, depth)], self._nodes[min(hops, depth)]
        num_edges = self._edges[min(hops + 1, depth)]
        adapter = adapter_of(call.layer)
        if adapter is not None:
            statistic = self._statistic(call, edge_index)
        call.notes |= {"rows": len(x), "keep": num_outputs, "adapter": adapter}
        call.set(edge_index=edge_index[:, :num_edges], **self._cut_edges(call, num_edges))
        pair = adapter is None and takes_pair(call.layer)
        call.set(x=(x[:num_sources], x[:num_outputs]) if pair else x[:num_sources])
        if adapter is not None:
            adapter.arrange(call, statistic, num_outputs)

    def after(self, call: Call, output: Any) -> Any:
        self.abandon(call)
        if not isinstance(output, Tensor):
            raise BoundaryError(
                f"{type(call.layer).__name__}: expected one tensor as output; got {type(output).__name__}"
            )
        self._num_valid = call.notes["keep"]
        rows = output[: self._num_valid]
        return _pad(rows, call.notes["rows"]) if self._padded else rows

    def abandon(self, call: Call) -> None:
        if call.notes.get("adapter") is not None:
            call.notes["adapter"].restore(call)

    def before_norm(self, x: Tensor) -> Tensor:
        return x[: self._num_valid] if self._padded else x

    def after_norm(self, x: Tensor, output: Tensor) -> Tensor:
        return _pad(output, len(x)) if self._padded else output

    def _cut_edges(self, call: Call, num_edges: int) -> dict[str, Tensor]:
        return {name: value[:num_edges] for name, value in call.edge_arguments().items()}

    def _statistic(self, call: Call, edge_index: Tensor) -> Tensor:
        """Return the adapter's number of every node, by all edges of the batch: what the uncut layer would use."""
        adapter = adapter_of(call.layer)
        assert adapter is not None, "asked for layers with an adapter"
        weight = call.edge_weight
        key = (type(adapter), adapter.key(call.layer), None if weight is None else id(weight), edge_index.shape[1])
        if key not in self._statistics:
            self._statistics[key] = adapter.statistic(call, self._nodes[-1])
        return self._statistics[key]


def _plain_tensors(call: Call) -> tuple[Tensor, Tensor]:
    layer = call.layer
    if getattr(layer, "flow", "source_to_target") != "source_to_target":
        raise BoundaryError(f"{type(layer).__name__}: expected flow 'source_to_target'; got {layer.flow!r}")
    if call.arguments.arguments.get("size") is not None:
        raise BoundaryError(f"{type(layer).__name__}: expected size=None; got {call.arguments.arguments['size']}")
    return call.x, call.edge_index


def _pad(rows: Tensor, num_rows: int) -> Tensor:
    if len(rows) == num_rows:
        return rows
    return torch.cat([rows, rows.new_zeros(num_rows - len(rows), *rows.shape[1:])])
