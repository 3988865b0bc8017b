"""What passes through the modules of a model in one forward, so that two runs can be compared step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from workbench.train.probe import same


@dataclass(slots=True, kw_only=True)
class Passed:
    """One call of a module: the rows that it was given and those that it gave; None where there was no row a node."""

    name: str
    kind: str
    given: Tensor | None
    output: Tensor | None = None

    def __str__(self) -> str:
        return f"{self.name} ({self.kind})"


class Trace:
    """Notes every call of a module's parts, in the order in which they end; what lies inside a message-passing layer
    is left out.

    Parameters
    ----------
    num_rows : int
        Nodes of the rank: a tensor of so many rows holds one a node.
    num_behind : int
        Rows of other nodes that may stand behind those, and are left out.
    """

    def __init__(self, num_rows: int, num_behind: int = 0) -> None:
        self.passed: list[Passed] = []
        self._num_rows, self._heights = num_rows, (num_rows, num_rows + num_behind)
        self._open: list[Passed] = []

    @property
    def place(self) -> str:
        """Where a forward that has broken off stood."""
        if self._open:
            return str(self._open[-1])
        return f"after {self.passed[-1]}" if self.passed else "before its first layer"

    @contextmanager
    def on(self, module: nn.Module) -> Iterator[None]:
        """Follow a module; outside of a boundary, so that it is seen as the model sees it."""
        with ExitStack() as stack:
            for name, layer in outer_parts(module):
                stack.callback(layer.register_forward_pre_hook(_Before(self, name), with_kwargs=True).remove)
                stack.callback(layer.register_forward_hook(self._after).remove)
            yield

    def begin(self, name: str, layer: nn.Module, values: Sequence[Any]) -> None:
        """Note that a module begins."""
        rows = next((own for value in values if (own := self._own(value)) is not None), None)
        self._open.append(Passed(name=name, kind=type(layer).__name__, given=rows))

    def _after(self, layer: nn.Module, args: Any, output: Any) -> None:
        passed = self._open.pop()
        rows = output[0] if isinstance(output, tuple) and output else output
        own = self._own(rows)
        passed.output = None if own is None else own.detach()
        self.passed.append(passed)

    def _own(self, value: Any) -> Tensor | None:
        """Return the rank's rows of a tensor with one a node, or None for another."""
        if not isinstance(value, Tensor) or value.ndim == 0 or len(value) not in self._heights:
            return None
        return value if len(value) == self._num_rows else value[: self._num_rows]


class _Before:
    def __init__(self, trace: Trace, name: str) -> None:
        self._trace, self._name = trace, name

    def __call__(self, layer: nn.Module, args: Any, kwargs: Any) -> None:
        self._trace.begin(self._name, layer, (*args, *kwargs.values()))


def outer_parts(module: nn.Module, name: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Yield a module's parts with their names, those inside message-passing layers left out."""
    if name:
        yield name, module
    if not isinstance(module, MessagePassing):
        for key, child in module.named_children():
            yield from outer_parts(child, f"{name}.{key}" if name else key)


def first_difference(module: nn.Module, whole: Trace, ranks: Sequence[Trace], node_ids: Sequence[Tensor]) -> str | None:
    """Return where the ranks' rows, put together, first differ from those of the whole graph, or None.

    Parameters
    ----------
    whole : Trace
        Of the plain model on all nodes.
    ranks : sequence of Trace
    node_ids : sequence of Tensor
        The nodes of each rank.
    """
    before = None
    for index, expected in enumerate(whole.passed):
        found = [trace.passed[index] if index < len(trace.passed) else None for trace in ranks]
        if any(entry is None or entry.name != expected.name for entry in found):
            return f"{expected}, which not all ranks call"
        entries = [entry for entry in found if entry is not None]
        if _differ(expected.given, [entry.given for entry in entries], node_ids):
            return between(module, before, expected)
        if _differ(expected.output, [entry.output for entry in entries], node_ids):
            return str(expected)
        before = expected
    return None


def between(module: nn.Module, before: Passed | None, after: Passed | None) -> str:
    """Say that something between two modules is meant, which only the forward of the model itself can do."""
    kind = type(module).__name__
    if before is None or after is None:
        place = f"after {before}" if before else f"before {after}" if after else "as a whole"
    else:
        place = f"between {before} and {after}"
    return f"what {kind}.forward does {place}"


def _differ(expected: Tensor | None, found: Sequence[Tensor | None], node_ids: Sequence[Tensor]) -> bool:
    if expected is None:
        return False
    together = torch.full_like(expected, torch.nan) if expected.is_floating_point() else torch.zeros_like(expected)
    for ids, rows in zip(node_ids, found, strict=True):
        if rows is None or rows.shape[1:] != expected.shape[1:]:
            return True
        together[ids] = rows
    return not same(expected, together)
