"""Training with histories on one rank: the next batch is read while the model computes this one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.core.phases import Phase
from workbench.gather import STORES
from workbench.train.base import Job, StepWork
from workbench.train.clusters import cluster_sampler
from workbench.train.graph_statistics import GraphStatistics
from workbench.train.history import HistoryRows, Slot
from workbench.train.history_batch import ClusterDeal, HistoryBatch, batch_of
from workbench.train.history_model import HistoryPlan, forward_batch, inputs_of, look_at, pushing
from workbench.train.history_probe import MODES, choose_mode
from workbench.train.history_share import ReadAhead, SharedHistories
from workbench.train.little import little_graph
from workbench.train.strategies.mini_batch import describe
from workbench.train.whole import as_tensor

if TYPE_CHECKING:
    from workbench.train.base import RankContext
    from workbench.train.strategies.historical import Historical

FOLDER = "histories"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A batch with what was read for it ahead of its step."""

    epoch: int
    step: int
    batch: HistoryBatch
    x: NDArray[np.float32]
    ahead: ReadAhead


class HistoryRun:
    """The strategy at work on one rank.

    Parameters
    ----------
    strategy : Historical
    job : Job
    """

    def __init__(self, strategy: Historical, job: Job) -> None:
        context, graph = job.context, job.graph
        self._job, self._graph = job, graph
        self._dtype = next((p.dtype for p in job.module.parameters()), torch.float32)
        self._store = STORES.from_dict(describe(STORES, strategy.store)).open(graph)
        self._statistics = GraphStatistics(graph, context.device)
        self._plan = plan_of(context, job.module, self._dtype)
        sampler = cluster_sampler(strategy, context.world_size)
        owned = sampler.owned(graph, graph.train_nodes)
        self._deal = ClusterDeal(
            sampler.clusters(graph), owned, strategy.clusters_per_batch, context.rank, context.config.rng_seed
        )
        self.steps_per_epoch = self._deal.steps_per_epoch
        num_own, folder = int((self._deal.owners == context.rank).sum()), context.folder / FOLDER
        self._rows = HistoryRows(num_own, self._plan.width, self._dtype, strategy.history, folder, context.rank)
        self._shared = SharedHistories(self._rows, self._deal.owners, context.transport)
        self._is_train = np.zeros(graph.num_nodes, bool)
        self._is_train[job.task.labelled(graph, graph.train_nodes)] = True
        self._pool = ThreadPoolExecutor(1, "histories") if strategy.prefetch else None
        self._num_cold = self._num_pulled = 0  # of the first epoch
        if strategy.history == "pinned" and context.device.type == "cpu":
            text = "Histories lie in plain memory: pinned memory is for a GPU, and this rank has none."
            context.emit("log_written", level="warning", text=text)

    def works(self, first_epoch: int, first_step: int) -> Iterator[StepWork]:
        waiting = self._begin(first_step)
        for step in range(first_step, self._job.context.config.epochs * self.steps_per_epoch + 1):
            with self._job.recorder.span(Phase.WAIT_FOR_BATCH):
                prepared = waiting.result() if isinstance(waiting, Future) else self._prepare(step)
            work = self._work(prepared)
            waiting = self._begin(step + 1)
            yield work

    def _begin(self, step: int) -> Future[Prepared] | None:
        """Let the batch of a step be read, if there is one and somebody to read it."""
        is_over = step > self._job.context.config.epochs * self.steps_per_epoch
        return None if self._pool is None or is_over else self._pool.submit(self._prepare, step)

    def _prepare(self, step: int) -> Prepared:
        epoch, index = divmod(step - 1, self.steps_per_epoch)
        batch = batch_of(self._graph, self._deal.own_nodes(epoch + 1, index))
        return Prepared(
            epoch=epoch + 1,
            step=step,
            batch=batch,
            x=self._store.gather(batch.node_ids),
            ahead=self._shared.read_ahead(batch.halo_ids),
        )

    def _work(self, prepared: Prepared) -> StepWork:
        job, batch, device = self._job, prepared.batch, self._job.context.device
        pulled = self._pull(prepared)
        own = batch.node_ids[: batch.num_own]
        seeds = np.flatnonzero(self._is_train[own])
        with job.recorder.span(Phase.TRANSFER):
            x = as_tensor(prepared.x, device, self._dtype)
            inputs, node_ids = inputs_of(self._graph, batch, x, device, self._dtype)
            pulled = pulled.to(device, non_blocking=True)
            targets = torch.from_numpy(np.asarray(self._graph.y[own[seeds]])).to(device)
            positions = torch.from_numpy(seeds).to(device)
        places, step = self._shared.own_positions(own), prepared.step

        def forward(module: nn.Module) -> Tensor:
            exchange = pushing(self._plan, lambda slot, rows: self._push(places, slot, rows), pulled, device)
            words = {"plan": self._plan, "exchange": exchange, "statistics": self._statistics}
            outputs = forward_batch(module, inputs, node_ids, batch.num_own, **words)  # type: ignore[arg-type]
            self._rows.stamp(places, step)
            return outputs[positions]

        return StepWork(
            epoch=prepared.epoch,
            step=step,
            num_seeds=len(seeds),
            num_nodes=len(batch.node_ids),
            num_edges=batch.edge_index.shape[1],
            targets=targets,
            forward=forward,
            bytes_by_kind={"gather": prepared.x.nbytes, "history_pull": pulled.numel() * pulled.element_size()},
            joins=batch.num_own > 0,  # without a seed too: its rows are pushed
        )

    def _pull(self, prepared: Prepared) -> Tensor:
        """Return the rows of the batch's other nodes, and tell how old they are."""
        job, step = self._job, prepared.step
        with job.recorder.span(Phase.EXCHANGE if job.context.world_size > 1 else Phase.GATHER):
            pulled, written = self._shared.pull(prepared.batch.halo_ids, prepared.ahead)
        if not self._plan.slots:  # one call: nothing of others but their features
            return pulled
        is_warm = written > 0
        num_cold, ages = int((~is_warm).sum()), (step - written[is_warm]).numpy()
        job.recorder.read("history", ages, bound=2 * self.steps_per_epoch - 1, num_cold=num_cold)
        if prepared.epoch == 1:
            self._num_cold, self._num_pulled = self._num_cold + num_cold, self._num_pulled + len(written)
            if step == self.steps_per_epoch and self._num_cold:
                self._tell_cold()
        return pulled

    def _tell_cold(self) -> None:
        text = (
            f"Histories began empty: {self._num_cold:,} of the {self._num_pulled:,} rows that rank "
            f"{self._job.context.rank} pulled in epoch 1 had never been written, and were read as zeros."
        )
        self._job.context.emit("log_written", level="info", text=text)

    def _push(self, places: Tensor, slot: Slot, rows: Tensor) -> None:
        self._rows.write(places, slot, rows)
        self._job.recorder.count("history_push", len(places) * slot.width * self._rows.rows.element_size())

    def state_dict(self) -> dict[str, Any]:
        """Return this rank's histories and their steps."""
        return {**self._rows.state_dict(), "cold": self._num_cold, "pulled": self._num_pulled}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Put this rank's histories back."""
        self._rows.load_state_dict(state)
        self._num_cold, self._num_pulled = state["cold"], state["pulled"]

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._rows.close()


def plan_of(context: RankContext, module: nn.Module, dtype: torch.dtype) -> HistoryPlan:
    """Return which calls read histories, in the way that rank 0 finds exact; all ranks call it."""
    graph, found = context.graph, torch.zeros(1, dtype=torch.int64)
    if context.rank == 0:
        mode, _ = choose_mode(module, graph)
        found[0] = MODES.index(mode or "own")
    context.transport.broadcast(found, kind="control")
    padded = MODES[int(found[0])] == "padded"
    return look_at(module, little_graph(graph), context.device, dtype, padded=padded)
