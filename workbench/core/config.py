"""The configuration of a run: everything that decides its result, as frozen records and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What was chosen from a registry: its name and its parameters."""

    name: str
    params: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "params": dict(self.params)}


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphRef:
    """A graph that lies in a folder: what ranks open, and what a reader of the run must know of it."""

    folder: str
    name: str
    fingerprint: str
    num_nodes: int
    num_edges: int
    num_features: int
    num_classes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConfig:
    """One run, fully decided.

    ``model.name`` is a registry name, or ``"custom"`` for a module of the user's, whose pickle lies beside the
    configuration as ``model.pkl``. ``batch_size`` (in the strategy's parameters) is per trainer.
    """

    graph: GraphRef
    model: Choice
    strategy: Choice
    update: Choice
    task: Choice
    epochs: int
    optimizer: str = "adam"
    lr: float = 0.003
    weight_decay: float = 0.0
    trainers: int = 1
    samplers: int = 0
    threads_per_trainer: int = 1
    evaluate_every: int = 1
    checkpoint_every: int = 1
    rng_seed: int = 0
    name: str = ""

    def to_json(self) -> dict[str, Any]:
        record = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        record["graph"] = dataclasses.asdict(self.graph)
        for key in ("model", "strategy", "update", "task"):
            record[key] = record[key].to_json()
        return {"format": FORMAT_VERSION, **record}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> RunConfig:
        values = {key: value for key, value in record.items() if key != "format"}
        values["graph"] = GraphRef(**values["graph"])
        for key in ("model", "strategy", "update", "task"):
            values[key] = Choice(name=values[key]["name"], params=MappingProxyType(dict(values[key]["params"])))
        return cls(**values)
