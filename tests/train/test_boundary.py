"""Boundaries leave no trace on a model, nest, and are left behind by copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, SGConv

from workbench.models import MODELS
from workbench.train.boundary import Boundary, BoundaryError, Call, CallCounter, attached
from workbench.train.call import takes_pair

EDGES = torch.tensor([[0, 1, 2], [1, 2, 0]])
X = torch.arange(6.0).reshape(3, 2)


class Scale(Boundary):
    """Multiplies inputs by `before_factor` and adds `after_term` to outputs; notes the order."""

    def __init__(self, name: str, order: list[str]) -> None:
        self.name, self.order = name, order

    def before(self, call: Call) -> None:
        self.order.append(f"{self.name} before {call.index}")
        call.set(x=call.x * 2)

    def after(self, call: Call, output: Any) -> Any:
        self.order.append(f"{self.name} after {call.index}")
        return output + 1


def model() -> nn.Module:
    torch.manual_seed(0)
    return MODELS.create("sage", hidden_channels=4).build(2, 2).eval()


def num_hooks(module: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules())


def test_a_boundary_acts_inside_the_block_and_leaves_no_trace() -> None:
    module, order = model(), list[str]()
    plain, state = module(X, EDGES), dict(vars(module))
    with attached(module, Scale("a", order)):
        assert not torch.equal(module(X, EDGES), plain)
    assert torch.equal(module(X, EDGES), plain)
    assert num_hooks(module) == 0
    assert vars(module) == state
    assert order == ["a before 0", "a after 0", "a before 1", "a after 1"]


def test_boundaries_nest_like_brackets() -> None:
    module, order = model(), list[str]()
    with attached(module, Scale("outer", order)), attached(module, Scale("inner", order)):
        module(X, EDGES)
    assert order[:4] == ["outer before 0", "inner before 0", "inner after 0", "outer after 0"]


def test_an_error_inside_the_block_leaves_no_trace() -> None:
    class Broken(Scale):
        def after(self, call: Call, output: Any) -> Any:
            raise RuntimeError("in the middle")

    module = model()
    with pytest.raises(RuntimeError, match="in the middle"), attached(module, Broken("a", [])):
        module(X, EDGES)
    assert num_hooks(module) == 0


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_made_meanwhile_is_a_plain_model(copier: Any) -> None:
    module = model()
    plain, order = module(X, EDGES), list[str]()
    with attached(module, Scale("a", order)):
        copied = copier(module)
        assert torch.equal(copied(X, EDGES), plain)
        assert order == []
    assert torch.equal(copied(X, EDGES), plain)


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = SAGEConv(2, 2)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.conv(self.conv(x, edge_index=edge_index), edge_index)
        return out


def test_a_layer_that_is_called_twice_counts_by_call() -> None:
    counter = CallCounter()
    module = Twice()
    with attached(module, counter):
        module(X, EDGES)
    assert counter.num_calls == 2


def test_arguments_that_no_boundary_can_serve_are_named() -> None:
    class Bipartite(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = SAGEConv(2, 2)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            out: Tensor = self.conv((x, x), edge_index)
            return out

    module = Bipartite()
    with (
        pytest.raises(BoundaryError, match=r"SAGEConv .*call 1.*: expected x to be one tensor; got tuple"),
        attached(module, Scale("a", [])),
    ):
        module(X, EDGES)


def test_which_layers_take_a_pair_is_read_from_their_annotations() -> None:
    assert takes_pair(SAGEConv(2, 2))
    assert takes_pair(GATConv(2, 2))
    assert not takes_pair(GCNConv(2, 2))


def test_propagations_of_a_layer_are_calls_that_leave_no_trace() -> None:
    module, counter = SGConv(2, 3, K=3, cached=True), CallCounter()
    plain = copy.deepcopy(module)(X, EDGES)
    with attached(module, counter):
        assert torch.equal(module(X, EDGES), plain)
    assert counter.num_calls == 3
    kept = module._cached_x

    class Same(Scale):
        def before(self, call: Call) -> None:
            self.order.append(f"before {call.index} of {len(call.x)} rows")

        def after(self, call: Call, output: Any) -> Any:
            return output

    boundary = Same("a", [])
    with attached(module, boundary):
        assert torch.allclose(module(X, EDGES), plain)  # the very graph by finished weights
        assert torch.equal(copy.deepcopy(module)(X, EDGES), plain)
    assert boundary.order == [f"before {index} of 3 rows" for index in range(3)]
    assert module.cached is True
    assert module._cached_x is kept
    assert num_hooks(module) == len(module._propagate_forward_pre_hooks) == len(module._propagate_forward_hooks) == 0


def test_an_error_between_propagations_leaves_no_trace() -> None:
    class Broken(Scale):
        def before(self, call: Call) -> None:
            if call.index == 1:
                raise RuntimeError("in the middle")

    module = SGConv(2, 3, K=2, cached=True)
    with pytest.raises(RuntimeError, match="in the middle"), attached(module, Broken("a", [])):
        module(X, EDGES)
    assert module.cached is True
    assert module._cached_x is None


def test_two_boundaries_that_change_one_layers_propagations_are_refused() -> None:
    module = SGConv(2, 3, K=2)
    with (
        pytest.raises(BoundaryError, match="SGConv: expected one boundary"),
        attached(module, Scale("a", [])),
        attached(module, Scale("b", [])),
    ):
        raise AssertionError("not reached")
    counter = CallCounter()
    with attached(module, Scale("a", [])), attached(module, counter):  # one that only looks may look
        module(X, EDGES)
    assert counter.num_calls == 2
