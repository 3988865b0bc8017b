"""The row cut: in a sampled batch each layer computes only the rows that later layers read."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any, Literal

import torch
from torch import Tensor, nn

from workbench.train.boundary import Boundary, BoundaryError, Call
from workbench.train.call import one_tensor

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
        self._statistics: dict[Hashable, tuple[Tensor, Tensor, Tensor | None]] = {}

    def before(self, call: Call) -> None:
        hops = self._num_calls - 1 - call.index  # the output is read for nodes within so many hops
        if hops < 0:
            raise BoundaryError(
                f"{type(call.layer).__name__}: expected {self._num_calls} message-passing calls, as in the check at "
                f"launch; got call {call.index + 1}. Fix: launch with row_cut='off'"
            )
        call.check_plain()
        x, edge_index = call.x, call.edge_index
        depth = len(self._nodes) - 1
        num_sources, num_outputs = self._nodes[min(hops + 1, depth)], self._nodes[min(hops, depth)]
        num_edges = self._edges[min(hops + 1, depth)]
        statistic = self._statistic(call, edge_index) if call.adapter is not None else None
        call.notes |= {"rows": len(x), "keep": num_outputs}
        call.set(edge_index=edge_index[:, :num_edges], **self._cut_edges(call, num_edges))
        call.set(x=(x[:num_sources], x[:num_outputs]) if call.takes_pair else x[:num_sources])
        if call.adapter is not None and statistic is not None:
            call.notes["arranged"] = True
            call.adapter.arrange(call, statistic, num_outputs)

    def after(self, call: Call, output: Any) -> Any:
        self.abandon(call)
        self._num_valid = call.notes["keep"]
        rows = one_tensor(call, output)[: self._num_valid]
        return _pad(rows, call.notes["rows"]) if self._padded else rows

    def abandon(self, call: Call) -> None:
        if call.notes.pop("arranged", False) and call.adapter is not None:
            call.adapter.restore(call)

    def before_norm(self, layer: nn.Module, x: Tensor, *, is_inside: bool) -> Tensor:
        return x[: self._num_valid] if self._padded and not is_inside else x

    def after_norm(self, layer: nn.Module, x: Tensor, output: Tensor, *, is_inside: bool) -> Tensor:
        return _pad(output, len(x)) if self._padded and not is_inside else output

    def _cut_edges(self, call: Call, num_edges: int) -> dict[str, Tensor]:
        return {name: value[:num_edges] for name, value in call.edge_arguments().items()}

    def _statistic(self, call: Call, edge_index: Tensor) -> Tensor:
        """Return the adapter's number of every node, by all edges of the batch: what the uncut layer would use."""
        adapter, weight = call.adapter, call.edge_weight
        assert adapter is not None, "asked for layers with an adapter"
        key = (type(adapter), adapter.key(call.layer), id(edge_index), id(weight))
        if key not in self._statistics:
            # The tensors are kept with it: an id may be given again only once they are gone.
            self._statistics[key] = (adapter.statistic(call, self._nodes[-1]), edge_index, weight)
        return self._statistics[key][0]


def _pad(rows: Tensor, num_rows: int) -> Tensor:
    if len(rows) == num_rows:
        return rows
    return torch.cat([rows, rows.new_zeros(num_rows - len(rows), *rows.shape[1:])])
