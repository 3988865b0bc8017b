"""Aggregation by a sparse matrix product instead of a message for every edge.

Where a layer's message is a row of the source, times a number of the edge, and messages are summed or averaged, all
of it is ``A H``: the same result without the (num_edges, k) messages. :func:`aggregate_sparsely` makes a PyG layer
compute it so. The layer keeps its class, its parameters and their names; only its `propagate` is another, so whatever
stands around the layer sees no difference.
"""

from __future__ import annotations

import functools
import warnings
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.dense.linear import Linear

_SPARSE_COST = 30
_MAX_KEPT = 4  # structures: the edges of a forward, with and without self-loops, and of an evaluation


class Structure:
    """Where the entries of a sparse matrix stand: by row, and by column for the transposed product.

    Parameters
    ----------
    edge_index : Tensor
        (2, num_edges) int64, [source, destination]; an entry at row destination, column source.
    num_rows, num_columns : int
        Destinations and sources. Rows after the last entry are left out of `shape`: in a sampled batch they are many.
    """

    def __init__(self, edge_index: Tensor, num_rows: int, num_columns: int) -> None:
        source, destination = edge_index
        self._given = num_rows, num_columns
        self.shape = int(destination.max()) + 1 if len(destination) else 0, num_columns
        self.order, self.indptr, self.indices = _compress(destination, source, self.shape[0])
        self._edge_index = edge_index.clone()  # a caller may write new edges into its own
        self._transposed: tuple[Tensor | None, Tensor, Tensor] | None = None

    def holds(self, edge_index: Tensor, num_rows: int, num_columns: int) -> bool:
        """Say whether it was made of these edges."""
        known = self._edge_index
        if self._given != (num_rows, num_columns) or known.device != edge_index.device:
            return False
        return known.shape == edge_index.shape and torch.equal(known, edge_index)

    def matrix(self, values: Tensor) -> Tensor:
        """Return the (num_rows, num_columns) matrix of one value an edge, in the order of the edges."""
        values = values if self.order is None else values[self.order]
        return _csr(self.indptr, self.indices, values, self.shape)

    def transposed(self, values: Tensor) -> Tensor:
        """Return the (num_columns, num_rows) matrix of one value an edge, in the order of the edges."""
        if self._transposed is None:
            source, destination = self._edge_index
            self._transposed = _compress(source, destination, self.shape[1])
        order, indptr, indices = self._transposed
        return _csr(indptr, indices, values if order is None else values[order], self.shape[::-1])

    def counts(self, dtype: torch.dtype) -> Tensor:
        """Return (num_rows,) edges into each row, at least 1."""
        return self.indptr.diff().clamp(min=1).to(dtype)

    def by_edge(self, entries: Tensor) -> Tensor:
        """Return the matrix's values in the order of the edges."""
        return entries if self.order is None else torch.empty_like(entries).index_copy_(0, self.order, entries)


class Structures:
    """The structures last used, shared by the layers of a model. They are found anew in a copy."""

    def __init__(self) -> None:
        self._kept: list[Structure] = []

    def __getstate__(self) -> dict[str, Any]:
        return {"_kept": []}

    def of(self, edge_index: Tensor, num_rows: int, num_columns: int) -> Structure:
        """Return the structure of some edges, made now unless it was met before."""
        kept = self._kept
        found = next((item for item in kept if item.holds(edge_index, num_rows, num_columns)), None)
        if found is None:
            found = Structure(edge_index, num_rows, num_columns)
        self._kept = [found, *(item for item in kept if item is not found)][:_MAX_KEPT]
        return found


class SparsePropagate:
    """What takes the place of a layer's `propagate`; arguments and result are the same.

    Parameters
    ----------
    layer : MessagePassing
    structures : Structures
    folded : FoldedLinear, optional
        A linear map next to the aggregation, applied here, on the cheaper side of it.
    """

    def __init__(self, layer: MessagePassing, structures: Structures, folded: FoldedLinear | None) -> None:
        self._layer, self._structures, self._folded = layer, structures, folded

    @property
    def maps_columns(self) -> bool:
        """Whether a linear map is applied here, so that a column of the result depends on others of the input."""
        return self._folded is not None

    def __call__(self, edge_index: Tensor, size: Any = None, **kwargs: Any) -> Tensor:
        layer = self._layer
        for hook in layer._propagate_forward_pre_hooks.values():
            changed = hook(layer, (edge_index, size, kwargs))
            if changed is not None:
                edge_index, size, kwargs = changed
        out = self._product(edge_index, size, **kwargs)
        for hook in layer._propagate_forward_hooks.values():
            changed = hook(layer, (edge_index, size, kwargs), out)
            out = out if changed is None else changed
        return out

    def _product(
        self, edge_index: Tensor, size: Any, *, x: Any, edge_weight: Tensor | None = None, norm: Tensor | None = None
    ) -> Tensor:
        source, target = x if isinstance(x, tuple) else (x, x)
        num_rows = size[1] if size is not None and size[1] is not None else len(target)
        structure = self._structures.of(edge_index, num_rows, len(source))
        weight = norm if edge_weight is None else edge_weight
        values = source.new_ones(edge_index.shape[1]) if weight is None else weight.to(source.dtype)
        if self._layer.aggr == "mean":
            values = values / structure.counts(source.dtype)[edge_index[1]]
        folded = self._folded
        if folded is None or source.shape[-1] != folded.in_channels:  # done before, where a layer propagates K times
            rows = multiply(structure, values, source)
        elif maps_first(structure, source, folded.weight):
            rows = multiply(structure, values, functional.linear(source, folded.weight))
        else:
            rows = functional.linear(multiply(structure, values, source), folded.weight)
        missing = num_rows - len(rows)
        return rows if missing == 0 else torch.cat([rows, rows.new_zeros(missing, rows.shape[1])])


class FoldedLinear(Linear):  # type: ignore[misc]
    """In the place of a linear map ``x W + b`` whose product is taken elsewhere: adds b."""

    def __init__(self, linear: Linear) -> None:
        super().__init__(linear.in_channels, linear.out_channels, bias=linear.bias is not None)
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, x: Tensor) -> Tensor:
        """Return ``x + b``."""
        return x if self.bias is None else x + self.bias


def aggregate_sparsely(
    layer: MessagePassing, structures: Structures, *, before: str | None = None, after: str | None = None
) -> MessagePassing:
    """Make a layer aggregate by a sparse matrix product, and return it.

    With W between widths F_in and F_out, ``(A H) W = A (H W)``: the cheaper order is taken (:func:`maps_first`), on
    a whole graph the one whose product with A has the narrower width.

    Parameters
    ----------
    layer : MessagePassing
        Its messages are ``x_j``, or ``x_j`` times one number of the edge, summed or averaged: GCNConv, SAGEConv,
        GINConv, GraphConv, SGConv, APPNP, ChebConv, TAGConv.
    structures : Structures
        Shared by the layers of a model, so that the matrix of the same edges is made once.
    before, after : str, optional
        Name of the linear map that the layer applies right before its first (after its last) `propagate`.
    """
    assert layer.aggr in ("sum", "add", "mean"), f"{layer} joins messages by {layer.aggr}, which is no product"
    assert layer.flow == "source_to_target", "rows are destinations"
    name, folded = before or after, None
    if name is not None:
        linear = getattr(layer, name)
        if before or linear.out_channels < linear.in_channels:  # else mapping after is cheaper for any edges
            folded = FoldedLinear(linear)
            setattr(layer, name, folded)
    layer.propagate = SparsePropagate(layer, structures, folded)
    return layer


def maps_first(structure: Structure, x: Tensor, weight: Tensor) -> bool:
    """Say whether ``A (x W)`` costs less than ``(A x) W``, forward and backward.

    ``A (x W)`` takes num_columns F_in F_out for W and num_edges F_out for A; ``(A x) W`` takes num_rows F_in F_out and
    num_edges F_in. A multiplication in a sparse product takes as long as about 30 in a dense one (measured on a CPU);
    backward, a product with A is left out where its operand needs no gradient, as features do not.
    """
    (num_rows, num_columns), (out_channels, in_channels) = structure.shape, weight.shape
    learns, needs_x = torch.is_grad_enabled() and weight.requires_grad, x.requires_grad
    dense = (1 + learns + needs_x) * in_channels * out_channels
    sparse = _SPARSE_COST * len(structure.indices)
    first = num_columns * dense + (1 + learns) * sparse * out_channels
    return first < num_rows * dense + (1 + needs_x) * sparse * in_channels


def multiply(structure: Structure, values: Tensor, x: Tensor) -> Tensor:
    """Return ``A x`` for values (num_edges,) and x (num_columns, k), differentiable in both.

    It has as many rows as the structure: none after the last that has an entry. The gradient in x is the transposed
    product; that in the values is computed at the entries alone.
    """
    product: Tensor = _Product.apply(structure, values, x)  # type: ignore[no-untyped-call]
    return product


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, structure: Structure, values: Tensor, x: Tensor) -> Tensor:
        ctx.structure = structure
        ctx.save_for_backward(values, x)
        return _times(structure.matrix(values), x)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        (values, x), structure = ctx.saved_tensors, ctx.structure
        grad = grad.contiguous()
        _, needs_values, needs_x = ctx.needs_input_grad
        grad_x = _times(structure.transposed(values), grad) if needs_x else None
        grad_values = None
        if needs_values:
            grad_values = structure.by_edge(_at_entries(structure.matrix(torch.zeros_like(values)), grad, x))
        return None, grad_values, grad_x


def _times(matrix: Tensor, x: Tensor) -> Tensor:
    if x.device.type == "cpu":  # torch's own kernel: about twice as fast as MKL's product at width 256
        product: Tensor = torch.sparse.mm(matrix, x, "sum")
        return product
    return matrix @ x


def _at_entries(pattern: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Return the entries of ``a b^T`` at those of a sparse matrix, in their order."""
    if pattern.values().numel() > pattern.numel():  # so many parallel edges torch's kernel refuses
        rows = torch.repeat_interleave(pattern.crow_indices().diff())
        return (a[rows] * b[pattern.col_indices()]).sum(dim=1)
    entries: Tensor = torch.sparse.sampled_addmm(pattern, a, b.t()).values()
    return entries


def _compress(rows: Tensor, columns: Tensor, num_rows: int) -> tuple[Tensor | None, Tensor, Tensor]:
    """Return the order of edges by row (None where they have it already), where rows begin, and their columns."""
    order = None
    if len(rows) and bool((rows[1:] < rows[:-1]).any()):
        order = torch.argsort(rows, stable=True)
        columns = columns[order]
    indptr = rows.new_zeros(num_rows + 1)
    torch.cumsum(torch.bincount(rows, minlength=num_rows), 0, out=indptr[1:])
    return order, indptr, columns


def _csr(indptr: Tensor, indices: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    _hush_beta_warning()
    return torch.sparse_csr_tensor(indptr, indices, values, shape, check_invariants=False)


@functools.cache
def _hush_beta_warning() -> None:
    """Meet torch's warning, told once a process, that the CSR layout may still change its interface."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        none = torch.zeros(1, dtype=torch.int64)
        torch.sparse_csr_tensor(none, none[:0], torch.zeros(0), (0, 1), check_invariants=False)
