"""A random share of the rows of the halo, new in every step: the rest is read as zeros (BNS-GCN)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from workbench.core.rng import key64
from workbench.train.halo import LAYERS, HaloExchange
from workbench.train.keyed_masks import node_keys

if TYPE_CHECKING:
    from workbench.partition.local import LocalPart
    from workbench.train.call import Call

_BOUNDARY = 0xB05  # sets the stream of draws apart


def salt_of(rng_seed: int, step: int, part: int) -> int:
    """Return the salt of what a part draws in a step."""
    return key64(_BOUNDARY, rng_seed, step, part)


def drawn(rate: float, salt: int, node_ids: Tensor) -> Tensor:
    """Return (n,) bool: whether each node is drawn, with probability `rate`, by the salt and its global id alone."""
    words = node_keys(salt, node_ids)
    return ((words >> 11) & ((1 << 53) - 1)).double() * 2.0**-53 < rate


class SampledRows:
    """Exchanges the rows of drawn nodes alone, divided by the rate; gradients travel back along the same rows.

    Which nodes a part reads is drawn anew for every step, once for all layers, by (rng_seed, step, reading part,
    node): reader and owner draw alike, and no ids travel.

    Parameters
    ----------
    exchange : HaloExchange
    part : LocalPart
    rate : float
        q, 0 to 1. With 1 everything travels, with 0 nothing.
    rng_seed : int
    """

    def __init__(self, exchange: HaloExchange, part: LocalPart, rate: float, rng_seed: int) -> None:
        self._exchange, self._rate, self._rng_seed, self._part = exchange, rate, rng_seed, part.id
        device = exchange.send_nodes.device
        node_ids = torch.from_numpy(np.array(part.node_ids)).to(device)
        self._halo_ids = node_ids[part.num_inner :]
        self._sent_ids = torch.split(node_ids[exchange.send_nodes], exchange.send_sizes)
        self.choice = self._chosen(1)

    def begin(self, step: int, module: nn.Module) -> None:
        """Draw for the forward and the backward of a global step."""
        self.choice = self._chosen(step)

    def with_halo(self, call: Call, x: Tensor) -> Tensor:
        """Return (num_local, ...): own rows, then those of the halo, drawn ones over the rate and zeros."""
        if self._exchange.transport.world_size == 1:
            return x
        rows: Tensor = _WithSampledHalo.apply(x, self._exchange, self.choice)  # type: ignore[no-untyped-call]
        return rows

    def _chosen(self, step: int) -> Choice:
        salts = [salt_of(self._rng_seed, step, part) for part in range(len(self._sent_ids))]
        is_read = drawn(self._rate, salts[self._part], self._halo_ids)
        is_sent = [drawn(self._rate, salt, ids) for salt, ids in zip(salts, self._sent_ids, strict=True)]
        return Choice(self._exchange, self._rate, is_read, is_sent)


class Choice:
    """Which rows of the halo, and which own rows of each reader, travel in a step."""

    def __init__(self, exchange: HaloExchange, rate: float, is_read: Tensor, is_sent: list[Tensor]) -> None:
        self.rate = rate
        self.read = exchange.num_inner + is_read.nonzero().squeeze(1)  # local ids
        self.read_sizes = [int(block.sum()) for block in torch.split(is_read, exchange.halo_sizes)]
        self.sent = torch.split(exchange.send_nodes, exchange.send_sizes)
        self.sent = tuple(nodes[flags] for nodes, flags in zip(self.sent, is_sent, strict=True))
        self.sent_sizes = [len(nodes) for nodes in self.sent]


def fetch(x: Tensor, exchange: HaloExchange, choice: Choice) -> Tensor:
    """Send own rows that were drawn to those who read them; return own and received rows, zeros for the others."""
    rows = x.new_empty(exchange.num_local, *x.shape[1:])
    received = x.new_empty(len(choice.read), *x.shape[1:])
    sent = [x[nodes] for nodes in choice.sent]
    pending = exchange.start(sent, torch.split(received, choice.read_sizes), LAYERS.forward)
    rows[: exchange.num_inner] = x
    rows[exchange.num_inner :] = 0
    exchange.finish(pending)
    if len(received):
        rows[choice.read] = received / choice.rate
    return rows


def give_back(grad: Tensor, exchange: HaloExchange, choice: Choice) -> Tensor:
    """Send the gradients of received rows to their owners; return own ones plus those received, in order of ranks."""
    halo = grad[choice.read]
    halo = halo / choice.rate if len(halo) else halo
    received = torch.split(grad.new_empty(sum(choice.sent_sizes), *grad.shape[1:]), choice.sent_sizes)
    pending = exchange.start(torch.split(halo, choice.read_sizes), received, LAYERS.backward)
    rows = grad[: exchange.num_inner].clone()
    exchange.finish(pending)
    for nodes, block in zip(choice.sent, received, strict=True):
        rows.index_add_(0, nodes, block)
    return rows


class _WithSampledHalo(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, exchange: HaloExchange, choice: Choice) -> Tensor:
        ctx.exchange, ctx.choice = exchange, choice
        return fetch(x, exchange, choice)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return give_back(grad, ctx.exchange, ctx.choice), None, None
