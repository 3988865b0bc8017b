"""Replay: one message-passing call at a time over a piece of the graph, earlier calls answered from memory."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from workbench.train.adapter import Adapter
from workbench.train.boundary import Boundary, BoundaryError, Call
from workbench.train.call import one_tensor


class Reached(Exception):
    """The forward has come to the wanted call; `rows` is its result for the piece's own nodes."""

    def __init__(self, rows: Tensor) -> None:
        self.rows = rows


class StatisticWanted(Exception):
    """The wanted call needs an adapter's number of every node; `degree` is what the piece's edges add to it."""

    def __init__(self, key: Hashable, adapter: Adapter, degree: Tensor) -> None:
        self.key, self.adapter, self.degree = key, adapter, degree


class Replay(Boundary):
    """Runs a model on a piece of the graph up to one message-passing call.

    The piece holds its own nodes first, then their in-neighbours, with all in-edges of its own nodes. Calls before
    the wanted one return what was computed for all nodes before; the wanted one is computed for the own nodes; what
    lies between calls is row by row, and runs as the model has it.

    Parameters
    ----------
    node_ids : Tensor
        (k,) global ids of the piece's nodes.
    num_own : int
        Nodes that the piece computes, the first of them.
    outputs : sequence of Tensor
        (num_nodes, ...) of each earlier call.
    statistics : mapping
        (num_nodes,) numbers of adapters, as far as they are known.
    is_last : bool
        Whether the wanted call is the model's last: the forward then runs on to the end.
    """

    def __init__(
        self,
        node_ids: Tensor,
        num_own: int,
        outputs: Sequence[Tensor],
        statistics: Mapping[Hashable, Tensor],
        *,
        is_last: bool,
    ) -> None:
        self._node_ids, self._num_own, self._outputs = node_ids, num_own, outputs
        self._statistics, self._is_last = statistics, is_last

    def before(self, call: Call) -> None:
        call.check_plain()
        if call.index < len(self._outputs):
            self._shrink(call)
        elif call.index == len(self._outputs):
            self._compute(call)
        else:
            raise BoundaryError(f"{type(call.layer).__name__}: more message-passing calls than in the first forward")

    def _compute(self, call: Call) -> None:
        x = call.x
        if call.adapter is not None:
            self._arrange(call, call.adapter, self._statistic(call, call.adapter), self._num_own)
        elif call.takes_pair:
            call.set(x=(x, x[: self._num_own]))

    def _shrink(self, call: Call) -> None:
        """Make a call as small as can be, since its result is known: one node, no edge."""
        x = call.x[:1]
        edges = {name: value[:0] for name, value in call.edge_arguments().items()}
        call.set(x=(x, x) if call.takes_pair else x, edge_index=call.edge_index[:, :0], **edges)
        if call.adapter is not None:
            self._arrange(call, call.adapter, x.new_ones(1), 1)

    def _arrange(self, call: Call, adapter: Adapter, statistic: Tensor, num_outputs: int) -> None:
        call.notes["arranged"] = True
        adapter.arrange(call, statistic, num_outputs)

    def _statistic(self, call: Call, adapter: Adapter) -> Tensor:
        if not adapter.reads_degrees:
            return adapter.degree(call, self._num_own, len(self._node_ids))
        key = (type(adapter), adapter.key(call.layer), call.index if call.edge_weight is not None else None)
        if key not in self._statistics:
            raise StatisticWanted(key, adapter, adapter.degree(call, self._num_own, len(self._node_ids)))
        return self._statistics[key][self._node_ids]

    def after(self, call: Call, output: Any) -> Any:
        self.abandon(call)
        if call.index < len(self._outputs):
            return self._outputs[call.index][self._node_ids]
        own = one_tensor(call, output)[: self._num_own]
        if not self._is_last:
            raise Reached(own)
        missing = own.new_zeros(len(self._node_ids) - self._num_own, *own.shape[1:])
        return torch.cat([own, missing])

    def abandon(self, call: Call) -> None:
        if call.notes.pop("arranged", False) and call.adapter is not None:
            call.adapter.restore(call)
