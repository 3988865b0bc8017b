"""Metrics and settings for MLflow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.optional import require
from workbench.core.params import param
from workbench.dashboard.scalars import Scalar
from workbench.dashboard.writers_base import WRITERS, Destination, Writer

AT_ONCE = 1000  # metrics of one request, as MLflow's server allows
SETTINGS_AT_ONCE = 100
_STATUS = {"finished": "FINISHED", "stopped": "KILLED", "failed": "FAILED"}


@WRITERS.register("mlflow")
@dataclass(frozen=True, slots=True, kw_only=True)
class MlflowWriter(Writer):
    """A run of MLflow with metrics over steps and the configuration as parameters."""

    tracking_uri: str = param("sqlite:///mlflow.db", help="MLflow's store: a file of this machine, or a server")
    experiment: str = param("workbench", help="the experiment that the run belongs to")

    def open(self, run_id: str, settings: Mapping[str, Any]) -> Destination:
        reason = "writing for MLflow"
        tracking = require("mlflow.tracking", extra="mlflow", reason=reason)
        entities = require("mlflow.entities", extra="mlflow", reason=reason)
        client = tracking.MlflowClient(tracking_uri=self.tracking_uri)
        known = client.get_experiment_by_name(self.experiment)
        experiment_id = known.experiment_id if known else client.create_experiment(self.experiment)
        made = client.create_run(experiment_id, run_name=run_id, tags={"workbench.run_id": run_id})
        told = [entities.Param(name, str(value)[:500]) for name, value in settings.items()]
        for start in range(0, len(told), SETTINGS_AT_ONCE):
            client.log_batch(made.info.run_id, params=told[start : start + SETTINGS_AT_ONCE])
        return _MlflowRun(client, made.info.run_id, entities.Metric)


class _MlflowRun:
    def __init__(self, client: Any, run_id: str, metric: Any) -> None:
        self._client, self._run_id, self._metric = client, run_id, metric

    def write(self, scalars: Sequence[Scalar]) -> None:
        told = [self._metric(s.name, s.value, round(1000 * s.time_s), s.step) for s in scalars]
        for start in range(0, len(told), AT_ONCE):
            self._client.log_batch(self._run_id, metrics=told[start : start + AT_ONCE])

    def close(self, status: str) -> None:
        self._client.set_terminated(self._run_id, _STATUS[status])
