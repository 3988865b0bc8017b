"""Feature parallelism: each rank propagates some columns of all nodes, and computes all else for its own rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from torch import Tensor, nn
from torch_geometric.nn import GCN2Conv, GCNConv, GINConv, GraphConv, LGConv, MessagePassing, SAGEConv

from workbench.models import ModelInputs
from workbench.models.sparse import SparsePropagate
from workbench.train.adapter import Adapter, adapter_of
from workbench.train.batch_norm import NormsOverRanks
from workbench.train.boundary import Boundary, BoundaryError, Call
from workbench.train.call import one_tensor
from workbench.train.columns import ColumnExchange
from workbench.train.halo import Kinds

PLAIN = (SAGEConv, GINConv, GraphConv, GCNConv, GCN2Conv, LGConv)
"""Layers without an adapter whose message is a source's row times at most one number of the edge. (GCNConv and the
two after it without normalisation: else they have an adapter.)"""
BY_COLUMN = ("sum", "add", "mean", "max", "min")
EXPECTED = "a layer that treats every column alike: GCN, SAGE (mean, sum, max), GIN, GraphConv, SGC, APPNP, TAG, Cheb"


def layers_of_mixed_columns(module: nn.Module) -> Iterator[tuple[str, str]]:
    """Yield the name of each layer whose propagation cannot be done column by column, and what it is."""
    for name, layer in module.named_modules():
        if not isinstance(layer, MessagePassing):
            continue
        kind = type(layer).__name__
        if adapter_of(layer) is None and type(layer) not in PLAIN:
            yield name, f"{kind}, whose messages may mix columns"
        elif layer.aggr not in BY_COLUMN:
            yield name, f"{kind} with aggr={layer.aggr!r}"
        elif isinstance(layer.propagate, SparsePropagate) and layer.propagate.maps_columns:
            yield name, f"{kind} with sparse=True, which maps columns while it propagates"


class ColumnData:
    """What stays the same from forward to forward on one rank.

    Parameters
    ----------
    inputs : ModelInputs
        Own rows of the features; all edges of the graph, in global ids.
    columns : Tensor
        (num_nodes, own columns) of the features: read once, they never move.
    """

    def __init__(self, inputs: ModelInputs, columns: Tensor) -> None:
        self.inputs, self.columns = inputs, columns
        self.statistics: dict[Hashable, Tensor] = {}


class Columns(Boundary):
    """Gives each propagation all nodes and edges with this rank's columns, and the model the own rows of its result.

    Degrees are of the whole graph, which every rank has; batch statistics are over the rows of all ranks.
    """

    def __init__(self, exchange: ColumnExchange, data: ColumnData, kinds: Kinds) -> None:
        self._exchange, self._data, self._kinds = exchange, data, kinds
        self._norms = NormsOverRanks(exchange.transport)

    def before(self, call: Call) -> None:
        call.check_plain()
        exchange, adapter = self._exchange, call.adapter
        if len(call.x) != exchange.num_own:
            raise BoundaryError(
                f"{type(call.layer).__name__} (message-passing call {call.index + 1}): expected one row a node "
                f"({exchange.num_own} own nodes); got {len(call.x)} rows"
            )
        if adapter is not None and adapter.by_propagate:  # the call is one propagation
            statistic = self._statistic(call, adapter)
            call.notes["width"] = call.x.shape[-1]
            call.set(x=self._to_columns(call.x))
            adapter.arrange(call, statistic, exchange.num_nodes)
            return
        if adapter is not None:
            statistic = self._statistic(call, adapter)
            call.notes["arranged"] = True
            adapter.arrange(call, statistic, exchange.num_nodes)
        layer: Any = call.layer
        call.notes["hooks"] = [
            layer.register_propagate_forward_pre_hook(lambda _, inputs: self._before_propagate(call, *inputs)),
            layer.register_propagate_forward_hook(lambda _, inputs, rows: self._to_rows(call, rows)),
        ]

    def _before_propagate(self, call: Call, edge_index: Tensor, size: Any, kwargs: dict[str, Any]) -> Any:
        x = kwargs["x"]
        source = x[0] if isinstance(x, tuple) else x
        call.notes["width"] = source.shape[-1]
        columns = self._to_columns(source)
        whole = {**kwargs, "x": (columns, columns) if isinstance(x, tuple) else columns}
        return edge_index, (self._exchange.num_nodes, self._exchange.num_nodes), whole

    def _to_columns(self, x: Tensor) -> Tensor:
        return self._data.columns if x is self._data.inputs.x else self._exchange.to_columns(x, self._kinds)

    def _to_rows(self, call: Call, columns: Tensor) -> Tensor:
        return self._exchange.to_rows(columns, call.notes["width"], self._kinds)

    def after(self, call: Call, output: Any) -> Any:
        self.abandon(call)
        rows = one_tensor(call, output)
        by_propagate = call.adapter is not None and call.adapter.by_propagate
        return self._to_rows(call, rows) if by_propagate else rows

    def abandon(self, call: Call) -> None:
        for hook in call.notes.pop("hooks", ()):
            hook.remove()
        if call.notes.pop("arranged", False) and call.adapter is not None:
            call.adapter.restore(call)

    def _statistic(self, call: Call, adapter: Adapter) -> Tensor:
        """Return the adapter's number of every node; where the edges are the graph's own, found out once."""
        weight, inputs = call.edge_weight, self._data.inputs
        is_own = call.edge_index is inputs.edge_index and (weight is None or weight is inputs.edge_weight)
        key = (type(adapter), adapter.key(call.layer), weight is None, call.x.dtype)
        if is_own and key in self._data.statistics:
            return self._data.statistics[key]
        statistic = adapter.statistic(call, self._exchange.num_nodes)
        if is_own and not statistic.requires_grad and not statistic.is_inference():
            self._data.statistics[key] = statistic
        return statistic

    def before_norm(self, layer: nn.Module, x: Tensor, *, is_inside: bool) -> Tensor:
        return self._norms.before(layer, x)

    def after_norm(self, layer: nn.Module, x: Tensor, output: Tensor, *, is_inside: bool) -> Tensor:
        return self._norms.after(layer, x, output, len(x))

    def abandon_norm(self, layer: nn.Module) -> None:
        self._norms.abandon(layer)
