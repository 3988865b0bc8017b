"""What a step is predicted to move, by the formulas of communication: told at the start, shown beside the measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

if TYPE_CHECKING:
    from workbench.core.config import RunConfig

Prediction = tuple[dict[str, float], dict[str, str]]  # bytes a step over all ranks by kind, and the formulas in words
_HALO_STRATEGIES = ("halo_exchange", "stale_halo", "sampled_boundary")


def predict_traffic(config: RunConfig, module: nn.Module, halo_rows: int | None = None) -> Prediction:
    """Return the bytes of a step over all ranks, by kind, of the kinds that a formula gives.

    With p ranks, |theta| trainable numbers of s bytes, H rows in all halos and F_l the width at the l-th
    message-passing layer: all-reduce payload ``p |theta| s`` (on a ring ``2 (p-1) |theta| s``), halo
    ``s H sum_{l>=1} F_l`` forward and as many backward (times q for boundary sampling at rate q, over R where
    rows are sent every R steps). Derived from Besta & Hoefler, arXiv 2205.09702, as the features of the halo (l = 0)
    are kept.

    Parameters
    ----------
    config : RunConfig
    module : nn.Module
        The model as it is trained.
    halo_rows : int, optional
        H; read from the folder of the parts by default.
    """
    found: dict[str, float] = {}
    formulas: dict[str, str] = {}
    ranks = config.trainers
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    numbers = sum(parameter.numel() for parameter in parameters)
    size = max((parameter.element_size() for parameter in parameters), default=4)
    if ranks > 1 and config.update.name == "all_reduce":
        found["all_reduce"] = ranks * numbers * size
        found["all_reduce_modelled"] = 2 * (ranks - 1) * numbers * size
        formulas["all_reduce"] = f"p |θ| s: {ranks} ranks, {numbers:,} numbers of {size} bytes"
        formulas["all_reduce_modelled"] = f"2 (p−1) |θ| s: a ring of {ranks} ranks"
    if config.update.name == "parameter_server":
        for kind in ("parameter_push", "parameter_pull"):
            found[kind] = ranks * numbers * max(size, 4)
            formulas[kind] = f"p |θ| s: {ranks} ranks, {numbers:,} numbers of {max(size, 4)} bytes"
    widths = _widths(module)
    params = config.strategy.params
    if ranks > 1 and config.strategy.name in _HALO_STRATEGIES and widths is not None:
        rows = count_halo_rows(params) if halo_rows is None else halo_rows
        rate = float(params.get("boundary_rate", 1.0)) if config.strategy.name == "sampled_boundary" else 1.0
        every = int(params.get("refresh_every", 1)) if config.strategy.name == "stale_halo" else 1
        moved = rate * rows * sum(widths) * size / every
        factor = ("q " if rate < 1 else "") + ("1/R " if every > 1 else "")
        text = f"{factor}s H Σ F_l, l ≥ 1: {rows:,} halo rows, widths {', '.join(map(str, widths))}"
        for kind in ("halo_forward", "halo_backward"):
            found[kind], formulas[kind] = moved, text
    return found, formulas


def _widths(module: nn.Module) -> list[int] | None:
    """Return the widths at all message-passing layers but the first, or None where the modules do not tell them."""
    from torch_geometric.nn import MessagePassing  # PyG takes seconds to import

    layers = [layer for layer in module.modules() if isinstance(layer, MessagePassing)]
    if any(hasattr(layer, "K") for layer in layers):
        return None  # such a layer propagates several times in one forward
    # Modules whose layers share one message passing, or are called in another order, are beyond this.
    widths = [_width(layer) for layer in layers[1:]]
    return [width for width in widths if width] if layers and all(widths) else None


def _width(layer: Any) -> int:
    width = getattr(layer, "in_channels", 0)
    if isinstance(width, (tuple, list)):
        width = width[0] if width else 0
    return width if isinstance(width, int) and width > 0 else 0


def count_halo_rows(params: Mapping[str, Any]) -> int:
    """Return the rows in the halos of all parts of a strategy's partition, from the folder of its parts."""
    from workbench.train.partitioned import FOLDER

    starts = sorted(Path(params["partition"][FOLDER]).glob("part-*/halo_starts.npy"))
    return sum(int(np.load(path, mmap_mode="r", allow_pickle=False)[-1]) for path in starts)
