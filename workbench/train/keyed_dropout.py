"""Dropout whose masks are a function of (step, call, node), so that it does not matter which rank holds a node."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from workbench.core.rng import key64
from workbench.train.call import BoundaryError
from workbench.train.keyed_masks import edge_keys, node_keys, scaled_mask
from workbench.train.message_watch import MessageWatch

_DROPOUT = 0xD209  # sets the stream of masks apart


class KeyedRows:
    """Whose rows a tensor of a rank holds.

    Parameters
    ----------
    node_ids : Tensor
        (num_local,) global ids of the rank's nodes, its own first.
    num_inner : int
    edge_index : Tensor
        (2, e) the rank's edges, in local ids.
    edge_nodes : Tensor, optional
        Global ids by the ids that edges name, where those are not the positions of `node_ids`.
    """

    def __init__(self, node_ids: Tensor, num_inner: int, edge_index: Tensor, edge_nodes: Tensor | None = None) -> None:
        self._node_ids, self._num_inner, self._edge_index = node_ids, num_inner, edge_index
        self._edge_nodes = node_ids if edge_nodes is None else edge_nodes

    def find(self, x: Tensor, watched: Tensor | None, salt: int) -> tuple[int, Tensor]:
        """Return the dimension along which a tensor's rows lie, and their keys; `watched`: edges at work, if any."""
        sizes = [(dim, x.shape[dim]) for dim in (0, -2) if x.ndim >= -dim and x.ndim > dim]
        if watched is not None:
            for dim, size in sizes:
                if size == watched.shape[1]:
                    return dim, self._edges(watched, salt)
        for dim, size in sizes:
            if size == self._num_inner or size == len(self._node_ids):
                return dim, node_keys(salt, self._node_ids[:size])
            if size == self._edge_index.shape[1]:
                return dim, self._edges(self._edge_index, salt)
        raise BoundaryError(
            f"dropout: expected rows of nodes or edges ({self._num_inner} own nodes, {len(self._node_ids)} with the "
            f"halo, {self._edge_index.shape[1]} edges); got {tuple(x.shape)}. Fix: dropout_masks='drawn'"
        )

    def _edges(self, edge_index: Tensor, salt: int) -> Tensor:
        return edge_keys(salt, self._edge_nodes[edge_index[0]], self._edge_nodes[edge_index[1]])


class KeyedDropout(TorchFunctionMode):
    """Takes the place of ``torch.nn.functional.dropout`` in this thread: masks by (key, call, node or edge).

    Parameters
    ----------
    rows : KeyedRows
    key : tuple of int
        Of the run and the step, the same on all ranks.
    watch : MessageWatch
        On the module in the same forward.
    """

    def __init__(self, rows: KeyedRows, key: tuple[int, ...], watch: MessageWatch) -> None:
        super().__init__()
        self._rows, self._watch, self._key = rows, watch, key
        self._num_calls = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is functional.dropout:
            return self._drop(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def _drop(self, x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
        if not training or p == 0:
            return x
        salt = key64(_DROPOUT, *self._key, self._num_calls)
        self._num_calls += 1
        dim, keys = self._rows.find(x, self._watch.edge_index, salt)
        rows_first = x.movedim(dim, 0)
        mask = scaled_mask(keys, rows_first[0].numel() if len(rows_first) else 1, p, x.dtype)
        mask = mask.reshape(rows_first.shape).movedim(0, dim).to(x.device)
        return x.mul_(mask) if inplace else x * mask


def rows_of_graph(num_nodes: int, edge_index: Tensor) -> KeyedRows:
    """Return the rows of a rank that holds the whole graph."""
    return KeyedRows(torch.arange(num_nodes, device=edge_index.device), num_nodes, edge_index)
