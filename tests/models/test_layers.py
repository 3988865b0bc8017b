"""The models compute what their papers say, by hand on four nodes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from workbench.models import MODELS, ModelInputs, call_model

EDGES = torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 1, 1]])
X = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [5.0, 5.0]], dtype=torch.float64)
WEIGHT = torch.tensor([0.5, 2.0, 1.0, 3.0, 0.25], dtype=torch.float64)
INPUTS = ModelInputs(x=X, edge_index=EDGES, edge_weight=WEIGHT)
IDENTITY = torch.eye(4, dtype=torch.float64)


def one_layer(name: str, **params: Any) -> nn.Module:
    torch.manual_seed(0)
    return MODELS.create(name, **params).build(2, 3).double().eval()


def adjacency(weight: torch.Tensor | None = None) -> torch.Tensor:
    matrix = torch.zeros(4, 4, dtype=torch.float64)
    matrix[EDGES[1], EDGES[0]] = 1.0 if weight is None else weight
    return matrix


def normalised(matrix: torch.Tensor, *, loops: bool = True) -> torch.Tensor:
    """Return ``D^-1/2 (A + I) D^-1/2``, or without I."""
    matrix = matrix + IDENTITY if loops else matrix
    root = matrix.sum(dim=1).pow(-0.5)
    root[root.isinf()] = 0.0
    return root[:, None] * matrix * root[None, :]


def assert_equal(found: torch.Tensor, expected: torch.Tensor) -> None:
    assert torch.allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_gcn_is_the_normalised_weighted_sum() -> None:
    module = one_layer("gcn", num_layers=1)
    (layer,) = module.layers
    assert_equal(call_model(module, INPUTS), normalised(adjacency(WEIGHT)) @ X @ layer.lin.weight.T + layer.bias)


def test_sage_joins_a_node_with_the_mean_of_its_neighbours() -> None:
    module = one_layer("sage", num_layers=1)
    (layer,) = module.layers
    mean = adjacency() / adjacency().sum(dim=1, keepdim=True).clamp(min=1) @ X
    assert_equal(call_model(module, INPUTS), layer.lin_l(mean) + X @ layer.lin_r.weight.T)


def test_sage_pool_is_the_maximum_of_what_a_linear_map_makes_of_each_neighbour() -> None:
    module = one_layer("sage", num_layers=1, aggregation="pool")
    (layer,) = module.layers
    pooled = layer.lin(X).relu()
    largest = torch.stack([pooled[1], pooled[[0, 2, 3]].amax(dim=0), pooled[1], torch.zeros_like(pooled[0])])
    assert_equal(call_model(module, INPUTS), layer.lin_l(largest) + X @ layer.lin_r.weight.T)


def test_graph_conv_joins_a_node_with_the_weighted_sum_of_its_neighbours() -> None:
    module = one_layer("graph_conv", num_layers=1)
    (layer,) = module.layers
    assert_equal(call_model(module, INPUTS), layer.lin_rel(adjacency(WEIGHT) @ X) + X @ layer.lin_root.weight.T)


def test_gin_applies_its_perceptron_to_the_sum_with_the_node_itself() -> None:
    module = one_layer("gin", num_layers=1, eps=0.5)
    (layer,) = module.layers
    assert_equal(call_model(module, INPUTS), layer.nn(1.5 * X + adjacency() @ X))


def test_sgc_averages_k_times_and_then_maps() -> None:
    module = one_layer("sgc", K=3)
    (layer,) = module.layers
    matrix = normalised(adjacency(WEIGHT))
    assert_equal(call_model(module, INPUTS), layer.lin(matrix @ matrix @ matrix @ X))


def test_sgc_is_a_gcn_of_k_layers_without_anything_between_them() -> None:
    sgc, gcn = one_layer("sgc", K=2), one_layer("gcn", num_layers=2, hidden_channels=2)
    gcn.surroundings = sgc.surroundings  # no dropout
    with torch.no_grad():
        gcn.layers[0].lin.weight.copy_(torch.eye(2))
        gcn.layers[1].lin.weight.copy_(sgc.layers[0].lin.weight)
        gcn.layers[1].bias.copy_(sgc.layers[0].lin.bias)
    assert (X >= 0).all(), "so that ReLU between the layers changes nothing"
    assert_equal(call_model(gcn, INPUTS), call_model(sgc, INPUTS))


def test_appnp_spreads_what_its_perceptron_predicts() -> None:
    module = one_layer("appnp", K=2, alpha=0.2, hidden_channels=5)
    first = rows = module.linears[1](module.linears[0](X).relu())
    matrix = normalised(adjacency(WEIGHT))
    for _ in range(2):
        rows = 0.8 * matrix @ rows + 0.2 * first
    assert_equal(call_model(module, INPUTS), rows)


def test_cheb_is_a_polynomial_in_the_scaled_laplacian() -> None:
    module = one_layer("cheb", num_layers=1, K=3)
    (layer,) = module.layers
    both = torch.zeros(4, 4, dtype=torch.float64)
    both[EDGES[1], EDGES[0]] = 1.0
    both = torch.maximum(both, both.T)
    edges = both.nonzero().T.flip(0)
    scaled = -normalised(both, loops=False)
    terms = [X, scaled @ X, 2 * scaled @ scaled @ X - X]
    expected = sum((linear(term) for linear, term in zip(layer.lins, terms, strict=True)), layer.bias)
    assert_equal(call_model(module, ModelInputs(x=X, edge_index=edges)), expected)


def test_edge_conv_takes_the_maximum_over_pairs() -> None:
    module = one_layer("edge_conv", num_layers=1, hidden_channels=5)
    (layer,) = module.layers
    source, destination = EDGES
    messages = layer.nn(torch.cat([X[destination], X[source] - X[destination]], dim=1))
    rows = [messages[destination == node] for node in range(4)]
    expected = torch.stack([part.amax(dim=0) if len(part) else torch.zeros(3).double() for part in rows])
    assert_equal(call_model(module, INPUTS), expected)


def test_gat_weights_neighbours_and_the_node_itself_by_attention() -> None:
    module = one_layer("gat", num_layers=1)
    (layer,) = module.layers
    rows = layer.lin(X)
    scores = (rows * layer.att_dst[0]).sum(-1)[:, None] + (rows * layer.att_src[0]).sum(-1)[None, :]
    scores = nn.functional.leaky_relu(scores, 0.2).masked_fill(adjacency() + IDENTITY == 0, -torch.inf)
    assert_equal(call_model(module, INPUTS), scores.softmax(dim=1) @ rows + layer.bias)


def test_transformer_weights_neighbours_by_scaled_dot_products() -> None:
    module = one_layer("transformer", num_layers=1)
    (layer,) = module.layers
    scores = layer.lin_query(X) @ layer.lin_key(X).T / 3**0.5
    scores = scores.masked_fill(adjacency() == 0, -torch.inf).softmax(dim=1).nan_to_num(0.0)
    assert_equal(call_model(module, INPUTS), scores @ layer.lin_value(X) + layer.lin_skip(X))


def test_nnconv_multiplies_each_message_by_the_matrix_of_its_edge() -> None:
    module = one_layer("nnconv", num_layers=1, hidden_channels=5, edge_channels=1)
    layer, first = module.layer, module.first(X).relu()
    matrices = layer.nn(WEIGHT[:, None]).view(-1, 5, 5)
    messages = torch.einsum("ei,eij->ej", first[EDGES[0]], matrices)
    mean = torch.zeros(4, 5).double().index_add_(0, EDGES[1], messages)
    mean = mean / adjacency().sum(dim=1, keepdim=True).clamp(min=1)
    expected = module.head(module.unit((mean + layer.lin(first) + layer.bias).relu(), first))
    assert_equal(call_model(module, ModelInputs(x=X, edge_index=EDGES, edge_attr=WEIGHT)), expected)


def test_the_gat_of_the_paper_for_cora_is_one_of_the_registry() -> None:
    spec = MODELS.create("gat", hidden_channels=64, heads=8, dropout=0.6, attention_dropout=0.6)
    module: Any = spec.build(1433, 7)
    first, last = module.layers
    assert (first.heads, first.out_channels, first.concat, first.dropout) == (8, 8, True, 0.6)
    assert (last.heads, last.out_channels, last.concat, last.dropout) == (1, 7, False, 0.6)
    assert (module.surroundings.activation, module.surroundings.drops_features) == ("elu", True)
    num_parameters = sum(parameter.numel() for parameter in module.parameters())
    assert num_parameters == 1433 * 64 + 3 * 64 + 64 * 7 + 3 * 7


def test_what_stands_between_layers() -> None:
    torch.manual_seed(0)
    spec = MODELS.create("sage", num_layers=3, hidden_channels=5, norm="layer", residual=True, dropout=0.0)
    module = spec.build(2, 3).double().eval()
    rows = X
    for depth in range(2):
        normed = nn.functional.layer_norm(module.layers[depth](rows, EDGES), (5,))
        rows = (normed + (rows @ module.skips[0].weight.T if depth == 0 else rows)).relu()
    assert_equal(call_model(module, INPUTS), module.layers[2](rows, EDGES))


def test_jumping_knowledge_joins_all_layers() -> None:
    for mode, width in (("cat", 10), ("max", 5)):
        torch.manual_seed(0)
        module = MODELS.create("sage", hidden_channels=5, jumping_knowledge=mode).build(2, 3).double().eval()
        first = module.layers[0](X, EDGES).relu()
        second = module.layers[1](first, EDGES).relu()
        joined = torch.cat([first, second], dim=1) if mode == "cat" else torch.maximum(first, second)
        assert module.head.in_features == width
        assert_equal(call_model(module, INPUTS), module.head(joined))


def test_batch_norm_stands_between_layers() -> None:
    module: Any = MODELS.create("gcn", num_layers=3, norm="batch", hidden_channels=5).build(2, 3)
    assert [type(norm) for norm in module.norms] == [nn.BatchNorm1d, nn.BatchNorm1d]
