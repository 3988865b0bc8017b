"""Exact metrics of a model: inference over the whole graph in evaluation mode, by all ranks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from workbench.core.errors import RunError
from workbench.core.phases import Phase
from workbench.train.checkpoint import flatten_buffers, unflatten_buffers
from workbench.train.engine import Engine
from workbench.train.transport import Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What exact inference found.

    Parameters
    ----------
    metrics : mapping
        ``{"val_<metric>": ..., "test_<metric>": ...}``, as the task names them; a split without a known target is
        left out.
    elapsed_s : float
        Seconds that it took.
    outputs : Tensor, optional
        (num_nodes, out_channels), on the CPU, where they were asked for; one row a graph where graphs are classified.
    """

    metrics: Mapping[str, float]
    elapsed_s: float
    outputs: Tensor | None = None


def evaluate(engine: Engine, *, keep_outputs: bool = False) -> Evaluation:
    """Measure the model on what validates and tests by exact inference; all ranks call it."""
    started_s = time.perf_counter()
    context, task = engine.context, engine.task
    span, settled = engine.recorder.span(Phase.EVALUATE), engine.update_run.settled()
    with span, settled, _inference(engine.module, context.transport):
        rows = engine.inference.run(engine.module, _checked(_all_of_it if keep_outputs else task.summarise, engine))
        summaries = task.summarise(rows) if keep_outputs else rows
        metrics = task.metrics(summaries, context.graph, engine.module, context.transport)
    elapsed_s = time.perf_counter() - started_s
    return Evaluation(metrics=metrics, elapsed_s=elapsed_s, outputs=rows if keep_outputs else None)


def _all_of_it(outputs: Tensor) -> Tensor:
    return outputs


def _checked(then: Callable[[Tensor], Tensor], engine: Engine) -> Callable[[Tensor], Tensor]:
    """Return `then` behind a check: a diverged model has classes too (the largest of NaN), and they mean nothing."""

    def look(outputs: Tensor) -> Tensor:
        finite = torch.isfinite(outputs)
        if not bool(finite.all()):
            raise RunError(
                f"model {type(engine.module).__name__}: expected finite outputs; got {int((~finite).sum())} of "
                f"{finite.numel()} NaN or infinite in evaluation after step {engine.progress.step} (rank "
                f"{engine.context.rank}). Fix: a smaller lr=, or start again from an earlier checkpoint"
            )
        return then(outputs)

    return look


@contextmanager
def _inference(module: nn.Module, transport: Transport) -> Iterator[None]:
    """Put a module into evaluation mode with the mean of all ranks' BatchNorm statistics; then put it back."""
    was_training = module.training
    module.eval()
    try:
        with mean_statistics(module, transport), torch.inference_mode():
            yield
    finally:
        module.train(was_training)


@contextmanager
def mean_statistics(module: nn.Module, transport: Transport) -> Iterator[None]:
    """Give a module the mean of all ranks' BatchNorm statistics, then its own again; all ranks call it."""
    own = flatten_buffers(module)
    if len(own):
        mean = own.clone()
        transport.all_reduce(mean, kind="evaluate")
        unflatten_buffers(module, mean / transport.world_size)
    try:
        yield
    finally:
        unflatten_buffers(module, own)
