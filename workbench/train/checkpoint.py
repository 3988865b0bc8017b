"""The state of a training: what it holds, and how it lies on disk, complete or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from workbench.core.errors import RunError
from workbench.train.progress import Progress

if TYPE_CHECKING:
    from workbench.train.transport import Transport

FORMAT_VERSION = 1
FOLDER = "checkpoints"


def save(
    folder: Path, state: dict[str, Any], epoch: int, step: int, *, keep: int = 2, since: int | None = None
) -> Path:
    """Write a state into ``checkpoints/`` of a run's folder, under a temporary name first, and drop older ones.

    Parameters
    ----------
    folder : Path
        The run's folder.
    state : dict
        Tensors, numbers, text, lists and dicts: what ``torch.load(weights_only=True)`` reads.
    epoch, step : int
        Where the training stands; they make the file's name.
    keep : int
        Newest checkpoints that stay.
    since : int, optional
        Those from this step on stay too.
    """
    target = Path(folder) / FOLDER / f"epoch{epoch:05d}_step{step:08d}.pt"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(state, target)
    for old in all_in(folder)[:-keep]:
        if since is None or step_of(old) < since:
            old.unlink(missing_ok=True)
    _drop_ranks_of_no_checkpoint(folder)
    return target


def save_of_rank(folder: Path, state: dict[str, Any], step: int, rank: int) -> None:
    """Write what a rank alone holds, beside the checkpoint of a step, which is written after it."""
    target = _of_rank(folder, step, rank)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(state, target)


def load_of_rank(folder: Path, step: int, rank: int) -> dict[str, Any]:
    """Return what a rank alone held at the checkpoint of a step.

    Raises
    ------
    RunError
        Where it is not there: another number of ranks wrote the checkpoint.
    """
    path = _of_rank(folder, step, rank)
    if not path.is_file():
        raise RunError(
            f"checkpoint: expected the state of rank {rank} at step {step} in {path.name}; got no such file. "
            "Fix: resume with the number of trainers that wrote it, or launch anew"
        )
    state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    return state


def _of_rank(folder: Path, step: int, rank: int) -> Path:
    return Path(folder) / FOLDER / f"step{step:08d}.rank{rank}"


def _drop_ranks_of_no_checkpoint(folder: Path) -> None:
    kept = {path.stem.rpartition("step")[2] for path in all_in(folder)}
    for path in (Path(folder) / FOLDER).glob("step*.rank*"):
        if path.stem.removeprefix("step") not in kept:
            path.unlink(missing_ok=True)


def step_of(path: Path) -> int:
    """Return the global step of a checkpoint's file."""
    return int(path.stem.rpartition("step")[2])


def all_in(folder: Path) -> list[Path]:
    """Return the complete checkpoints of a run's folder, oldest first."""
    return sorted((Path(folder) / FOLDER).glob("epoch*_step*.pt"), key=lambda path: path.stem.rpartition("step")[2])


def load_newest(folder: Path) -> dict[str, Any] | None:
    """Return the newest state of a run's folder, or None; only data is read, no code is run."""
    paths = all_in(folder)
    if not paths:
        return None
    state: dict[str, Any] = torch.load(paths[-1], map_location="cpu", weights_only=True)
    return state


def write_atomically(state: Any, target: Path) -> None:
    """Write with ``torch.save`` under a temporary name, flush to the disk, rename."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def capture(
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    of_update: dict[str, Any],
    progress: Progress,
    rng_seed: int,
    transport: Transport,
) -> dict[str, Any]:
    """Return the state of a training. All ranks call it: buffers (BatchNorm statistics) differ between them.

    Nothing of the random state has to be kept but `rng_seed`: every step seeds itself from it.
    """
    return {
        "format": FORMAT_VERSION,
        "model": module.state_dict(),
        "optimizer": optimizer.state_dict(),
        "update": of_update,
        "rank_buffers": _gather_buffers(module, transport),
        "rng_seed": rng_seed,
        "progress": progress.to_dict(transport),
    }


def restore(
    state: dict[str, Any],
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    rng_seed: int,
    transport: Transport,
) -> Progress:
    """Put back what all ranks share, and return where it stands; update rule and strategy take theirs themselves.

    Raises
    ------
    RunError
        Where the state is of another format or was drawn from another `rng_seed`.
    """
    if state.get("format") != FORMAT_VERSION or state["rng_seed"] != rng_seed:
        got = f"format {state.get('format')} and rng_seed {state.get('rng_seed')}"
        wanted = f"format {FORMAT_VERSION} and rng_seed {rng_seed}"
        raise RunError(f"checkpoint: expected {wanted}; got {got}. Fix: resume the run that wrote it, or launch anew")
    module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    per_rank = state["rank_buffers"]
    if len(per_rank) == transport.world_size:
        unflatten_buffers(module, per_rank[transport.rank])
    return Progress.from_dict(state["progress"], transport.rank)


def float_buffers(module: nn.Module) -> list[Tensor]:
    """Return the buffers that training changes and that hold real numbers: BatchNorm's running statistics."""
    return [buffer for buffer in module.buffers() if buffer.is_floating_point()]


def flatten_buffers(module: nn.Module) -> Tensor:
    """Return a module's real-valued buffers as one float64 vector, in a fixed order."""
    buffers = float_buffers(module)
    if not buffers:
        return torch.zeros(0)
    return torch.cat([buffer.reshape(-1).to(torch.float64) for buffer in buffers])


def unflatten_buffers(module: nn.Module, flat: Tensor) -> None:
    """Put back what :func:`flatten_buffers` returned."""
    offset = 0
    with torch.no_grad():
        for buffer in float_buffers(module):
            values = flat[offset : offset + buffer.numel()]
            buffer.copy_(values.view_as(buffer))
            offset += buffer.numel()


def _gather_buffers(module: nn.Module, transport: Transport) -> list[Tensor]:
    flat = flatten_buffers(module)
    if not len(flat):
        return []
    return transport.all_gather(flat, [len(flat)] * transport.world_size, kind="control")
