"""The gradient of unequal ranks is that of their joint batch, exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench.models import MODELS
from workbench.testing.graphs import path
from workbench.train import UPDATES
from workbench.train.base import StepTotals
from workbench.train.recorder import Recorder
from workbench.train.thread_transport import run_in_threads
from workbench.train.transport import Transport

GRAPH = path(6)
X, Y = torch.tensor(np.array(GRAPH.x)).double(), torch.tensor(np.array(GRAPH.y))
EDGES = torch.from_numpy(GRAPH.edge_index())


def model() -> nn.Module:
    torch.manual_seed(0)
    return MODELS.create("sage", hidden_channels=5, dropout=0.0).build(4, 3).double()


def one_update(
    transport: Transport, parts: Sequence[Sequence[int]], module: nn.Module
) -> tuple[list[Tensor | None], StepTotals]:
    """Return the gradients with which the optimiser stepped, and the totals."""
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    update = UPDATES.create("all_reduce").open(module, optimizer, transport, Recorder())
    nodes, loss_sum = torch.tensor(parts[transport.rank], dtype=torch.int64), 0.0
    if len(nodes):
        loss = functional.cross_entropy(module(X, EDGES)[nodes], Y[nodes], reduction="sum")
        loss.backward()
        loss_sum = loss.item()
    totals = update.apply(loss_sum, len(nodes), vote=float(transport.rank == 0))
    return [None if p.grad is None else p.grad.clone() for p in module.parameters()], totals


def full_batch(nodes: Sequence[int]) -> tuple[float, list[Tensor]]:
    module = model()
    ids = torch.tensor(nodes)
    loss = functional.cross_entropy(module(X, EDGES)[ids], Y[ids])
    return loss.item(), list(torch.autograd.grad(loss, list(module.parameters())))


@pytest.mark.parametrize(
    "parts",
    [[[0, 1, 5], [3]], [[0, 2, 4]], [[0], [2], [4], []], [[], [], [1, 2, 3, 4, 5, 0]]],
    ids=["three and one", "one rank", "three nodes on four ranks", "two empty ranks"],
)
def test_gradients_of_unequal_ranks_are_those_of_the_full_batch(parts: list[list[int]]) -> None:
    loss, expected = full_batch([node for part in parts for node in part])
    models = [model() for _ in parts]
    results = run_in_threads(len(parts), lambda transport: one_update(transport, parts, models[transport.rank]))
    for gradients, totals in results:
        assert totals.num_seeds == sum(map(len, parts))
        assert totals.loss_sum / totals.num_seeds == pytest.approx(loss, abs=1e-12)
        assert totals.vote == 1.0
        for found, wanted in zip(gradients, expected, strict=True):
            assert found is not None
            assert (found - wanted).abs().max() < 1e-12
    first = list(models[0].parameters())
    for other in models[1:]:
        assert all(torch.equal(a, b) for a, b in zip(first, other.parameters(), strict=True))


def test_mean_of_means_would_have_been_wrong() -> None:
    """The case is a real one: averaging the ranks' own gradients gives something else."""
    _, whole = full_batch([0, 1, 5, 3])
    (_, a), (_, b) = full_batch([0, 1, 5]), full_batch([3])
    assert any(((p + q) / 2 - r).abs().max() > 1e-3 for p, q, r in zip(a, b, whole, strict=True))


def test_a_parameter_without_a_gradient_anywhere_is_left_alone() -> None:
    module = model()
    module.extra = nn.Parameter(torch.ones(3, dtype=torch.float64))
    ((gradients, _),) = run_in_threads(1, lambda transport: one_update(transport, [[0, 1]], module))
    names = [name for name, _ in module.named_parameters()]
    assert gradients[names.index("extra")] is None
    assert module.extra.tolist() == [1.0, 1.0, 1.0]


def test_a_step_without_a_seed_on_any_rank_changes_nothing() -> None:
    module = model()
    before = [p.clone() for p in module.parameters()]
    ((_, totals),) = run_in_threads(1, lambda transport: one_update(transport, [[]], module))
    assert totals == StepTotals(loss_sum=0.0, num_seeds=0, vote=1.0)
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))


def test_an_infinite_loss_is_handed_back_without_a_step() -> None:
    module = model()
    before = [p.clone() for p in module.parameters()]
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    transports = run_in_threads(1, lambda transport: transport)
    update = UPDATES.create("all_reduce").open(module, optimizer, transports[0], Recorder())
    totals = update.apply(float("nan"), 3, 0.0)
    assert totals.loss_sum != totals.loss_sum
    assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))
