"""What a rank is given by the runtime: the training layer's ``RankContext``, over link and process group."""

from __future__ import annotations

import functools
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist

from workbench.core.config import RunConfig
from workbench.core.control import CONTROL_KINDS, Control
from workbench.graph import Graph
from workbench.runtime.rank_link import RankLink
from workbench.train import checkpoint
from workbench.train.transport import GlooTransport, SoloTransport, Transport

if TYPE_CHECKING:
    from workbench.gather import BatchPlan, BatchSource

KEPT_CHECKPOINTS = 3


class HostedRank:
    """A rank of a gang, hosted by a Dask worker.

    Parameters
    ----------
    link : RankLink
        The line to the host.
    spec : dict
        What the run manager says of this rank.
    device : torch.device
    group : ProcessGroup or None
        None for a gang of one.
    """

    def __init__(self, link: RankLink, spec: dict[str, Any], device: torch.device, group: Any) -> None:
        self._link, self._spec, self._group = link, spec, group
        self.rank: int = spec["rank"]
        self.world_size: int = spec["world_size"]
        self.device = device
        self.folder = Path(spec["folder"])
        self.config = RunConfig.from_json(json.loads((self.folder / "config.json").read_text())["config"])
        self.transport: Transport = SoloTransport() if group is None else GlooTransport(group)
        self._agreement: tuple[Any, torch.Tensor] | None = None
        self._sources: list[Any] = []

    @functools.cached_property
    def graph(self) -> Graph:
        return Graph.open(Path(self.config.graph.folder))

    def emit(self, kind: str, **data: Any) -> None:
        """Tell an event of this rank."""
        self._link.emit(kind, **data)

    def clock(self) -> float:
        """Return Unix time in seconds."""
        return time.time()

    def poll_control(self, step: int) -> Control | None:
        """Return the next command, the same on all ranks at the same call.

        Rank 0 alone hears commands. It tells them by a broadcast that is one call behind, so that nobody waits for it:
        a call returns what rank 0 knew at the call before.
        """
        if self._group is None:
            return self._link.controls.popleft() if self._link.controls else None
        told = None
        if self._agreement is not None:
            work, flag = self._agreement
            work.wait()
            if flag[0]:
                told = Control(kind=CONTROL_KINDS[int(flag[1])], id=int(flag[0]))  # type: ignore[arg-type]
        flag = torch.zeros(2, dtype=torch.int64)
        if self.rank == 0 and self._link.controls:
            control = self._link.controls.popleft()
            flag[0], flag[1] = control.id, CONTROL_KINDS.index(control.kind)
        self._agreement = (dist.broadcast(flag, src=0, group=self._group, async_op=True), flag)
        return told

    def batch_source(self, plan: BatchPlan) -> BatchSource:
        """Return where batches come from: a thread of this process, or the ring that samplers fill."""
        if self.config.samplers == 0:
            from workbench.gather import LocalSource

            source: Any = LocalSource(plan)
        else:
            from workbench.runtime.sampler_crew import open_source

            source = open_source(plan, self._link, self._spec, self._group)
        self._sources.append(source)
        return source  # type: ignore[no-any-return]

    def load_checkpoint(self) -> dict[str, Any] | None:
        """Return the state at the step from which this gang continues; where somebody removed it, the one before."""
        resume_step = self._spec["resume_step"]
        usable = [path for path in checkpoint.all_in(self.folder) if checkpoint.step_of(path) <= resume_step]
        found = checkpoint.step_of(usable[-1]) if usable else 0
        if self.rank == 0:
            _remove_beyond(self.folder, resume_step)
            if found < resume_step:
                text = f"the checkpoint of step {resume_step:,} is gone from {self.folder}: goes on from step {found:,}"
                self.emit("log_written", level="warning", text=text)
        if not usable:
            return None
        state: dict[str, Any] = torch.load(usable[-1], map_location="cpu", weights_only=True)
        return state

    def save_checkpoint(self, state: dict[str, Any], epoch: int, step: int) -> Path:
        """Write a state, complete or not at all; the one that counts stays, however many came after it."""
        since = self._link.counted_step
        return checkpoint.save(self.folder, state, epoch, step, keep=KEPT_CHECKPOINTS, since=since)

    def close(self) -> None:
        """End what makes batches."""
        for source in self._sources:
            source.close()

    def finish(self) -> None:
        """Take in what was sent to this rank and not read: a gang leaves together."""
        if self._agreement is not None:
            self._agreement[0].wait()


def _remove_beyond(folder: Path, step: int) -> None:
    """Remove checkpoints that an earlier gang wrote and could not tell: they would count as the newest."""
    for path in checkpoint.all_in(folder):
        if checkpoint.step_of(path) > step:
            path.unlink(missing_ok=True)
