"""Everything that is at work while a rank trains, gathered once."""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from workbench.train import checkpoint
from workbench.train.base import (
    STRATEGIES,
    TASKS,
    UPDATES,
    Job,
    KeepsState,
    RankContext,
    StrategyRun,
    Task,
    UpdateRun,
)
from workbench.train.build import build_module, build_optimizer
from workbench.train.exact import Inference, open_inference
from workbench.train.progress import Progress
from workbench.train.recorder import Recorder
from workbench.train.transport import Transport

_OTHER_BITS = (
    "The update rule {} is asynchronous: from step {} on the run goes to the same accuracy as without the break, not "
    "to the same bits."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """The parts of one rank's training. What changes lies inside the parts and in `progress`."""

    context: RankContext
    module: nn.Module
    optimizer: torch.optim.Optimizer
    task: Task
    strategy_run: StrategyRun
    update_run: UpdateRun
    inference: Inference
    recorder: Recorder
    progress: Progress

    @property
    def num_steps(self) -> int:
        """Global steps of the whole run."""
        return self.context.config.epochs * self.strategy_run.steps_per_epoch

    @property
    def tells(self) -> bool:
        """Whether this rank tells what concerns the run as a whole."""
        return self.context.rank == 0

    def settle_bytes(self) -> None:
        """Count what moved outside of steps (evaluation, agreement) for the epoch, so that no step is blamed for it."""
        self.progress.epoch_bytes.update(self.context.transport.take_bytes())
        self.context.transport.take_messages()  # rounds of steps alone are told
        self.progress.epoch_bytes.update(self.recorder.take_bytes())

    def close(self) -> None:
        """Let go of what strategy and update rule hold open."""
        with closing(self.update_run), closing(self.strategy_run):
            pass


def assemble(context: RankContext) -> Engine:
    """Build every part from the configuration, and put a checkpoint back where there is one."""
    config, transport = context.config, context.transport
    recorder = Recorder(context.clock())
    task = TASKS.from_dict(config.task.to_json())
    module = build_module(config, context.graph, context.folder).to(context.device)
    share_weights(module, transport)
    optimizer = build_optimizer(config, module)
    update = UPDATES.from_dict(config.update.to_json())
    update_run = update.open(module, optimizer, transport, recorder)
    with ExitStack() as stack:  # what is open is let go of if something fails on the way
        stack.callback(update_run.close)
        state = context.load_checkpoint()
        progress = Progress()
        if state is not None:
            progress = checkpoint.restore(state, module, optimizer, config.rng_seed, transport)
        strategy_run, inference = _open_strategy(context, module, task, recorder)
        stack.callback(strategy_run.close)
        if state is not None:
            _continue(context, state["update"], update_run, strategy_run, progress.step)
            if not update.is_reproducible and context.rank == 0:
                text = _OTHER_BITS.format(UPDATES.name_of(update), progress.step)
                context.emit("log_written", level="info", text=text)
        stack.pop_all()
    return Engine(
        context=context,
        module=module,
        optimizer=optimizer,
        task=task,
        strategy_run=strategy_run,
        update_run=update_run,
        inference=inference,
        recorder=recorder,
        progress=progress,
    )


def _open_strategy(
    context: RankContext, module: nn.Module, task: Task, recorder: Recorder
) -> tuple[StrategyRun, Inference]:
    job = Job(context=context, module=module, task=task, recorder=recorder)
    run = STRATEGIES.from_dict(context.config.strategy.to_json()).open(job)
    own: Inference | None = getattr(run, "inference", None)  # of a strategy that holds the graph its own way
    return run, own or open_inference(context, module, job.graph)


def _continue(
    context: RankContext, of_update: dict[str, Any], update_run: UpdateRun, strategy_run: StrategyRun, step: int
) -> None:
    """Give back to update rule and strategy what they held at a checkpoint."""
    keeps = isinstance(strategy_run, KeepsState)
    own = checkpoint.load_of_rank(context.folder, step, context.rank) if keeps or update_run.is_by_rank else {}
    update_run.load_state_dict(own["update"] if update_run.is_by_rank else of_update)
    if isinstance(strategy_run, KeepsState):
        strategy_run.load_state_dict(own["strategy"])


def share_weights(module: nn.Module, transport: Transport) -> None:
    """Let all ranks begin with the weights of rank 0, and none begin before all are there."""
    for tensor in (*module.parameters(), *module.buffers()):
        transport.broadcast(tensor.data, kind="broadcast")
    transport.barrier()


def capture(engine: Engine) -> dict[str, Any]:
    """Return the state of an engine; all ranks call it. What a rank alone holds, it writes by itself, before."""
    context, update_run, strategy_run = engine.context, engine.update_run, engine.strategy_run
    of_update = update_run.state_dict()
    own: dict[str, Any] = {"update": of_update} if update_run.is_by_rank else {}
    if isinstance(strategy_run, KeepsState):
        own["strategy"] = strategy_run.state_dict()
    if own:
        checkpoint.save_of_rank(context.folder, own, engine.progress.step, context.rank)
    return checkpoint.capture(
        engine.module,
        engine.optimizer,
        {} if update_run.is_by_rank else of_update,
        engine.progress,
        context.config.rng_seed,
        context.transport,
    )
