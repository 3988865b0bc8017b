"""What the workers of a run do: which rank or sampler each hosts, its part, and what it did last."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from workbench.core.events import TERMINAL_KINDS, Event
from workbench.dashboard.panels.phases import phase_name

Key = tuple[str, int]  # ("rank", 0), ("sampler", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Duty:
    """What one rank or sampler is, and did last, on a worker."""

    worker: str
    part: int | None = None
    does: str = "starting"
    rss_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Duties:
    """All ranks and samplers of a run at work; none once it has ended."""

    by_key: Mapping[Key, Duty] = field(default_factory=lambda: MappingProxyType({}))

    def after(self, event: Event) -> Duties:
        """Return the duties after an event."""
        data = event.data
        match event.kind:
            case "gang_starting":
                return _made({("rank", int(w["rank"])): Duty(worker=str(w["worker"])) for w in data["workers"]})
            case "rank_ready":
                return self._with(("rank", event.rank), part=data["part"], does="ready")
            case "step_finished":
                return self._with(("rank", event.rank), does=f"step {data['step']:,}{_mostly(data['spans'])}")
            case "sampler_started":
                key = ("sampler", int(data["sampler"]))
                return _made({**self.by_key, key: Duty(worker=str(data["worker"]), does=f"serves rank {event.rank}")})
            case "batch_sampled":
                does = f"batch of step {data['step']:,} for rank {event.rank}"
                return self._with(("sampler", int(data["sampler"])), does=does)
            case "sampler_lost":
                gone = ("sampler", int(data["sampler"]))
                return _made({key: duty for key, duty in self.by_key.items() if key != gone})
            case "resources_measured":
                key = ("rank" if data["role"] == "trainer" else "sampler", int(data["index"]))
                return self._with(key, rss_bytes=data["rss_bytes"])
            case "run_paused":
                return _made({key: dataclasses.replace(duty, does="paused") for key, duty in self.by_key.items()})
        return _made({}) if event.kind in TERMINAL_KINDS else self

    def _with(self, key: Key, **changed: Any) -> Duties:
        duty = self.by_key.get(key)
        return self if duty is None else _made({**self.by_key, key: dataclasses.replace(duty, **changed)})


def _made(by_key: Mapping[Key, Duty]) -> Duties:
    return Duties(by_key=MappingProxyType(dict(by_key)))


def _mostly(spans: Any) -> str:
    longest = max(spans, key=lambda span: span[2], default=None)
    return "" if longest is None else f", mostly {phase_name(longest[0])}"
