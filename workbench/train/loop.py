"""The training of one rank, from the first step to the final model."""

from __future__ import annotations

import time
from contextlib import closing

import numpy as np
import torch

from workbench.core.control import Control
from workbench.core.phases import Phase
from workbench.train import checkpoint
from workbench.train.base import Outcome, RankContext
from workbench.train.batch_norm import lone_rows_normalised
from workbench.train.build import MODEL_WEIGHTS
from workbench.train.engine import Engine, assemble, capture
from workbench.train.evaluate import Evaluation, evaluate, mean_statistics
from workbench.train.predicted import predict_traffic
from workbench.train.step import take_in, take_step

CHECKPOINT_AT_LEAST_EVERY_S = 60.0
_PAUSED_POLL_S = 0.05
PREDICTIONS = "predictions.npy"


def train_rank(context: RankContext) -> Outcome:
    """Train on one rank: every rank of a gang calls it, with the same configuration.

    Continues from ``context.load_checkpoint()`` where there is one; the result is that of the undisturbed run, bit
    for bit on a CPU. Between two steps it obeys ``context.poll_control``. At the end rank 0 writes ``model.pt``
    (the weights) and ``predictions.npy`` (the exact outputs, float32 (num_nodes, columns)) into the run's folder.

    Parameters
    ----------
    context : RankContext
        What the rank is given by its host.

    Returns
    -------
    Outcome
        Whether all epochs were done or the run was stopped, and where.

    Raises
    ------
    RunError
        Where a loss is no finite number, on all ranks at the same step.
    """
    engine = assemble(context)
    context.transport.take_bytes()  # what moved to get ready belongs to no step
    context.transport.take_messages()
    with closing(engine), lone_rows_normalised(engine.module):
        _tell_start(engine)
        stopped, last = _run_epochs(engine)
        if not stopped:
            _conclude(engine, last or evaluate(engine, keep_outputs=True))
    status = "stopped" if stopped else "finished"
    return Outcome(status=status, step=engine.progress.step, elapsed_s=engine.progress.elapsed())  # type: ignore[arg-type]


def _tell_start(engine: Engine) -> None:
    if engine.tells:
        context = engine.context
        context.emit(
            "train_started",
            num_epochs=context.config.epochs,
            steps_per_epoch=engine.strategy_run.steps_per_epoch,
            num_train_nodes=engine.task.num_examples(context.graph),
            unit=engine.task.unit,
            metric=engine.task.metric,
            lower_is_better=sorted(engine.task.lower_is_better),
            num_parameters=sum(parameter.numel() for parameter in engine.module.parameters()),
        )
        predicted, formulas = predict_traffic(context.config, engine.module)
        if predicted:
            context.emit("traffic_predicted", bytes=predicted, formulas=formulas)


def _run_epochs(engine: Engine) -> tuple[bool, Evaluation | None]:
    """Take every step that is left; return whether the run was stopped, and the last evaluation if it was exact."""
    context, progress = engine.context, engine.progress
    works = engine.strategy_run.works(progress.epoch, progress.step + 1)
    last_saved_s, evaluation = time.perf_counter(), None
    while progress.step < engine.num_steps:
        if progress.step % engine.update_run.control_every == 0 and _obey(
            engine, context.poll_control(progress.step + 1)
        ):
            return True, None
        work = next(works)
        # Rank 0's clock decides when a checkpoint is due; its vote reaches all ranks with the step's totals.
        due = engine.tells and time.perf_counter() - last_saved_s > CHECKPOINT_AT_LEAST_EVERY_S
        votes = take_step(engine, work, float(due))
        ends_epoch = progress.step % engine.strategy_run.steps_per_epoch == 0
        if ends_epoch:
            votes += take_in(engine, engine.update_run.settle())
            evaluation = _finish_epoch(engine)
        if votes > 0 or (ends_epoch and _checkpoint_is_due(engine)):
            save(engine)
            last_saved_s = time.perf_counter()
    return False, evaluation


def _checkpoint_is_due(engine: Engine) -> bool:
    every, done = engine.context.config.checkpoint_every, engine.progress.epoch - 1
    return done == engine.context.config.epochs or (every > 0 and done % every == 0)


def _finish_epoch(engine: Engine) -> Evaluation | None:
    """Measure and tell an epoch, and begin the next."""
    context, progress = engine.context, engine.progress
    config, epoch = context.config, progress.epoch
    is_last = epoch == config.epochs
    evaluation = None
    if is_last or (config.evaluate_every > 0 and epoch % config.evaluate_every == 0):
        evaluation = evaluate(engine, keep_outputs=is_last)
    engine.settle_bytes()
    moved = progress.bytes_of_all_ranks(context.transport)
    if engine.tells:
        context.emit(
            "epoch_finished",
            epoch=epoch,
            step=progress.step,
            elapsed_s=progress.elapsed(),
            train_loss=progress.loss_sum / progress.num_seeds if progress.num_seeds else None,
            metrics=dict(evaluation.metrics) if evaluation else {},
            evaluate_s=evaluation.elapsed_s if evaluation else 0.0,
            bytes=moved,
        )
    progress.begin_next_epoch()
    engine.settle_bytes()
    return evaluation


def save(engine: Engine) -> None:
    """Write a checkpoint; all ranks call it."""
    context, step = engine.context, engine.progress.step
    epoch = -(-step // engine.strategy_run.steps_per_epoch)  # the one that the last step belongs to
    with engine.recorder.span(Phase.CHECKPOINT), engine.update_run.settled():
        state = capture(engine)
        engine.settle_bytes()
        if not engine.tells:
            return
        path = context.save_checkpoint(state, epoch, step)
    context.emit(
        "checkpoint_saved",
        path=str(path.relative_to(context.folder)) if path.is_absolute() else str(path),
        epoch=epoch,
        step=step,
        num_bytes=(context.folder / path).stat().st_size,
    )


def _obey(engine: Engine, control: Control | None) -> bool:
    """Do what was asked for between two steps; return whether to stop. All ranks see the same commands."""
    started_s, paused = time.perf_counter(), False
    while control is not None or paused:
        kind = control.kind if control else None
        if kind in ("checkpoint", "stop"):
            save(engine)
        if kind == "stop":
            return True
        if kind in ("pause", "resume") and paused != (kind == "pause"):
            paused = not paused
            if engine.tells:
                engine.context.emit("run_paused" if paused else "run_resumed", step=engine.progress.step)
        if not paused:
            break
        time.sleep(_PAUSED_POLL_S)
        control = engine.context.poll_control(engine.progress.step + 1)
    if control is not None and control.kind == "resume":
        engine.progress.leave_out(time.perf_counter() - started_s)
    return False


def _conclude(engine: Engine, evaluation: Evaluation) -> None:
    """Leave the final model, as it was evaluated, and its exact outputs in the run's folder."""
    folder = engine.context.folder
    with engine.update_run.settled(), mean_statistics(engine.module, engine.context.transport):
        if not engine.tells:
            return
        weights = {name: tensor.cpu() for name, tensor in engine.module.state_dict().items()}
        checkpoint.write_atomically(weights, folder / MODEL_WEIGHTS)
    assert evaluation.outputs is not None, "the last evaluation keeps its outputs"
    temporary = folder / f".{PREDICTIONS}.tmp"
    with temporary.open("wb") as file:
        np.save(file, evaluation.outputs.to(torch.float32).numpy())
    temporary.replace(folder / PREDICTIONS)
