"""Tells the events of an invented run one after the other: what event_logs.py makes its logs with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from workbench.core.config import Choice, GraphRef, RunConfig
from workbench.core.events import EVENT_KINDS, RUN, Event

START_S = 1_750_000_000.0
GIB = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A run to tell of; times are seconds of one step of one rank.

    ``slow_supply`` multiplies the time in which a rank's batches are made, ``slow_compute`` its arithmetic;
    ``spike_step`` has a loss of 50.
    """

    trainers: int = 2
    samplers: int = 2
    epochs: int = 8
    steps_per_epoch: int = 20
    batch_size: int = 1024
    num_train_nodes: int = 40_960
    sample_s: float = 0.25
    gather_s: float = 0.10
    forward_s: float = 0.21
    backward_s: float = 0.39
    all_reduce_s: float = 0.046
    slow_supply: Mapping[int, float] = field(default_factory=dict)
    slow_compute: Mapping[int, float] = field(default_factory=dict)
    spike_step: int = 0
    memory_limit_bytes: int | None = 4 * GIB
    evaluate_s: float = 1.3
    ring_slots: int = 4
    rng_seed: int = 0


def config_of(scenario: Scenario) -> RunConfig:
    """Return the configuration of the run."""
    graph = GraphRef(
        folder="graphs/debian",
        name="debian",
        fingerprint="0" * 32,
        num_nodes=63_436,
        num_edges=670_836,
        num_features=512,
        num_classes=58,
    )
    sampler = {"name": "neighbor", "params": {"fanouts": [15, 10]}}
    return RunConfig(
        graph=graph,
        model=Choice(name="sage", params={"hidden_channels": 256}),
        strategy=Choice(name="mini_batch", params={"batch_size": scenario.batch_size, "sampler": sampler}),
        update=Choice(name="all_reduce"),
        task=Choice(name="node_classification"),
        epochs=scenario.epochs,
        trainers=scenario.trainers,
        samplers=scenario.samplers,
        name="debian-sage",
    )


class EventLog:
    """Tells events one after the other, with their sequence numbers."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.events: list[Event] = []
        self.time_s = START_S
        self.generation = 0
        self._rng = np.random.default_rng(scenario.rng_seed)
        self._supply_free_s = [0.0] * scenario.trainers
        self._epoch_losses: list[float] = []
        self._rank_free_s = [0.0] * scenario.trainers
        self._between: list[list[Any]] = []  # spans of evaluation and checkpoint, told with the step that follows

    def tell(self, kind: str, *, of: int = RUN, time_s: float | None = None, **data: Any) -> None:
        """Append an event of a rank (`of`) or of the run; its fields must be those of its kind."""
        assert set(data) == set(EVENT_KINDS[kind].fields), (kind, set(data) ^ set(EVENT_KINDS[kind].fields))
        at = self.time_s if time_s is None else time_s
        told = Event(kind=kind, time_s=at, seq=len(self.events) + 1, generation=self.generation, rank=of, data=data)
        self.events.append(told)

    def create(self) -> None:
        """Tell that the run was accepted."""
        config = config_of(self.scenario)
        trainers, samplers = self.scenario.trainers, self.scenario.samplers
        summary = (
            f"sage · mini_batch · neighbor (15, 10) · batch {self.scenario.batch_size:,} · "
            f"{trainers} trainer{'s' * (trainers != 1)} · {samplers} sampler{'s' * (samplers != 1)}"
        )
        self.tell("run_created", config=config.to_json(), summary=summary)

    def start(self, resume_step: int = 0) -> None:
        """Tell of a gang from its start to the first step."""
        scenario = self.scenario
        self.time_s += 0.2
        workers = [{"rank": r, "worker": f"trainer-{r}", "host": "127.0.0.1"} for r in range(scenario.trainers)]
        self.tell("gang_starting", workers=workers, resume_step=resume_step)
        for rank in range(scenario.trainers):
            self.time_s += 0.9
            self.tell(
                "rank_ready",
                of=rank,
                pid=4000 + 10 * self.generation + rank,
                host="127.0.0.1",
                worker=f"trainer-{rank}",
                part=rank,
                device="cpu",
                num_threads=1,
            )
        self.tell("run_started", start_s=self.time_s - START_S)
        for sampler in range(scenario.samplers):
            self.tell(
                "sampler_started",
                of=sampler % scenario.trainers,
                sampler=sampler,
                worker="sampler-0",
                pid=5000 + sampler,
            )
        self.tell(
            "train_started",
            of=0,
            num_epochs=scenario.epochs,
            steps_per_epoch=scenario.steps_per_epoch,
            num_train_nodes=scenario.num_train_nodes,
            unit="node",
            metric="accuracy",
            lower_is_better=[],
            num_parameters=292_154,
        )
        self._supply_free_s = [self.time_s] * scenario.trainers
        self._rank_free_s = [self.time_s] * scenario.trainers
        self._between = []

    def steps(self, first: int, last: int, *, told_by: Iterable[int] | None = None) -> None:
        """Tell of steps, with the ends of their epochs; `told_by` names the ranks that still tell."""
        ranks = list(range(self.scenario.trainers)) if told_by is None else list(told_by)
        for step in range(first, last + 1):
            self._step(step, ranks)
            if step % self.scenario.steps_per_epoch == 0 and told_by is None:
                self._end_epoch(step)
            if step % 5 == 0:
                self._resources()

    def _step(self, step: int, ranks: list[int]) -> None:
        plans = [self._plan(rank) for rank in range(self.scenario.trainers)]
        arrive_s = max(plan["ready_s"] for plan in plans)
        epoch = (step - 1) // self.scenario.steps_per_epoch + 1
        for rank in ranks:
            plan = plans[rank]
            end_s = arrive_s + self.scenario.all_reduce_s + 0.004
            self.tell(
                "batch_sampled",
                of=rank,
                time_s=end_s,
                sampler=rank % self.scenario.samplers if self.scenario.samplers else -1,
                step=step,
                spans=plan["supply"],
                pid=5000 + rank,
            )
            spans = [
                *self._between,
                *plan["spans"],
                ["wait_for_rank", plan["ready_s"], arrive_s - plan["ready_s"]],
                ["all_reduce", arrive_s, self.scenario.all_reduce_s],
                ["update", arrive_s + self.scenario.all_reduce_s, 0.004],
            ]
            self._tell_step(rank, step, epoch, spans, end_s)
            self._rank_free_s[rank] = end_s
        self.time_s = arrive_s + self.scenario.all_reduce_s + 0.004
        self._between = []

    def _plan(self, rank: int) -> dict[str, Any]:
        """Return what a rank does until it is ready for the sum over ranks; its next batch is made meanwhile."""
        s = self.scenario
        slow, heavy = s.slow_supply.get(rank, 1.0), s.slow_compute.get(rank, 1.0)
        sample_s, gather_s = (self._jitter(t * slow) for t in (s.sample_s, s.gather_s))
        begin_s = self._supply_free_s[rank]
        made_s = begin_s + sample_s + gather_s
        at = self._rank_free_s[rank]
        taken_s = max(at, made_s)
        self._supply_free_s[rank] = max(made_s, at)
        forward_s, backward_s = (self._jitter(t * heavy) for t in (s.forward_s, s.backward_s))
        spans = [
            ["wait_for_batch", at, taken_s - at],
            ["transfer", taken_s, 0.02],
            ["forward", taken_s + 0.02, forward_s],
            ["backward", taken_s + 0.02 + forward_s, backward_s],
        ]
        supply = [["sample", begin_s, sample_s], ["gather", begin_s + sample_s, gather_s]]
        return {"spans": spans, "supply": supply, "ready_s": taken_s + 0.02 + forward_s + backward_s}

    def _tell_step(self, rank: int, step: int, epoch: int, spans: list[Any], end_s: float) -> None:
        scenario = self.scenario
        loss = 0.55 + 2.6 * np.exp(-step / 10) + 0.9 * np.exp(-step / 80) + self._rng.normal(0, 0.03)
        loss = 50.0 if step == scenario.spike_step else float(loss)
        self._epoch_losses.append(loss)
        waited = any(phase == "wait_for_batch" and length > 0.02 for phase, _, length in spans)
        nodes = int(self._jitter(30_000))
        moved = {"gather": nodes * 2048, "all_reduce": 292_154 * 4, "all_reduce_modelled": 292_154 * 4, "control": 24}
        self.tell(
            "step_finished",
            of=rank,
            time_s=end_s,
            epoch=epoch,
            step=step,
            num_seeds=scenario.batch_size,
            loss=loss,
            num_nodes=nodes,
            num_edges=int(nodes * 3.4 * scenario.slow_compute.get(rank, 1.0)),
            spans=spans,
            bytes=moved,
            ring_filled=0 if waited else scenario.ring_slots - 1,
            ring_slots=scenario.ring_slots,
        )

    def _end_epoch(self, step: int) -> None:
        scenario, epoch = self.scenario, step // self.scenario.steps_per_epoch
        self._between = [["evaluate", self.time_s, scenario.evaluate_s]]
        self.time_s += scenario.evaluate_s
        accuracy = 0.82 - 0.30 * float(np.exp(-epoch / 1.8))
        self.tell(
            "epoch_finished",
            of=0,
            epoch=epoch,
            step=step,
            elapsed_s=self.time_s - START_S,
            train_loss=float(np.mean(self._epoch_losses)),
            metrics={"val_accuracy": accuracy, "test_accuracy": accuracy - 0.012},
            evaluate_s=scenario.evaluate_s,
            bytes={"gather": 61_440_000 * scenario.steps_per_epoch * scenario.trainers},
        )
        self._epoch_losses = []
        self._between.append(["checkpoint", self.time_s, 0.02])
        self.time_s += 0.02
        self.checkpoint(step)
        self._rank_free_s = [self.time_s] * scenario.trainers

    def checkpoint(self, step: int) -> None:
        """Tell that a checkpoint was saved."""
        epoch = (step - 1) // self.scenario.steps_per_epoch + 1
        self.tell("checkpoint_saved", of=0, path=f"checkpoints/{step}.pt", epoch=epoch, step=step, num_bytes=3_506_000)

    def _resources(self) -> None:
        limit = self.scenario.memory_limit_bytes
        for role, count, base in (("trainer", self.scenario.trainers, 1.4), ("sampler", self.scenario.samplers, 1.1)):
            for index in range(count):
                self.measure(role, index, int(self._jitter(base * GIB)), limit)

    def measure(self, role: str, index: int, rss_bytes: int, limit_bytes: int | None) -> None:
        """Tell the memory and load of a process."""
        self.tell(
            "resources_measured",
            of=index,
            role=role,
            index=index,
            worker=f"{role}-{index}",
            rss_bytes=rss_bytes,
            limit_bytes=limit_bytes,
            cpu_percent=float(self._jitter(70)),
            gpu=None,
        )

    def _jitter(self, value: float) -> float:
        return float(value * (1 + 0.03 * self._rng.uniform(-1, 1)))
