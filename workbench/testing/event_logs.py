"""Event logs of runs that never were, for tests and pictures of the dashboard: healthy, straggling, failing, stopped.

Each is what the ranks, samplers and the run manager of such a run would tell, in their order and with their fields;
everything follows from `rng_seed`. Nothing here is a measurement.
"""

from __future__ import annotations

import dataclasses

from workbench.core.events import Event
from workbench.testing.event_log_writer import GIB, START_S, EventLog, Scenario

__all__ = ["GIB", "EventLog", "Scenario", "failed", "failure_with_restart", "healthy", "stopped", "straggler"]


def healthy(scenario: Scenario | None = None, *, last_step: int | None = None) -> list[Event]:
    """Return a run in which nothing goes wrong; with `last_step` it is still at work after that step."""
    log = EventLog(scenario or Scenario())
    log.create()
    log.start()
    num_steps = log.scenario.epochs * log.scenario.steps_per_epoch
    log.steps(1, min(last_step or num_steps, num_steps))
    if last_step is None or last_step >= num_steps:
        log.tell("run_finished", step=num_steps, elapsed_s=log.time_s - START_S)
    return log.events


def straggler(*, last_step: int = 92, rank: int = 1) -> list[Event]:
    """Return a run at work in which one rank's sampler becomes three times slower from step 71 on."""
    log = EventLog(Scenario())
    log.create()
    log.start()
    log.steps(1, 70)
    log.tell("sampler_lost", of=rank, sampler=rank, reissued=1, cause="killed at its memory limit")
    log.tell("sampler_started", of=rank, sampler=rank, worker="sampler-0", pid=5077)
    log.scenario = dataclasses.replace(log.scenario, slow_supply={rank: 3.2})
    log.steps(71, last_step)
    return log.events


def failure_with_restart(*, until: str = "finished") -> list[Event]:
    """Return a run that loses rank 1 in step 92 and continues from the checkpoint of step 80.

    `until` is "lost" (the ranks start again), or "finished".
    """
    log = EventLog(Scenario())
    log.create()
    log.start()
    log.steps(1, 91)
    log.measure("trainer", 1, int(3.9 * GIB), 4 * GIB)
    log.steps(92, 92, told_by=[0])
    log.time_s += 3.0
    cause = "the process of rank 1 ended by signal 9"
    host = "127.0.0.1 (worker trainer-1)"
    log.tell("rank_failed", of=1, host=host, part=1, cause=cause, traceback="", log_tail="step 91 done\n")
    log.tell("run_restarting", attempt=1, from_step=80, cause=cause)
    log.generation = 1
    if until == "lost":
        workers = [{"rank": r, "worker": f"trainer-{r}", "host": "127.0.0.1"} for r in range(2)]
        log.time_s += 0.4
        log.tell("gang_starting", workers=workers, resume_step=80)
        log.tell(
            "rank_ready", of=0, pid=4010, host="127.0.0.1", worker="trainer-0", part=0, device="cpu", num_threads=1
        )
        return log.events
    log.start(resume_step=80)
    log.steps(81, 160)
    log.tell("run_finished", step=160, elapsed_s=log.time_s - START_S)
    return log.events


def stopped(*, last_step: int = 47) -> list[Event]:
    """Return a run that a person stopped."""
    events = healthy(last_step=last_step)
    log = EventLog(Scenario())
    log.events, log.time_s = events, events[-1].time_s
    log.tell("run_stopping", by="user")
    log.checkpoint(last_step)
    log.tell("run_stopped", step=last_step)
    return log.events


def failed(*, last_step: int = 12) -> list[Event]:
    """Return a run that ends with an error of the user's model."""
    events = healthy(last_step=last_step)
    log = EventLog(Scenario())
    log.events, log.time_s = events, events[-1].time_s + 0.5
    cause = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (1024x512 and 256x58)"
    trace = (
        'Traceback (most recent call last):\n  File "model.py", line 12, in forward\n    return self.lin(x)\n' + cause
    )
    host = "127.0.0.1 (worker trainer-0)"
    log.tell("rank_failed", of=0, host=host, part=0, cause=cause, traceback=trace, log_tail="")
    log.tell("run_failed", cause=cause, rank=0, step=last_step)
    return log.events
