"""Everything that is at work while a rank trains, gathered once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from workbench.train import checkpoint
from workbench.train.base import STRATEGIES, TASKS, UPDATES, Job, RankContext, StrategyRun, Task, UpdateRun
from workbench.train.build import build_module, build_optimizer
from workbench.train.exact import Inference, open_inference
from workbench.train.progress import Progress
from workbench.train.recorder import Recorder
from workbench.train.transport import Transport


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


def assemble(context: RankContext) -> Engine:
    """Build every part from the configuration, and put a checkpoint back where there is one."""
    config, transport = context.config, context.transport
    recorder = Recorder(context.clock())
    task = TASKS.from_dict(config.task.to_json())
    module = build_module(config, context.graph, context.folder).to(context.device)
    share_weights(module, transport)
    optimizer = build_optimizer(config, module)
    update_run = UPDATES.from_dict(config.update.to_json()).open(module, optimizer, transport, recorder)
    state = context.load_checkpoint()
    progress = Progress()
    if state is not None:
        progress = checkpoint.restore(state, module, optimizer, update_run, config.rng_seed, transport)
    job = Job(context=context, module=module, task=task, recorder=recorder)
    strategy_run = STRATEGIES.from_dict(config.strategy.to_json()).open(job)
    own_inference = getattr(strategy_run, "inference", None)  # of a strategy that holds the graph its own way
    return Engine(
        context=context,
        module=module,
        optimizer=optimizer,
        task=task,
        strategy_run=strategy_run,
        update_run=update_run,
        inference=own_inference or open_inference(context, module, job.graph),
        recorder=recorder,
        progress=progress,
    )


def share_weights(module: nn.Module, transport: Transport) -> None:
    """Let all ranks begin with the weights of rank 0, and none begin before all are there."""
    for tensor in (*module.parameters(), *module.buffers()):
        transport.broadcast(tensor.data, kind="broadcast")
    transport.barrier()


def capture(engine: Engine) -> dict[str, Any]:
    """Return the state of an engine; all ranks call it."""
    return checkpoint.capture(
        engine.module,
        engine.optimizer,
        engine.update_run,
        engine.progress,
        engine.context.config.rng_seed,
        engine.context.transport,
    )
