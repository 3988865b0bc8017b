"""Batch statistics where there is only one row: a rank's last batch may hold a single node."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


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
    if layer.__dict__.pop("_workbench_lone_row", False):
        layer.training = True
