"""Halo exchange: every call reads its neighbours' rows from the ranks that own them, in this step and exactly."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Protocol

from torch import Tensor, nn

from workbench.models import ModelInputs
from workbench.train.adapter import Adapter
from workbench.train.batch_norm import NormsOverRanks
from workbench.train.boundary import Boundary, BoundaryError, Call
from workbench.train.call import one_tensor
from workbench.train.halo import STATISTICS, HaloExchange, Kinds
from workbench.train.message_watch import MessageWatch


class PartData:
    """What stays the same from forward to forward on one rank.

    Parameters
    ----------
    inputs : ModelInputs
        Own nodes alone; edges into them, whose sources go on into the halo.
    features : Tensor
        (num_local, in_channels) of own and halo nodes: those of the halo were written with the part and never move.
    """

    def __init__(self, inputs: ModelInputs, features: Tensor) -> None:
        self.inputs, self.features = inputs, features
        self.statistics: dict[Hashable, Tensor] = {}


class HaloRows(Protocol):
    """Brings the rows of a call's halo in another way than from their owners, now and whole."""

    def with_halo(self, call: Call, x: Tensor) -> Tensor:
        """Return (num_local, ...): own rows (num_inner, ...) first, then those of the halo; all ranks call it."""
        ...


class Halo(Boundary):
    """Gives each call the rows of its halo, fetched from their owners, and takes the own rows of its output.

    Gradients travel back to the owners. Degrees are global; batch statistics are over the rows of all ranks.

    Parameters
    ----------
    exchange : HaloExchange
    data : PartData
    kinds : Kinds
        As what bytes are counted.
    watch : MessageWatch
        On the module in the same forward: tells rows of edges from rows of nodes.
    rows : HaloRows, optional
        Where the rows of the halo come from, if not by `exchange`. Features, degrees and statistics stay exact.
    """

    def __init__(
        self,
        exchange: HaloExchange,
        data: PartData,
        kinds: Kinds,
        watch: MessageWatch,
        rows: HaloRows | None = None,
    ) -> None:
        self._exchange, self._data, self._kinds, self._watch = exchange, data, kinds, watch
        self._rows = rows
        self._norms = NormsOverRanks(exchange.transport)

    def before(self, call: Call) -> None:
        call.check_plain()
        x, num_inner = call.x, self._exchange.num_inner
        if len(x) != num_inner:
            raise BoundaryError(
                f"{type(call.layer).__name__} (message-passing call {call.index + 1}): expected one row a node "
                f"({num_inner} own nodes); got {len(x)} rows"
            )
        statistic = None if call.adapter is None else self._statistic(call, call.adapter)
        are_features = self._exchange.all_agree(x is self._data.inputs.x)
        rows = self._data.features if are_features else self._with_halo(call, x)
        call.set(x=(rows, x) if call.takes_pair else rows)
        if call.adapter is not None and statistic is not None:
            call.notes["arranged"] = True
            call.adapter.arrange(call, statistic, num_inner)

    def _with_halo(self, call: Call, x: Tensor) -> Tensor:
        return self._exchange.with_halo(x, self._kinds) if self._rows is None else self._rows.with_halo(call, x)

    def after(self, call: Call, output: Any) -> Any:
        self.abandon(call)
        return one_tensor(call, output)[: self._exchange.num_inner]

    def abandon(self, call: Call) -> None:
        if call.notes.pop("arranged", False) and call.adapter is not None:
            call.adapter.restore(call)

    def _statistic(self, call: Call, adapter: Adapter) -> Tensor:
        """Return the adapter's number of own and halo nodes; where the edges are the graph's own, found out once."""
        weight, inputs = call.edge_weight, self._data.inputs
        is_own = call.edge_index is inputs.edge_index and (weight is None or weight is inputs.edge_weight)
        key = (type(adapter), adapter.key(call.layer), weight is None, call.x.dtype)
        if is_own and key in self._data.statistics:
            return self._data.statistics[key]
        exchange = self._exchange
        if not adapter.reads_degrees:
            return adapter.degree(call, exchange.num_inner, exchange.num_local)
        degree = adapter.degree(call, exchange.num_inner, exchange.num_local)
        own = exchange.at_owners(degree, STATISTICS) if adapter.at_source else degree[: exchange.num_inner]
        statistic = exchange.with_halo(adapter.finish(own), STATISTICS)
        if is_own and not statistic.requires_grad and not statistic.is_inference():
            self._data.statistics[key] = statistic
        return statistic

    def before_norm(self, layer: nn.Module, x: Tensor, *, is_inside: bool) -> Tensor:
        return self._norms.before(layer, x)

    def after_norm(self, layer: nn.Module, x: Tensor, output: Tensor, *, is_inside: bool) -> Tensor:
        exchange = self._exchange
        # Inside a layer, rows of halo nodes may pass beside the own ones: their owners count them.
        has_halo = is_inside and self._watch.edge_index is None and len(x) == exchange.num_local
        return self._norms.after(layer, x, output, exchange.num_inner if has_halo else len(x))

    def abandon_norm(self, layer: nn.Module) -> None:
        self._norms.abandon(layer)
