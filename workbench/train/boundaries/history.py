"""Historical embeddings: own rows are computed, rows of other nodes are what they were when last computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from workbench.train.boundary import Boundary, BoundaryError, Call
from workbench.train.call import one_tensor

if TYPE_CHECKING:
    from workbench.models import ModelInputs
    from workbench.train.graph_statistics import GraphStatistics

Exchange = Callable[[Call, Tensor], Tensor]


class History(Boundary):
    """Gives each call the rows of its batch's in-neighbours out of the histories, and takes over the own ones.

    A batch has its own nodes first, with all their in-edges, then the other sources of those. What a model does to the
    features before its first call it does to all rows, so that this call is exact. From then on it computes own rows.

    Parameters
    ----------
    inputs : ModelInputs
        What the model is given: rows of all nodes of the batch.
    node_ids : Tensor
        (k,) global ids.
    num_own : int
        Nodes that the batch computes, the first of them.
    reads : callable
        ``reads(call)``: whether a call reads rows that another call has computed.
    exchange : callable
        ``exchange(call, own rows) -> rows of the other nodes``: pushes the former, pulls the latter.
    statistics : GraphStatistics
    padded : bool
        Whether outputs keep the height of the inputs, the rows of other nodes being zeros (residuals from the input).
    """

    def __init__(
        self,
        inputs: ModelInputs,
        node_ids: Tensor,
        num_own: int,
        *,
        reads: Callable[[Call], bool],
        exchange: Exchange,
        statistics: GraphStatistics,
        padded: bool,
    ) -> None:
        self._inputs, self._node_ids, self._num_own = inputs, node_ids, num_own
        self._reads, self._exchange, self._statistics = reads, exchange, statistics
        self._padded, self._num_valid = padded, len(node_ids)

    def before(self, call: Call) -> None:
        call.check_plain()
        x, num_own = call.x, self._num_own
        if not self._reads(call):
            self._check_height(call, (len(self._node_ids),))
            rows = x
        else:
            self._check_height(call, (num_own, len(self._node_ids)))
            rows = torch.cat([x[:num_own], self._exchange(call, x[:num_own])])
        self._keep_own_edges(call)
        statistic = None if call.adapter is None else self._statistics.of(call, self._inputs, self._node_ids, num_own)
        call.set(x=(rows, rows[:num_own]) if call.takes_pair else rows)
        if call.adapter is not None and statistic is not None:
            call.notes["arranged"] = True
            call.adapter.arrange(call, statistic, num_own)

    def _check_height(self, call: Call, heights: tuple[int, ...]) -> None:
        if len(call.x) not in heights:
            raise BoundaryError(
                f"{type(call.layer).__name__} (message-passing call {call.index + 1}): expected one row a node "
                f"({self._num_own} own ones of {len(self._node_ids)}); got {len(call.x)} rows"
            )

    def _keep_own_edges(self, call: Call) -> None:
        """Leave out edges that the model has added into nodes of other batches, such as their self-loops."""
        if call.edge_index is self._inputs.edge_index:
            return
        own = call.edge_index[1] < self._num_own
        if not bool(own.all()):
            edges = {name: value[own] for name, value in call.edge_arguments().items()}
            call.set(edge_index=call.edge_index[:, own], **edges)

    def after(self, call: Call, output: Any) -> Any:
        self.abandon(call)
        self._num_valid = self._num_own
        rows = one_tensor(call, output)[: self._num_own]
        return self._pad(rows) if self._padded else rows

    def abandon(self, call: Call) -> None:
        if call.notes.pop("arranged", False) and call.adapter is not None:
            call.adapter.restore(call)

    def before_norm(self, layer: nn.Module, x: Tensor, *, is_inside: bool) -> Tensor:
        return x[: self._num_valid] if self._padded and not is_inside else x

    def after_norm(self, layer: nn.Module, x: Tensor, output: Tensor, *, is_inside: bool) -> Tensor:
        return self._pad(output) if self._padded and not is_inside else output

    def _pad(self, rows: Tensor) -> Tensor:
        missing = len(self._node_ids) - len(rows)
        return torch.cat([rows, rows.new_zeros(missing, *rows.shape[1:])]) if missing else rows
