"""Metrics and settings for Weights & Biases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from workbench.core.optional import require
from workbench.core.params import param
from workbench.dashboard.scalars import Scalar
from workbench.dashboard.writers_base import WRITERS, Destination, Writer

STEP = "global_step"


@WRITERS.register("wandb")
@dataclass(frozen=True, slots=True, kw_only=True)
class WandbWriter(Writer):
    """A run of Weights & Biases, over the global step; offline unless told otherwise: ``wandb sync`` sends it later."""

    project: str = param("workbench", help="the project that the run belongs to")
    folder: str = param(".", help="where the folder wandb/ is written")
    mode: str = param(
        "offline", help="offline, or online where a network and a login are there", choices=("offline", "online")
    )

    def open(self, run_id: str, settings: Mapping[str, Any]) -> Destination:
        wandb = require("wandb", extra="wandb", reason="writing for Weights & Biases")
        run = wandb.init(
            project=self.project,
            id=run_id,
            name=run_id,
            dir=self.folder,
            mode=self.mode,
            config=dict(settings),
            reinit="create_new",
        )
        run.define_metric(STEP)
        run.define_metric("*", step_metric=STEP)  # its own count only grows, and a restart runs steps again
        return _WandbRun(run)


class _WandbRun:
    def __init__(self, run: Any) -> None:
        self._run = run

    def write(self, scalars: Sequence[Scalar]) -> None:
        for step, told in groupby(scalars, key=lambda scalar: scalar.step):
            self._run.log({STEP: step, **{scalar.name: scalar.value for scalar in told}})

    def close(self, status: str) -> None:
        self._run.finish(exit_code=1 if status == "failed" else 0)
