"""A model on one part of a graph: forward with its halo, and exact inference by all ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch_geometric.nn.norm import BatchNorm

from workbench.core.errors import RunError
from workbench.models import ModelInputs, call_model
from workbench.train.boundaries.halo import Halo, HaloRows, PartData
from workbench.train.boundary import attached
from workbench.train.halo import EVALUATION, LAYERS, HaloExchange, Kinds
from workbench.train.keyed_dropout import KeyedDropout, KeyedRows
from workbench.train.message_watch import MessageWatch
from workbench.train.whole import whole_graph_inputs

if TYPE_CHECKING:
    from workbench.partition.local import LocalPart
    from workbench.train.recorder import Recorder
    from workbench.train.transport import Transport


class PartRunner:
    """Runs a model on the own nodes of a part, together with the ranks of the other parts. All ranks make it together.

    Parameters
    ----------
    part : LocalPart
    transport : Transport
    device, dtype
        Where and in what precision the model computes.
    recorder : Recorder, optional
        Gets the time of every exchange.
    """

    def __init__(
        self,
        part: LocalPart,
        transport: Transport,
        device: torch.device,
        dtype: torch.dtype,
        recorder: Recorder | None = None,
    ) -> None:
        self.part = part
        self.exchange = HaloExchange(part, transport, device, recorder)
        whole = whole_graph_inputs(part.graph, device, dtype)
        own = ModelInputs(
            x=whole.x[: part.num_inner],
            edge_index=whole.edge_index,
            edge_weight=whole.edge_weight,
            edge_attr=whole.edge_attr,
        )
        self._data = PartData(own, whole.x)
        self._rows = KeyedRows(torch.from_numpy(part.node_ids.copy()).to(device), part.num_inner, own.edge_index)

    def forward(
        self,
        module: nn.Module,
        kinds: Kinds = LAYERS,
        dropout_key: tuple[int, ...] | None = None,
        rows: HaloRows | None = None,
    ) -> Tensor:
        """Return (num_inner, out_channels) the outputs of the own nodes; all ranks call it.

        The rows of the halo come from `rows`, or now from their owners. With a `dropout_key`, of the run and the step,
        dropout draws its masks by it and by the nodes, so that they are those of any other number of ranks; without,
        from PyTorch's stream.
        """
        watch = MessageWatch()
        boundary = Halo(self.exchange, self._data, kinds, watch, rows)
        keyed = nullcontext() if dropout_key is None else KeyedDropout(self._rows, dropout_key, watch)
        with attached(module, boundary), watch.on(module), no_way_around(module), keyed:
            outputs = call_model(module, self._data.inputs)
        return one_row_a_node(module, outputs, self.part.num_inner)


def one_row_a_node(module: nn.Module, outputs: object, num_own: int) -> Tensor:
    """Return what a model gives for the own nodes of a rank: one row each, or it is refused."""
    if not isinstance(outputs, Tensor) or len(outputs) != num_own:
        got = str(tuple(outputs.shape)) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise RunError(f"model {type(module).__name__}: expected one row a node ({num_own} own nodes); got {got}")
    return outputs


class OwnRows(Protocol):
    """Whose rows a rank computes."""

    @property
    def inner_nodes(self) -> NDArray[np.int64]:
        """Return (num_inner,) global ids of the own nodes."""
        ...


class RowRunner(Protocol):
    """Runs a model on the own nodes of a rank, together with the other ranks."""

    @property
    def part(self) -> OwnRows: ...

    def forward(self, module: nn.Module, kinds: Kinds = ...) -> Tensor:
        """Return (num_inner, out_channels) the outputs of the own nodes."""
        ...


class PartInference:
    """Exact inference over a divided graph: each rank computes its own nodes, and all hold every result.

    All ranks make it together.
    """

    def __init__(self, runner: RowRunner, transport: Transport) -> None:
        self._runner, self._transport = runner, transport
        own = torch.from_numpy(runner.part.inner_nodes.copy())
        counts = torch.zeros(transport.world_size, dtype=torch.int64)
        counts[transport.rank] = len(own)
        transport.all_reduce(counts, kind="control")
        self._counts = counts.tolist()
        self._node_ids = torch.cat(transport.all_gather(own, self._counts, kind="control"))

    def run(self, module: nn.Module, keep: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``keep(outputs)`` for all nodes, on the CPU of every rank; all ranks call it."""
        own = keep(self._runner.forward(module, EVALUATION)).contiguous()
        rows = torch.cat(self._transport.all_gather(own, self._counts, kind="evaluate")).cpu()
        result = torch.empty_like(rows)
        result[self._node_ids] = rows
        return result


@contextmanager
def no_way_around(module: nn.Module) -> Iterator[None]:
    """Let PyG's BatchNorms take no short cut for a single row: a rank with one would leave the others waiting."""
    norms = [layer for layer in module.modules() if isinstance(layer, BatchNorm) and layer.allow_single_element]
    for layer in norms:
        layer.allow_single_element = False
    try:
        yield
    finally:
        for layer in norms:
            layer.allow_single_element = True
