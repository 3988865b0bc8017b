"""Commands between steps, and checkpoints: what was stopped goes on as if nothing had been."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import BatchNorm, SAGEConv

from workbench.core.control import Control
from workbench.core.errors import RunError
from workbench.testing.graphs import path
from workbench.testing.rank_context import LocalRun, train_here
from workbench.train import ResolvedRun, checkpoint, loop, resolve

NewFolder = Callable[[], Path]
WORDS: dict[str, Any] = {"epochs": 3, "batch_size": 4, "fanouts": (3, 2), "hidden_channels": 8, "lr": 0.02}


def sampled(num_nodes: int = 24, model: Any = "sage", **words: Any) -> ResolvedRun:
    chosen = {**WORDS, **words}
    if not isinstance(model, str):
        del chosen["hidden_channels"]
    return resolve(path(num_nodes), model, "mini_batch", **chosen)


def control_at(step: int, *kinds: str) -> Callable[[int, int], Control | None]:
    """Return controls that come one a call, from the poll before global step `step` on."""
    start: dict[int, int] = {}

    def controls(asked: int, call: int) -> Control | None:
        if asked < step:
            return None
        position = call - start.setdefault(0, call)
        return Control(kind=kinds[position], id=position + 1) if position < len(kinds) else None  # type: ignore[arg-type]

    return controls


@pytest.mark.parametrize("step", [1, 2, 5, 6, 9])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_a_stopped_and_resumed_run_equals_the_undisturbed_one(step: int, optimizer: str, new_folder: NewFolder) -> None:
    resolved, folder = sampled(optimizer=optimizer), new_folder()
    whole = train_here(resolved, new_folder())
    part = train_here(resolved, folder, controls=control_at(step, "stop"))
    assert (part.outcomes[0].status, part.outcomes[0].step) == ("stopped", step - 1)
    assert not (folder / "model.pt").exists()
    rest = train_here(resolved, folder)
    assert part.losses + rest.losses == whole.losses
    assert (folder / "model.pt").read_bytes() == (whole.folder / "model.pt").read_bytes()
    bytes_of = [[data["bytes"]["gather"] for data in run.told("epoch_finished")] for run in (part, rest, whole)]
    assert bytes_of[0] + bytes_of[1] == bytes_of[2]
    elapsed = [data["elapsed_s"] for run in (part, rest) for data in run.told("epoch_finished")]
    assert elapsed == sorted(elapsed)


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.norm, self.top = SAGEConv(4, 8), BatchNorm(8), SAGEConv(8, 3)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        out: Tensor = self.top(self.norm(self.conv(x, edge_index)).relu(), edge_index)
        return out


def test_batch_statistics_of_every_rank_come_back_after_a_stop(new_folder: NewFolder) -> None:
    resolved, folder = sampled(model=Normed(), trainers=2), new_folder()
    whole = train_here(resolved, new_folder())
    controls = [control_at(3, "stop") for _ in range(2)]
    part = _train_with(resolved, folder, controls)
    assert {outcome.status for outcome in part.outcomes} == {"stopped"}
    rest = train_here(resolved, folder)
    assert part.losses + rest.losses == whole.losses
    metrics = [data["metrics"] for run in (part, rest) for data in run.told("epoch_finished")]
    assert metrics == [data["metrics"] for data in whole.told("epoch_finished")]


def _train_with(resolved: ResolvedRun, folder: Path, controls: list[Any]) -> LocalRun:
    """Train with controls of their own for each rank (they count their calls)."""
    import threading

    calls = threading.local()

    def each(step: int, call: int) -> Control | None:
        if not hasattr(calls, "own"):
            calls.own = controls.pop()
        return calls.own(step, call)  # type: ignore[no-any-return]

    return train_here(resolved, folder, controls=each)


def test_pause_waits_and_is_left_out_of_the_time(new_folder: NewFolder) -> None:
    run = train_here(sampled(), new_folder(), controls=control_at(3, "pause", "checkpoint", "pause", "resume"))
    kinds = [event.kind for event in run.events if event.kind.startswith(("run_", "checkpoint"))]
    assert kinds[:3] == ["run_paused", "checkpoint_saved", "run_resumed"]
    assert run.told("run_paused")[0]["step"] == run.told("run_resumed")[0]["step"] == 2
    assert run.losses == train_here(sampled(), new_folder()).losses


def test_stop_works_in_a_pause(new_folder: NewFolder) -> None:
    folder = new_folder()
    run = train_here(sampled(), folder, controls=control_at(3, "pause", "stop"))
    assert run.outcomes[0].status == "stopped"
    assert [path.name for path in checkpoint.all_in(folder)] == ["epoch00001_step00000002.pt"]
    assert not run.told("run_resumed")


def test_a_checkpoint_can_be_asked_for(new_folder: NewFolder) -> None:
    folder = new_folder()
    run = train_here(sampled(checkpoint_every=0), folder, controls=control_at(5, "checkpoint"))
    saved = run.told("checkpoint_saved")
    assert [(data["epoch"], data["step"]) for data in saved] == [(2, 4), (3, 9)]
    for data in saved:
        assert (folder / data["path"]).stat().st_size == data["num_bytes"]


def test_a_checkpoint_comes_by_time_too(new_folder: NewFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "CHECKPOINT_AT_LEAST_EVERY_S", 0.0)
    run = train_here(sampled(checkpoint_every=0, trainers=2, dropout=0.0), new_folder())
    num_steps = len(run.told("step_finished", rank=0))
    assert [data["step"] for data in run.told("checkpoint_saved")] == list(range(1, num_steps + 1))


def test_a_run_that_was_over_before_it_was_resumed_leaves_its_results_again(new_folder: NewFolder) -> None:
    resolved, folder = sampled(), new_folder()
    first = train_here(resolved, folder)
    predictions = (folder / "predictions.npy").read_bytes()
    (folder / "predictions.npy").unlink()
    again = train_here(resolved, folder)
    assert not again.told("step_finished")
    assert again.outcomes[0].step == first.outcomes[0].step
    assert (folder / "predictions.npy").read_bytes() == predictions


def test_a_checkpoint_of_another_seed_is_refused(new_folder: NewFolder) -> None:
    resolved, folder = sampled(), new_folder()
    train_here(resolved, folder, controls=control_at(2, "stop"))
    other = replace(resolved, config=replace(resolved.config, rng_seed=5))
    with pytest.raises(RunError, match="rng_seed 5; got format 1 and rng_seed 0"):
        train_here(other, folder)
