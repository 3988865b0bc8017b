"""One global step on one rank: forward, backward, update, and what is told about it."""

from __future__ import annotations

import math

from torch import Tensor, nn

from workbench.core.errors import RunError
from workbench.core.phases import Phase
from workbench.train.base import StepTotals, StepWork
from workbench.train.engine import Engine
from workbench.train.seeding import seed_step

_ADVICE = "a smaller lr=, features without huge values (wb.doctor(graph)), no log(0) or division by zero in the model"


def take_step(engine: Engine, work: StepWork, vote: float) -> float:
    """Train on one rank's share of a global step, and return the sum of all ranks' votes.

    Raises
    ------
    RunError
        Where a loss is no finite number: on every rank, at the same step.
    """
    context, progress = engine.context, engine.progress
    seed_step(context.config.rng_seed, work.epoch, work.step, context.rank)
    engine.module.train()
    engine.optimizer.zero_grad(set_to_none=True)
    loss_sum = _gradients(engine, work) if work.num_seeds or work.joins else 0.0
    totals = engine.update_run.apply(loss_sum, work.num_seeds, vote)
    if not math.isfinite(totals.loss_sum):
        raise RunError(_not_finite(engine, work, loss_sum))
    progress.step = work.step
    _tell(engine, work, loss_sum)
    return take_in(engine, totals)


def take_in(engine: Engine, totals: StepTotals) -> float:
    """Add the sums of all ranks to the epoch's, and return their votes.

    Raises
    ------
    RunError
        Where a loss of the steps that have come together is no finite number.
    """
    if not math.isfinite(totals.loss_sum):
        raise RunError(
            f"loss: expected a finite number; got {totals.loss_sum} in epoch {engine.progress.epoch}, by step "
            f"{engine.progress.step}, on some rank. Fix: {_ADVICE}"
        )
    engine.progress.loss_sum += totals.loss_sum
    engine.progress.num_seeds += totals.num_seeds
    return totals.vote


def _gradients(engine: Engine, work: StepWork) -> float:
    """Leave the gradient of the summed loss in the parameters; return the sum."""
    with engine.recorder.span(Phase.FORWARD):
        outputs = work.forward(engine.module)
        _check_outputs(outputs, work, engine.module)
        loss = engine.task.loss_sum(outputs, work.targets, work.weights)
    with engine.recorder.span(Phase.BACKWARD):
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.item()


def _check_outputs(outputs: Tensor, work: StepWork, module: nn.Module) -> None:
    num_rows = len(work.targets)
    if outputs.ndim != 2 or outputs.shape[0] != num_rows:
        raise RunError(
            f"model {type(module).__name__}: expected an output of shape (num_nodes, classes); got "
            f"{tuple(outputs.shape)} for {num_rows} seeds. Fix: return one row a node (or a graph) from forward"
        )


def _not_finite(engine: Engine, work: StepWork, loss_sum: float) -> str:
    batch = (work.step - 1) % engine.strategy_run.steps_per_epoch + 1
    own = not math.isfinite(loss_sum)
    rule, others = engine.update_run, "on another rank"
    if rule.is_by_rank or rule.control_every > 1:
        others += ", or in an earlier step since ranks last met"
    where = f"rank {engine.context.rank}, {work.num_seeds} seeds" if own else others
    return (
        f"loss: expected a finite number; got {loss_sum if own else 'none'} in epoch {work.epoch}, step {work.step}, "
        f"batch {batch} of the epoch ({where}). Fix: {_ADVICE}"
    )


def _tell(engine: Engine, work: StepWork, loss_sum: float) -> None:
    context, recorder, delivery = engine.context, engine.recorder, work.delivery
    recorder.count_all(work.bytes_by_kind)
    recorder.count_all(context.transport.take_bytes())
    moved = recorder.take_bytes()
    engine.progress.epoch_bytes.update(moved)
    if delivery is not None:
        context.emit(
            "batch_sampled",
            sampler=delivery.sampler,
            step=work.step,
            spans=[span.to_json() for span in delivery.spans],
            pid=delivery.pid,
        )
    if (news := recorder.news_of_messages(context.transport.take_messages())) is not None:
        context.emit("messages_counted", step=work.step, **news)
    for reading in recorder.take_readings():
        context.emit("staleness_measured", step=work.step, **reading)
    context.emit(
        "step_finished",
        epoch=work.epoch,
        step=work.step,
        num_seeds=work.num_seeds,
        loss=loss_sum / work.num_seeds if work.num_seeds else None,
        num_nodes=work.num_nodes,
        num_edges=work.num_edges,
        spans=[span.to_json() for span in recorder.take_spans()],
        bytes=moved,
        ring_filled=delivery.ring_filled if delivery else None,
        ring_slots=delivery.ring_slots if delivery else None,
    )
