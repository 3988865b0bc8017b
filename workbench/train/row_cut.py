"""Whether the sampled batches of a run are cut: found out once, by rank 0, and told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from workbench.sampling import SAMPLERS
from workbench.train.little import little_batch
from workbench.train.probe import Verdict, choose_row_cut

if TYPE_CHECKING:
    from workbench.gather import BatchPlan
    from workbench.train.base import RankContext
    from workbench.train.boundaries.cut import CutMode

_MODES: tuple[CutMode, ...] = ("off", "cut", "padded")


def decide_row_cut(context: RankContext, module: nn.Module, plan: BatchPlan, wish: str) -> Verdict:
    """Return the mode for all ranks: what was wished for if the probe finds it equal, else ``off``; all ranks call it.

    Parameters
    ----------
    wish : str
        ``auto`` (the first mode that is equal), ``cut``, ``padded`` or ``off``.
    """
    if wish == "off":
        return Verdict(mode="off", num_calls=0, reason="asked for")
    found = torch.zeros(2, dtype=torch.int64)
    if context.rank == 0:
        verdict = _probe(context, module, plan, ("cut", "padded") if wish == "auto" else (wish,))  # type: ignore[arg-type]
        context.emit("log_written", level="info" if wish in ("auto", verdict.mode) else "warning", text=_text(verdict))
        found = torch.tensor([_MODES.index(verdict.mode), verdict.num_calls])
    context.transport.broadcast(found, kind="control")
    mode, num_calls = found.tolist()
    return Verdict(mode=_MODES[mode], num_calls=num_calls, reason="found by rank 0")


def _probe(context: RankContext, module: nn.Module, plan: BatchPlan, modes: tuple[CutMode, ...]) -> Verdict:
    graph = context.graph
    sampler, seed = SAMPLERS.from_dict(plan.sampler), graph.train_nodes[:1]
    if not sampler.is_by_hop:
        return Verdict(mode="off", num_calls=0, reason="edges of the sampler's batches do not lie by hop")
    num_hops = len(sampler.sample(graph, seed, epoch=0, batch=0, rng_seed=plan.rng_seed).num_edges_per_hop)
    if num_hops == 0:
        return Verdict(mode="off", num_calls=0, reason="the sampler's batches have no hops")
    dtype = next((p.dtype for p in module.parameters()), torch.float32)
    return choose_row_cut(module, little_batch(graph, num_hops, context.device, dtype), modes)


def _text(verdict: Verdict) -> str:
    if verdict.mode == "off":
        return f"Row cut off: {verdict.reason}. Every layer computes all rows of a batch."
    padding = " (rows that nobody reads are zeros)" if verdict.mode == "padded" else ""
    return f"Row cut on{padding}: each layer computes only the rows that later layers read; {verdict.reason}."
