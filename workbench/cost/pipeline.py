"""Makespans of pipelines inside and across layers, by a simulation of who waits for whom.

Every layer of a GNN has three stages: the graph operation (messages), the neural operation (the linear maps) and the
non-linearity. Partitions of the graph go through them one after another, on one unit a layer and stage. Inside a layer
(micro) the neural stage of a partition waits for the graph stage of all of them, or of itself alone; across layers
(macro) the next layer waits for all of the layer before, or for the partition itself, whose neighbours are then read
as they were (L_remote >= 2).

Source: Besta & Hoefler, "Parallel and Distributed Graph Neural Networks", arXiv 2205.09702, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.core.errors import Findings
from workbench.core.given import note_whole

STAGES = ("graph", "neural", "nonlinear")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One partition (or micro-batch) in one stage of one layer, counted from 0; times in the unit of those given."""

    layer: int
    stage: str
    partition: int
    start: float
    end: float


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When every task begins and ends in a simulated pipeline."""

    tasks: tuple[Task, ...]

    @cached_property
    def makespan(self) -> float:
        """The end of the last task: simulated, not measured."""
        return max((task.end for task in self.tasks), default=0.0)

    @cached_property
    def bubble(self) -> float:
        """The share of the units' time, until all are done, in which they have nothing to do."""
        units = {(task.layer, task.stage) for task in self.tasks}
        busy = sum(task.end - task.start for task in self.tasks)
        return 1.0 - busy / (len(units) * self.makespan) if self.makespan else 0.0

    def __str__(self) -> str:
        """Return e.g. ``simulated makespan 10.58 (bubble 62%), 18 tasks``."""
        return f"simulated makespan {self.makespan:.4g} (bubble {self.bubble:.0%}), {len(self.tasks)} tasks"


def simulate_layers(
    *,
    num_partitions: int,
    num_layers: int,
    graph: float,
    neural: float,
    nonlinear: float,
    waits_inside: bool = True,
    waits_across: bool = True,
) -> Schedule:
    """Return the schedule of partitions through the stages of a model's layers.

    With g >= n >= a the times of the stages, P partitions and L layers the makespan is ``L (P g + P n + a)`` where both
    wait, ``L (P g + n + a)`` where only layers do, and ``L (g + n + a) + (P - 1) max(g, n, a)`` where none does.

    Parameters
    ----------
    num_partitions, num_layers : int
        At least 1.
    graph, neural, nonlinear : float
        Time of one partition in each stage, any unit.
    waits_inside : bool
        Whether the neural stage waits for the graph stage of all partitions (synchronous micro pipeline).
    waits_across : bool
        Whether a layer waits for all partitions of the layer before (synchronous macro pipeline).

    Raises
    ------
    InputError
        With every number that is out of range.
    """
    times = {"graph": graph, "neural": neural, "nonlinear": nonlinear}
    _check({"num_partitions": num_partitions, "num_layers": num_layers}, times)

    def waits_for_all(layer: int, stage: str) -> bool:
        return (stage == "graph" and waits_across) or (stage == "neural" and waits_inside)

    columns = [(layer, stage, times[stage]) for layer in range(num_layers) for stage in STAGES]
    return _run(columns, num_partitions, waits_for_all)


def simulate_stages(stage_times: Sequence[float], *, num_micro_batches: int) -> Schedule:
    """Return the schedule of micro-batches through a classic pipeline, one unit a stage.

    The makespan is ``sum t_s + (M - 1) max t_s``: ``(S + M - 1) t`` for equal stages.

    Parameters
    ----------
    stage_times : sequence of float (S)
        Time of one micro-batch in each stage, any unit.
    num_micro_batches : int
        M, at least 1.
    """
    names = {f"stage_times[{i}]": time for i, time in enumerate(stage_times)}
    _check({"num_micro_batches": num_micro_batches, "len(stage_times)": len(stage_times)}, names)
    columns = [(layer, "stage", float(time)) for layer, time in enumerate(stage_times)]
    return _run(columns, num_micro_batches, lambda layer, stage: False)


def bubble(num_stages: int, num_micro_batches: int) -> float:
    """Return ``(S - 1) / (M + S - 1)``, the idle share of a classic pipeline of equal stages."""
    _check({"num_stages": num_stages, "num_micro_batches": num_micro_batches}, {})
    return (num_stages - 1) / (num_micro_batches + num_stages - 1)


def _run(
    columns: Sequence[tuple[int, str, float]], num_partitions: int, waits_for_all: Callable[[int, str], bool]
) -> Schedule:
    """Send partitions through units in order: each begins when its unit is free and what it reads is there."""
    tasks: list[Task] = []
    ready = [0.0] * num_partitions  # when each partition has left the unit before
    for layer, stage, time in columns:
        begin = [max(ready)] * num_partitions if waits_for_all(layer, stage) else ready
        free, ends = 0.0, []
        for partition, earliest in enumerate(begin):
            start = max(free, earliest)
            free = start + time
            ends.append(free)
            tasks.append(Task(layer=layer, stage=stage, partition=partition, start=start, end=free))
        ready = ends
    return Schedule(tasks=tuple(tasks))


def _check(counts: Mapping[str, int], times: Mapping[str, float]) -> None:
    findings = Findings("pipeline")
    note_whole(findings, 1, **counts)
    for name, time in times.items():
        is_number = isinstance(time, int | float) and not isinstance(time, bool)
        if not is_number or not math.isfinite(time) or time < 0:
            findings.add(name, "a time of at least 0", repr(time), f"pass {name} in one unit with the others")
    findings.raise_if_any()
