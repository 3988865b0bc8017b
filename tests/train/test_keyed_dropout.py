"""Masks that are a function of what they mask: alike on every device and rank, right in their rate, and independent."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from workbench.core.rng import GOLDEN, mix64
from workbench.train.keyed_dropout import KeyedDropout, KeyedRows, rows_of_graph
from workbench.train.keyed_masks import _mask_on_device, edge_keys, node_keys, scaled_mask
from workbench.train.message_watch import MessageWatch

NO_EDGES = torch.zeros(2, 0, dtype=torch.int64)


@pytest.mark.parametrize("num_columns", [1, 2, 5, 64])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_kernel_and_tensor_operations_draw_the_same(num_columns: int, p: float) -> None:
    keys = node_keys(99, torch.arange(300))
    mask = scaled_mask(keys, num_columns, p, torch.float64)
    assert torch.equal(mask != 0, _mask_on_device(keys, num_columns, round(p * 2**32)))
    assert set(mask.unique().tolist()) <= {0.0, 1 / (1 - p) if p < 1 else 0.0}
    assert scaled_mask(keys[:0], num_columns, p, torch.float32).shape == (0, num_columns)


def test_keys_are_those_of_the_mixer() -> None:
    unsigned = node_keys(7, torch.tensor([0, 5, 2**40])).numpy().view(np.uint64)
    assert [int(key) for key in unsigned] == [mix64(7 + GOLDEN * (node + 1)) for node in (0, 5, 2**40)]
    pairs = edge_keys(7, torch.tensor([1, 2, 1, 1]), torch.tensor([2, 1, 2, 3]))
    assert pairs[0] == pairs[2]  # parallel edges share theirs
    assert len(set(pairs.tolist())) == 3


def test_each_element_stays_with_its_probability_and_none_hangs_on_another() -> None:
    mask = scaled_mask(node_keys(3, torch.arange(4000)), 50, 0.25, torch.float64)
    stays = (mask != 0).double()
    assert stays.mean().item() == pytest.approx(0.75, abs=4 * (0.25 * 0.75 / stays.numel()) ** 0.5)
    assert (stays.mean(dim=0) - 0.75).abs().max() < 5 * (0.25 * 0.75 / 4000) ** 0.5
    correlation = torch.corrcoef(stays.t()) - torch.eye(50)
    assert correlation.abs().max() < 5 / 4000**0.5
    assert mask.mean().item() == pytest.approx(1.0, abs=0.01)


def drop(x: Tensor, rows: KeyedRows, key: tuple[int, ...] = (0, 1), watch: MessageWatch | None = None) -> Tensor:
    with KeyedDropout(rows, key, watch or MessageWatch()):
        return functional.dropout(x, 0.5)


def test_a_node_has_its_mask_wherever_it_lies_and_another_in_another_step() -> None:
    whole = drop(torch.ones(40, 8), rows_of_graph(40, NO_EDGES))
    ids = torch.tensor([31, 4, 17, 9, 22])
    part = drop(torch.ones(3, 8), KeyedRows(ids, 3, NO_EDGES))
    assert torch.equal(part, whole[ids[:3]])
    assert torch.equal(drop(torch.ones(5, 8), KeyedRows(ids, 3, NO_EDGES)), whole[ids])  # with its halo
    assert torch.equal(drop(torch.ones(1, 3, 8), KeyedRows(ids, 3, NO_EDGES))[0], whole[ids[:3]])  # rows second to last
    assert not torch.equal(drop(torch.ones(40, 8), rows_of_graph(40, NO_EDGES), key=(0, 2)), whole)
    with KeyedDropout(rows_of_graph(40, NO_EDGES), (0, 1), MessageWatch()):
        first, second = functional.dropout(torch.ones(40, 8)), torch.nn.Dropout(0.5)(torch.ones(40, 8))
    assert torch.equal(first, whole)
    assert not torch.equal(second, whole)


def test_an_edge_has_its_mask_while_messages_are_made() -> None:
    edges, watch = torch.tensor([[0, 1, 2, 0], [1, 2, 0, 2]]), MessageWatch()
    watch.edge_index = edges
    whole = drop(torch.ones(4, 6), rows_of_graph(4, edges), watch=watch)  # as many nodes as edges
    watch.edge_index = torch.tensor([[1, 0], [0, 2]])  # the third and the first edge, by the part's own numbers
    part = drop(torch.ones(2, 6), KeyedRows(torch.tensor([0, 2, 1]), 2, NO_EDGES), watch=watch)
    assert torch.equal(part, whole[[2, 0]])


def test_evaluation_in_place_and_other_threads() -> None:
    rows, x = rows_of_graph(6, NO_EDGES), torch.ones(6, 4)
    with KeyedDropout(rows, (0, 1), MessageWatch()):
        assert functional.dropout(x, 0.5, training=False) is x
        assert functional.dropout(x, 0.0) is x
        changed = functional.dropout(y := torch.ones(6, 4), 0.5, inplace=True)
        assert changed is y
        seen: list[Tensor] = []
        torch.manual_seed(0)
        thread = threading.Thread(target=lambda: seen.append(functional.dropout(torch.ones(999, 1))))
        thread.start()  # rows that are nobody's here: an error, if the mode reached there
        thread.join()
        assert len(seen) == 1
    assert torch.equal(changed, drop(torch.ones(6, 4), rows))
