"""The base of every model that has a name, what many of them share, and their registry."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

from workbench.core.params import Params, param
from workbench.core.registry import Registry

if TYPE_CHECKING:
    from torch import nn

    from workbench.core.errors import Findings
    from workbench.graph import Graph

EDGE_FEATURES = "attr"  # the column of edge_data that models are given as edge_attr


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec(Params):
    """A model as its parameters: what is chosen by name, and built where it trains."""

    @property
    @abstractmethod
    def num_propagations(self) -> int:
        """How many times one forward passes messages: the hops that it reads."""

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

    def check(self, graph: Graph, findings: Findings) -> None:
        """Note what the model reads and the graph lacks: its ``edge_channels``, if it has any."""
        wanted = getattr(self, "edge_channels", 0)
        if wanted == 0:
            return
        column = graph.edge_data.get(EDGE_FEATURES)
        if column is None:
            got = "a graph without features of edges"
            fix = (
                f"give the graph edge_data={{{EDGE_FEATURES!r}: ...}} of shape (num_edges, k), or choose another model"
            )
            findings.add("edge_channels", f"a graph with edge_data[{EDGE_FEATURES!r}]", got, fix)
            return
        there = 1 if column.ndim == 1 else int(column.shape[1])
        if there != wanted:
            got = f"{wanted}, while graph.edge_data[{EDGE_FEATURES!r}] has {there}"
            findings.add("edge_channels", "as many as the graph's edges have", got, f"pass edge_channels={there}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StackSpec(ModelSpec):
    """Base of the models that are message-passing layers one after another: a subclass says what one layer is.

    Layer by layer ``H' = dropout(act(norm(layer(H)) + skip(H)))``, the last layer bare. `skip` is there with
    `residual` only: H itself, or a linear map of it where the widths differ. With `jumping_knowledge` the outputs
    of all layers are joined and a linear map follows (Xu et al., "Representation Learning on Graphs with Jumping
    Knowledge Networks", ICML 2018, arXiv 1806.03536).
    """

    activation: ClassVar[str] = "relu"
    drops_features: ClassVar[bool] = False  # whether the features lose values too, as in Kipf & Welling's GCN

    hidden_channels: int = param(256, help="width of the hidden layers", minimum=1)
    num_layers: int = param(2, help="message-passing layers", minimum=1)
    dropout: float = param(0.5, help="share of hidden values set to zero in training", minimum=0, maximum=1)
    norm: str = param("none", help="what normalises hidden values", choices=("none", "batch", "layer"))
    residual: bool = param(False, help="add each hidden layer's input to its output")
    jumping_knowledge: str = param(
        "none", help="how the outputs of all layers are joined", choices=("none", "cat", "max", "lstm")
    )

    @property
    def num_propagations(self) -> int:
        return self.num_layers

    @property
    def reads(self) -> str | None:
        """What the layers take beside ``edge_index``: ``edge_weight``, ``edge_attr`` or nothing."""
        return None

    @abstractmethod
    def layer(self, in_channels: int, out_channels: int, *, is_last: bool) -> nn.Module:
        """Return one message-passing layer; the last one gives the model's outputs."""

    def build(self, in_channels: int, out_channels: int) -> nn.Module:
        from workbench.models.stack import ConvStack, Surroundings  # torch: only where a model is built

        joined = self.jumping_knowledge != "none"
        hidden = [self.hidden_channels] * (self.num_layers - 1)
        widths = [in_channels, *hidden, self.hidden_channels if joined else out_channels]
        steps = list(itertools.pairwise(widths))
        last = len(steps) - 1
        layers = [self.layer(a, b, is_last=index == last and not joined) for index, (a, b) in enumerate(steps)]
        surroundings = Surroundings(
            dropout=self.dropout,
            drops_features=self.drops_features,
            activation=self.activation,
            norm=self.norm,
            residual=self.residual,
            jumping_knowledge=self.jumping_knowledge,
            reads=self.reads,
        )
        return ConvStack(layers, steps, out_channels, surroundings)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearStackSpec(StackSpec):
    """Base of the stacks whose layers aggregate ``A H`` by a matrix A that does not depend on H."""

    linear_before: ClassVar[str | None] = None  # the layer's linear map right before (after) its aggregation,
    linear_after: ClassVar[str | None] = None  # by its name: the cheaper order of the two is taken

    sparse: bool = param(False, help="aggregate by sparse matrix products instead of a message for every edge")

    def build(self, in_channels: int, out_channels: int) -> nn.Module:
        stack: Any = StackSpec.build(self, in_channels, out_channels)
        if self.sparse:
            from workbench.models.sparse import Structures, aggregate_sparsely

            structures = Structures()
            for layer in stack.layers:
                aggregate_sparsely(layer, structures, before=self.linear_before, after=self.linear_after)
        return cast("nn.Module", stack)


MODELS: Registry[ModelSpec] = Registry(
    "model",
    ModelSpec,  # type: ignore[type-abstract]
    "workbench.models.zoo",
    "workbench.models",
)
