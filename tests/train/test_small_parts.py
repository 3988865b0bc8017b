"""Recorder, seeding, task, checkpoints on disk, single rows in BatchNorm."""

from __future__ import annotations

import copy
import itertools
import random
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from workbench.core.errors import Findings
from workbench.core.phases import Phase
from workbench.testing.graphs import path
from workbench.train import TASKS, SoloTransport, checkpoint
from workbench.train.batch_norm import lone_rows_normalised, normalise_over_ranks
from workbench.train.recorder import Recorder
from workbench.train.seeding import seed_build, seed_step


def test_spans_lie_on_unix_time_and_are_taken_once() -> None:
    recorder, before = Recorder(), time.time()
    with recorder.span(Phase.FORWARD):
        time.sleep(0.02)
    with pytest.raises(ZeroDivisionError), recorder.span(Phase.BACKWARD):
        raise ZeroDivisionError
    first, second = recorder.take_spans()
    assert (first.phase, second.phase) == (Phase.FORWARD, Phase.BACKWARD)
    assert before - 0.1 <= first.start_s <= second.start_s <= time.time() + 0.1
    assert first.duration_s >= 0.02
    assert first.start_s + first.duration_s <= second.start_s + 1e-6
    assert recorder.take_spans() == []


def test_a_span_inside_another_interrupts_it() -> None:
    recorder = Recorder()
    with recorder.span(Phase.FORWARD):
        with recorder.span(Phase.EXCHANGE):
            time.sleep(0.01)
        with pytest.raises(ZeroDivisionError), recorder.span(Phase.EXCHANGE):
            raise ZeroDivisionError
    spans = recorder.take_spans()
    assert [span.phase.value for span in spans] == ["forward", "exchange", "forward", "exchange", "forward"]
    for before, after in itertools.pairwise(spans):
        assert before.start_s + before.duration_s == pytest.approx(after.start_s, abs=1e-5)
    assert spans[1].duration_s >= 0.01


def test_bytes_add_up_by_kind_until_they_are_taken() -> None:
    recorder = Recorder()
    recorder.count_all({"gather": 10, "exchange": 0})
    recorder.count("gather", 5)
    assert recorder.take_bytes() == {"gather": 15}
    assert recorder.take_bytes() == {}


def draws() -> tuple[float, float, float]:
    return torch.rand(1).item(), random.random(), float(np.random.random())  # noqa: NPY002 - the global state is meant


def test_a_step_draws_the_same_again_and_no_two_steps_the_same() -> None:
    seen = []
    for key in [(0, 1, 1, 0), (0, 1, 1, 1), (0, 1, 2, 0), (0, 2, 1, 0), (1, 1, 1, 0)]:
        seed_step(*key)
        first = draws()
        seed_step(*key)
        assert draws() == first
        seen.append(first)
    seed_build(0)
    seen.append(draws())
    assert len({value for row in seen for value in row}) == 3 * len(seen)


def test_cross_entropy_is_summed_over_rows_and_accuracy_is_a_share() -> None:
    task = TASKS.create("node_classification")
    outputs = torch.tensor([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]])
    targets = torch.tensor([0, 1, 1])
    expected = sum(-torch.log_softmax(row, 0)[y] for row, y in zip(outputs, targets, strict=True))
    assert torch.isclose(task.loss_sum(outputs, targets), expected)
    assert task.measure(task.summarise(outputs), targets) == pytest.approx(2 / 3)


def test_a_task_notes_unlabelled_training_nodes_only_as_a_remark() -> None:
    findings = Findings("graph")
    TASKS.create("node_classification").check(path(6), findings)
    assert findings.items == []


def test_the_newest_checkpoints_stay_and_the_newest_is_read(tmp_path: Path) -> None:
    for step in (1, 2, 10):
        checkpoint.save(tmp_path, {"step": step, "x": torch.ones(2)}, epoch=1, step=step)
    assert [p.name for p in checkpoint.all_in(tmp_path)] == ["epoch00001_step00000002.pt", "epoch00001_step00000010.pt"]
    state = checkpoint.load_newest(tmp_path)
    assert state is not None
    assert state["step"] == 10
    assert not list((tmp_path / "checkpoints").glob(".*"))


def test_no_checkpoint_is_none(tmp_path: Path) -> None:
    assert checkpoint.load_newest(tmp_path) is None


def test_a_checkpoint_that_fails_to_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint.save(tmp_path, {"step": 1}, epoch=1, step=1)

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.save(tmp_path, {"step": 1, "more": 2}, epoch=1, step=1)
    assert checkpoint.load_newest(tmp_path) == {"step": 1}
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["epoch00001_step00000001.pt"]


@pytest.mark.parametrize("shape", [(7, 3), (7, 3, 2), (1, 3), (2, 3)])
@pytest.mark.parametrize("options", [{}, {"momentum": None}, {"affine": False}, {"track_running_stats": False}])
def test_statistics_over_ranks_are_those_of_batch_norm(shape: tuple[int, ...], options: dict[str, object]) -> None:
    torch.manual_seed(0)
    own, x = nn.BatchNorm1d(3, **options).double(), torch.randn(*shape, dtype=torch.float64, requires_grad=True)  # type: ignore[arg-type]
    theirs, y = copy.deepcopy(own), x.detach().clone().requires_grad_()
    if len(x) * x[0, 0].numel() == 1:
        if own.running_mean is not None:  # the running statistics: there is no variance of one row
            assert torch.equal(normalise_over_ranks(own, x, 1, SoloTransport()), theirs.eval()(y))
        return
    found = normalise_over_ranks(own, x, len(x), SoloTransport())
    expected = theirs(y)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    found.cos().sum().backward()
    expected.cos().sum().backward()
    for a, b in [(x.grad, y.grad), *zip(own.buffers(), theirs.buffers(), strict=True)]:
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
    for first, second in zip(own.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(first.grad, second.grad, rtol=1e-12, atol=1e-12)


def test_a_lone_row_goes_by_running_statistics_and_changes_none() -> None:
    norm = nn.BatchNorm1d(3)
    norm(torch.randn(8, 3))
    mean = norm.running_mean.clone()
    row = torch.randn(1, 3)
    with lone_rows_normalised(norm):
        found = norm(row)
        assert norm.training
        assert torch.equal(norm.running_mean, mean)
        norm(torch.randn(4, 3))
        assert not torch.equal(norm.running_mean, mean)
    norm.running_mean.copy_(mean)
    with pytest.raises(ValueError, match="more than 1 value"):
        norm(row)
    assert found.shape == (1, 3)
