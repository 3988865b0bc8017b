"""The models that have a name compute what their papers say."""

from __future__ import annotations

import pytest
import torch

from workbench.core.errors import InputError
from workbench.models import MODELS, ModelInputs, call_model

EDGES = torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 1, 1]])
X = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [5.0, 5.0]])


@pytest.mark.parametrize("name", MODELS.names())
def test_a_model_gives_one_row_a_node_and_learns_through_every_parameter(name: str) -> None:
    module = MODELS.create(name, hidden_channels=8, num_layers=3).build(2, 5)
    output = call_model(module.eval(), ModelInputs(x=X, edge_index=EDGES))
    assert output.shape == (4, 5)
    gradients = torch.autograd.grad(output.square().sum(), list(module.parameters()))
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("name", MODELS.names())
def test_a_model_says_how_many_hops_it_reads(name: str) -> None:
    spec = MODELS.create(name, num_layers=3, hidden_channels=16)
    torch.manual_seed(0)  # a few units of random weights may all be dead, and nothing would be read at all
    module = spec.build(2, 2).double().eval()
    chain = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 4]])
    x = torch.ones(5, 2, dtype=torch.float64, requires_grad=True)
    call_model(module, ModelInputs(x=x, edge_index=chain))[4].sum().backward()
    assert x.grad is not None
    reached = 4 - int(x.grad.abs().sum(dim=1).nonzero().min())
    assert reached == spec.num_propagations == 3


def test_a_gcn_layer_is_the_normalised_sum() -> None:
    module = MODELS.create("gcn", num_layers=1).build(2, 3).eval()
    adjacency = torch.zeros(4, 4)
    adjacency[EDGES[1], EDGES[0]] = 1.0
    adjacency += torch.eye(4)
    root = adjacency.sum(dim=1).pow(-0.5)
    layer = module.layers[0]
    expected = (root[:, None] * adjacency * root[None, :]) @ X @ layer.lin.weight.T + layer.bias
    assert torch.allclose(module(X, EDGES), expected, atol=1e-6)


def test_a_sage_layer_joins_a_node_with_the_mean_of_its_neighbours() -> None:
    module = MODELS.create("sage", num_layers=1).build(2, 3)
    layer = module.layers[0]
    mean = torch.stack([X[1], (X[0] + X[2] + X[3]) / 3, X[1], torch.zeros(2)])
    expected = mean @ layer.lin_l.weight.T + layer.lin_l.bias + X @ layer.lin_r.weight.T
    assert torch.allclose(module(X, EDGES), expected, atol=1e-6)


def test_dropout_acts_in_training_only() -> None:
    module = MODELS.create("sage", hidden_channels=64).build(2, 3)
    inputs = ModelInputs(x=X, edge_index=EDGES)
    assert not torch.equal(call_model(module.train(), inputs), call_model(module, inputs))
    assert torch.equal(call_model(module.eval(), inputs), call_model(module, inputs))


def test_wrong_parameters_are_all_named() -> None:
    with pytest.raises(InputError, match=r"2 problems[\s\S]*dropout: expected at most 1[\s\S]*num_layers"):
        MODELS.create("gcn", dropout=1.5, num_layers=0)
