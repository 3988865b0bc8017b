"""Registries: one new idea is one new file that registers itself.

A registry belongs to a package. On first use it imports every module of that package (so the order of
imports never matters) and the entry points that other distributions declare for it.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.metadata
import pkgutil
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from workbench.core.errors import Findings
from workbench.core.params import ParamInfo, Params

T = TypeVar("T", bound=Params)
P = TypeVar("P", bound=Params)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Generic[T]):
    """A registered class with its name and the first line of its docstring."""

    name: str
    factory: type[T]

    @property
    def summary(self) -> str:
        return (self.factory.__doc__ or "").strip().split("\n")[0]

    @property
    def params(self) -> tuple[ParamInfo, ...]:
        return self.factory.describe()


class Registry(Generic[T]):
    """Names to :class:`Params` classes of one kind.

    Parameters
    ----------
    kind : str
        What it holds, in the singular (``"partitioner"``): used in errors.
    base : type
        The base class; an object of it may be given instead of a name.
    package : str
        The package whose modules register themselves here.
    entry_points : str, optional
        The entry-point group through which other distributions add theirs.
    """

    def __init__(self, kind: str, base: type[T], package: str, entry_points: str | None = None) -> None:
        self.kind, self.base, self.package, self.group = kind, base, package, entry_points
        self._entries: dict[str, Entry[T]] = {}
        self._loaded = False
        self._loading = threading.RLock()  # a thread that comes second waits for all entries

    def register(self, name: str) -> Callable[[type[P]], type[P]]:
        """Return a class decorator that enters the class under `name`."""

        def enter(factory: type[P]) -> type[P]:
            fits = issubclass(factory, self.base)
            assert fits, f"{factory} is no {self.base.__name__}"
            known = self._entries.get(name)
            # A dataclass with slots is made anew: the same module may register a name again, another may not.
            assert known is None or known.factory.__module__ == factory.__module__, f"{name} registered twice"
            self._entries[name] = Entry(name=name, factory=cast("type[T]", factory))
            return factory

        return enter

    def _load(self) -> None:
        with self._loading:
            if self._loaded:
                return
            self._loaded = True  # a module of the package may ask while it is imported
            try:
                self._import_all()
            except BaseException:
                self._loaded = False
                raise

    def _import_all(self) -> None:
        package = importlib.import_module(self.package)
        for module in pkgutil.iter_modules(package.__path__, self.package + "."):
            importlib.import_module(module.name)
        if self.group:
            for point in importlib.metadata.entry_points(group=self.group):
                point.load()

    def names(self) -> tuple[str, ...]:
        """Return every registered name, sorted."""
        self._load()
        return tuple(sorted(self._entries))

    def __iter__(self) -> Iterator[Entry[T]]:
        return (self._entries[name] for name in self.names())

    def entry(self, name: str) -> Entry[T]:
        """Return the entry called `name`; an unknown name is an error that lists the near ones."""
        self._load()
        if name not in self._entries:
            findings = Findings(f"{self.kind} {name!r}")
            near = difflib.get_close_matches(str(name), self.names(), n=1)
            fix = f"use {near[0]!r}" if near else f"use one of the names, or pass a {self.base.__name__} object"
            findings.add(self.kind, f"one of {list(self.names())}", repr(name), fix)
            findings.raise_if_any()
        return self._entries[name]

    def create(self, choice: str | T, **kwargs: Any) -> T:
        """Return an object for a name and its keywords, or `choice` itself where it is one already."""
        if isinstance(choice, self.base):
            if kwargs:
                findings = Findings(f"{self.kind} {type(choice).__name__}")
                for key in kwargs:
                    findings.add(key, "no keywords beside an object", key, f"set {key} on the object itself")
                findings.raise_if_any()
            return choice
        return self.entry(str(choice)).factory.from_kwargs(kwargs, f"{self.kind} {choice!r}")

    def name_of(self, item: T) -> str:
        """Return the name under which an object's class is registered (its class name where it is not)."""
        self._load()
        for entry in self._entries.values():
            if entry.factory is type(item):
                return entry.name
        return type(item).__name__

    def from_dict(self, choice: Mapping[str, Any]) -> T:
        """Return the object that ``{"name": ..., "params": {...}}`` describes."""
        return self.create(choice["name"], **choice["params"])

    def to_dict(self, item: T) -> dict[str, Any]:
        """Describe an object as ``{"name": ..., "params": {...}}``, ready for JSON."""
        return {"name": self.name_of(item), "params": item.to_dict()}
