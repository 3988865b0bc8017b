"""A model with a wire across its path: who finds a file for its rank does what that says."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import cloudpickle
import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # it travels like a model of a notebook's


class Tripwire(nn.Module):
    """Two GraphSAGE layers. ``<folder>/trip.<rank>`` holds what the rank does at its next forward pass.

    Parameters
    ----------
    folder : str
        Where the wire lies.
    in_channels, out_channels : int
    """

    def __init__(self, folder: str, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.folder = folder
        self.first = SAGEConv(in_channels, 16)
        self.second = SAGEConv(16, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        if torch.distributed.is_initialized() and self.training:
            x = self._look(x)
        return self.second(self.first(x, edge_index).relu(), edge_index)

    def _look(self, x: Tensor) -> Tensor:
        trip = Path(self.folder) / f"trip.{torch.distributed.get_rank()}"
        try:
            action = trip.read_text()
            trip.rename(trip.with_name("tripped"))
        except FileNotFoundError:
            return x
        if action == "rank_raises":
            raise KeyError("mine")
        if action == "rank_hangs":
            time.sleep(10_000)
        if action.startswith("memory"):
            torch.empty(1 << 55)
        return x * float("nan")
