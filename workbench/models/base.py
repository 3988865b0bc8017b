"""The base of every model that has a name, and their registry."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.params import Params
from workbench.core.registry import Registry

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec(Params):
    """A model as its parameters: what is chosen by name, and built where it trains."""

    @property
    @abstractmethod
    def num_propagations(self) -> int:
        """How many message-passing layers one forward runs through: the hops that it reads."""

    @abstractmethod
    def build(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return a module with new weights from torch's current random state.

        Parameters
        ----------
        in_channels : int
            Columns of the node features.
        out_channels : int
            Columns of the output: classes, or targets.

        Returns
        -------
        torch.nn.Module
            Its forward takes, by name, any of ``x, edge_index, edge_weight, edge_attr, batch`` and returns
            (num_nodes, out_channels).
        """


MODELS: Registry[ModelSpec] = Registry(
    "model",
    ModelSpec,  # type: ignore[type-abstract]
    "workbench.models.zoo",
    "workbench.models",
)
