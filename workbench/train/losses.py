"""Losses by row: what an unknown entry leaves out, and how rows are summed."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def class_losses(outputs: Tensor, targets: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """Return the cross entropy of each row (rows,)."""
    return functional.cross_entropy(outputs, targets, reduction="none", label_smoothing=label_smoothing)


def known_mean(losses: Tensor, targets: Tensor) -> Tensor:
    """Return for each row the mean of its losses (rows, c) where the target is no NaN: 0 for a row of NaN alone."""
    known = torch.isfinite(targets)
    return (losses * known).sum(dim=1) / known.sum(dim=1).clamp(min=1)


def without_unknown(targets: Tensor, like: Tensor) -> Tensor:
    """Return targets with 0 in place of NaN, in the precision of the outputs: a NaN would spoil the gradients."""
    return torch.nan_to_num(targets, nan=0.0).to(like.dtype)


def total(losses: Tensor, weights: Tensor | None) -> Tensor:
    """Return the sum of losses by row, each times its weight where there are weights."""
    return losses.sum() if weights is None else (losses * weights).sum()
