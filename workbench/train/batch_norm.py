"""Batch statistics: over one row, of which there is no variance, and over the rows of all ranks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

if TYPE_CHECKING:
    from workbench.train.transport import Transport

_LONE_ROW = "_workbench_lone_row"
KIND = "batch_norm"  # as what the bytes of the sums over ranks are counted


@contextmanager
def lone_rows_normalised(module: nn.Module) -> Iterator[None]:
    """Let every BatchNorm use its running statistics for an input of one row, of which no variance can be taken."""
    handles = []
    for layer in module.modules():
        if isinstance(layer, _BatchNorm) and layer.track_running_stats:
            handles.append(layer.register_forward_pre_hook(_before))
            handles.append(layer.register_forward_hook(_after, always_call=True))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _before(layer: nn.Module, args: tuple[Any, ...]) -> None:
    rows = args[0]
    if layer.training and rows.numel() == rows.shape[1]:
        layer.training = False
        layer._workbench_lone_row = True  # type: ignore[assignment]


def _after(layer: nn.Module, args: tuple[Any, ...], output: Any) -> None:
    if layer.__dict__.pop(_LONE_ROW, False):
        layer.training = True


def is_training(layer: nn.Module) -> bool:
    """Say whether a layer is in training, also while a lone row of this rank goes by its running statistics."""
    return layer.training or layer.__dict__.get(_LONE_ROW, False)


def takes_batch_statistics(layer: Any) -> bool:
    """Say whether a BatchNorm normalises by the statistics of the rows that it sees."""
    return is_training(layer) or layer.running_mean is None


def normalise_over_ranks(layer: Any, x: Tensor, num_rows: int, transport: Transport) -> Tensor:
    """Return what a BatchNorm gives for x by the statistics of the first `num_rows` rows of every rank.

    ``(x - mean) / sqrt(var + eps) * weight + bias`` with mean and variance over all those rows, which are summed in
    double precision; running statistics are updated as PyTorch does. Gradients pass through the sums. All ranks call
    it, those without a row too. One row in all goes by the running statistics.
    """
    rows, dims = x[:num_rows], [0, *range(2, x.ndim)]
    count = x.new_tensor([rows.numel() // max(1, x.shape[1])], dtype=torch.float64)
    total = sum_over_ranks(torch.cat([rows.sum(dims, dtype=torch.float64), count]), transport)
    num_all, mean = total[-1].item(), total[:-1] / total[-1]
    if num_all <= 1 and layer.running_mean is not None:
        return _apply(layer, x, layer.running_mean, layer.running_var)
    deviations = rows - _column(mean, x)
    variance = sum_over_ranks(deviations.square().sum(dims, dtype=torch.float64), transport) / num_all
    if is_training(layer) and layer.track_running_stats:
        _update(layer, mean.detach(), variance.detach() * num_all / max(num_all - 1, 1))
    return _apply(layer, x, mean, variance)


class NormsOverRanks:
    """Puts statistics over the rows of all ranks in the place of what BatchNorm layers take from their own rows."""

    def __init__(self, transport: Transport) -> None:
        self._transport, self._was_training = transport, list[bool]()

    def before(self, layer: nn.Module, x: Tensor) -> Tensor:
        """Return what the layer is given itself."""
        if not takes_batch_statistics(layer):
            return x
        self._was_training.append(layer.training)
        layer.training = False  # its own forward sees two rows of nothing, and changes no running statistics
        return x.new_zeros(2, *x.shape[1:])

    def after(self, layer: nn.Module, x: Tensor, output: Tensor, num_rows: int) -> Tensor:
        """Return what it gives for x, of which the first rows count."""
        if not self._was_training:
            return output
        layer.training = self._was_training.pop()
        return normalise_over_ranks(layer, x, num_rows, self._transport)

    def abandon(self, layer: nn.Module) -> None:
        """Undo what `before` did to a layer that did not come to its end."""
        if self._was_training:
            layer.training = self._was_training.pop()


def _apply(layer: Any, x: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    out = (x - _column(mean, x)) * _column((variance + layer.eps).rsqrt(), x)
    return out * _column(layer.weight, x) + _column(layer.bias, x) if layer.affine else out


def _column(values: Tensor, like: Tensor) -> Tensor:
    return values.to(like.dtype).view(1, -1, *[1] * (like.ndim - 2))


@torch.no_grad()
def _update(layer: Any, mean: Tensor, variance: Tensor) -> None:
    layer.num_batches_tracked.add_(1)
    share = 1.0 / layer.num_batches_tracked.item() if layer.momentum is None else layer.momentum
    layer.running_mean.mul_(1 - share).add_(mean, alpha=share)
    layer.running_var.mul_(1 - share).add_(variance, alpha=share)


def sum_over_ranks(x: Tensor, transport: Transport) -> Tensor:
    """Return the sum of a tensor over all ranks; its gradient is the sum of the gradients on all ranks."""
    if transport.world_size == 1:
        return x
    total: Tensor = _Sum.apply(x, transport)  # type: ignore[no-untyped-call]
    return total


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, transport: Transport) -> Tensor:
        ctx.transport = transport
        total = x.clone()
        transport.all_reduce(total, kind=KIND)
        return total

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        total = grad.clone(memory_format=torch.contiguous_format)
        ctx.transport.all_reduce(total, kind=KIND)
        return total, None
