"""Scalars for TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.core.optional import require
from workbench.core.params import param
from workbench.dashboard.scalars import Scalar
from workbench.dashboard.writers_base import WRITERS, Destination, Writer


@WRITERS.register("tensorboard")
@dataclass(frozen=True, slots=True, kw_only=True)
class TensorBoardWriter(Writer):
    """Event files for TensorBoard, one folder a run, without TensorFlow or torch: ``tensorboard --logdir FOLDER``."""

    folder: str = param("tensorboard", help="folder that holds one folder a run")

    def open(self, run_id: str, settings: Mapping[str, Any]) -> Destination:
        reason = "writing for TensorBoard"
        files = require("tensorboard.summary.writer.event_file_writer", extra="tensorboard", reason=reason)
        event = require("tensorboard.compat.proto.event_pb2", extra="tensorboard", reason=reason)
        summary = require("tensorboard.compat.proto.summary_pb2", extra="tensorboard", reason=reason)
        return _TensorBoardRun(files.EventFileWriter(str(Path(self.folder) / run_id)), event.Event, summary.Summary)


class _TensorBoardRun:
    def __init__(self, file: Any, event: Any, summary: Any) -> None:
        self._file, self._event, self._summary = file, event, summary

    def write(self, scalars: Sequence[Scalar]) -> None:
        for scalar in scalars:
            value = self._summary.Value(tag=scalar.name, simple_value=scalar.value)
            told = self._event(wall_time=scalar.time_s, step=scalar.step, summary=self._summary(value=[value]))
            self._file.add_event(told)
        self._file.flush()

    def close(self, status: str) -> None:
        self._file.close()
