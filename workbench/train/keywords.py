"""Flat keywords, each given to the part that it belongs to."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.errors import Findings, InputError
from workbench.core.params import Params
from workbench.core.registry import Registry
from workbench.models import MODELS
from workbench.partition import Partition
from workbench.partition.base import Partitioner
from workbench.train.base import STRATEGIES, TASKS, UPDATES, Strategy
from workbench.train.settings import RunSettings


@dataclass(slots=True, kw_only=True)
class Part:
    """One part of a run: what it was chosen from, what was chosen, and the keywords that it takes.

    `owner` is its name in errors (``strategy 'mini_batch'``); an object that was passed ready-made takes none.
    """

    owner: str
    factory: type[Params]
    given: Params | Partition | Mapping[str, Any] | None = None
    keywords: dict[str, Any] = field(default_factory=dict)

    def takes(self, hidden: Iterable[str] = ()) -> tuple[str, ...]:
        return tuple(info.name for info in self.factory.describe() if info.name not in hidden)

    def build(self, findings: Findings) -> Params | Partition | Mapping[str, Any] | None:
        """Return the part, or None with its faults noted."""
        if self.given is not None:
            for key in self.keywords:
                fix = f"set {key} on the object, or pass its name instead of the object"
                findings.add(key, f"no keyword beside an object as {self.owner}", key, fix)
            return self.given
        try:
            return self.factory.from_kwargs(self.keywords, self.owner)
        except InputError as error:
            findings.items.extend(error.findings)
            return None


def choose(registry: Registry[Any], choice: Any, findings: Findings) -> Part | None:
    """Return the part that a name or an object of a registry stands for, or None with the fault noted."""
    if isinstance(choice, Partition | Mapping) and registry.base is Partitioner:  # what a method has made
        return Part(owner="the partition", factory=Partitioner, given=choice)
    if isinstance(choice, registry.base):
        return Part(owner=f"{registry.kind} {registry.name_of(choice)!r}", factory=type(choice), given=choice)
    try:
        return Part(owner=f"{registry.kind} {choice!r}", factory=registry.entry(choice).factory)
    except InputError as error:
        findings.items.extend(error.findings)
        return None


def route(parts: Mapping[str, Part], strategy: Part, keywords: Mapping[str, Any], findings: Findings) -> None:
    """Give every keyword to the one part that takes it; note those that nobody, or more than one part, takes.

    What belongs to the run (``rng_seed``) is the run's, also where a part has a parameter of that name: such a part
    is then passed as an object.
    """
    hidden = getattr(strategy.factory, "parts", {})
    takers = {name: part.takes(hidden if part is strategy else ()) for name, part in parts.items()}
    for key, value in keywords.items():
        names = [name for name, taken in takers.items() if key in taken]
        names = ["run"] if "run" in names else names
        for name in names[:1]:
            parts[name].keywords[key] = value
        if len(names) > 1:
            owners = " and ".join(parts[name].owner for name in names)
            findings.add(key, "a keyword of one part", f"one that {owners} take", f"pass {names[-1]}= as an object")
        if not names:
            _note_unused(key, [name for taken in takers.values() for name in taken], strategy, findings)


def _note_unused(key: str, known: list[str], strategy: Part, findings: Findings) -> None:
    users = _users(key)
    near = difflib.get_close_matches(key, known, n=1)
    if users:
        other = (_strategies_with(key, strategy) + users)[0]
        fix = f"{f'write {near[0]}=' if near else f'remove {key}='}, or use {other}"
        findings.add(key, f"a keyword that this run uses ({strategy.owner})", f"one of {', '.join(users)}", fix)
    elif near:
        findings.add(key, f"a known keyword, such as {near[0]!r}", "an unknown keyword", f"write {near[0]}=")
    else:
        listed = ", ".join(sorted(set(known)))
        findings.add(key, f"one of: {listed}", "an unknown keyword", f"remove {key}=")


def _strategies_with(key: str, chosen_one: Part) -> list[str]:
    """Name the strategies that take a keyword, themselves or by default, and serve a task as the chosen one does."""
    found = []
    served: frozenset[str] = getattr(chosen_one.factory, "serves", frozenset())
    for entry in STRATEGIES:
        if not served & entry.factory.serves:
            continue
        defaults = {info.name: info.default for info in entry.params}
        chosen = [registry.entry(defaults[name]) for name, registry in entry.factory.parts.items()]
        if any(info.name == key for taker in (entry, *chosen) for info in taker.params):
            found.append(f"strategy={entry.name!r}")
    return found


def _users(key: str) -> list[str]:
    """Name everything registered that has a parameter of this name."""
    registries: dict[int, Registry[Any]] = {id(r): r for r in (STRATEGIES, MODELS, TASKS, UPDATES)}
    for strategy in STRATEGIES:
        registries |= {id(r): r for r in strategy.factory.parts.values()}
    return [
        f"{registry.kind} {entry.name!r}"
        for registry in registries.values()
        for entry in registry
        if any(info.name == key for info in entry.params)
    ]


def parts_of_strategy(strategy: Part, keywords: dict[str, Any], findings: Findings) -> dict[str, Part]:
    """Take the strategy's own choices (``sampler=``, ``store=``) out of the keywords."""
    found: dict[str, Part] = {}
    if strategy.given is not None:
        return found
    assert issubclass(strategy.factory, Strategy), "chosen from STRATEGIES"
    defaults = {info.name: info.default for info in strategy.factory.describe()}
    for name, registry in strategy.factory.parts.items():
        part = choose(registry, keywords.pop(name, defaults[name]), findings)
        if part is not None:
            found[name] = part
    return found


def settings_part() -> Part:
    """Return the part that takes what belongs to the run itself."""
    return Part(owner="run", factory=RunSettings)
