"""Parameters declared with their owner.

A thing that can be registered (a partitioner, sampler, model, strategy ...) is a frozen dataclass derived
from :class:`Params`: its fields are its parameters. From them come its check, its form, its row in the
docs and its entry in a run's configuration.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from workbench.core.errors import Findings

MAX_INT64 = 2**63 - 1

_META = "workbench"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamInfo:
    """What is known about one parameter: the source of forms, docs and checks."""

    name: str
    annotation: Any
    default: Any
    help: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[Any, ...] | None = None


def param(
    default: Any = dataclasses.MISSING,
    *,
    help: str,
    unit: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[Any] | None = None,
) -> Any:
    """Declare a field of a :class:`Params` class with its meaning and its range (both ends included)."""
    meta = {
        "help": help,
        "unit": unit,
        "minimum": minimum,
        "maximum": maximum,
        "choices": None if choices is None else tuple(choices),
    }
    return dataclasses.field(default=default, metadata={_META: meta})


@dataclass(frozen=True, slots=True, kw_only=True)
class Params:
    """Base of everything that has named parameters; subclasses are frozen, slotted, keyword-only dataclasses."""

    @classmethod
    def describe(cls) -> tuple[ParamInfo, ...]:
        """Return the parameters in the order of their declaration."""
        hints = typing.get_type_hints(cls)
        return tuple(
            ParamInfo(
                name=field.name,
                annotation=hints[field.name],
                default=field.default,
                **field.metadata.get(_META, {"help": ""}),
            )
            for field in dataclasses.fields(cls)
            if field.init
        )

    @classmethod
    def from_kwargs(cls, kwargs: Mapping[str, Any], subject: str | None = None) -> Self:
        """Build from keywords; every unknown, missing, ill-typed or out-of-range one is named in one error."""
        findings = Findings(subject or cls.__name__)
        infos = {info.name: info for info in cls.describe()}
        _check_names(infos, kwargs, findings)
        values = {name: coerce(value, infos[name], findings) for name, value in kwargs.items() if name in infos}
        findings.raise_if_any()
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters as JSON-ready values (tuples become lists)."""
        return {info.name: _plain(getattr(self, info.name)) for info in self.describe()}


def _check_names(infos: Mapping[str, ParamInfo], kwargs: Mapping[str, Any], findings: Findings) -> None:
    for name in kwargs:
        if name not in infos:
            known = ", ".join(infos) or "no parameters"
            findings.add(name, f"one of: {known}", "an unknown keyword", f"remove {name}= or correct its name")
    for name, info in infos.items():
        if info.default is dataclasses.MISSING and name not in kwargs:
            findings.add(name, info.help or "a value", "nothing", f"pass {name}=...")


def coerce(value: Any, info: ParamInfo, findings: Findings) -> Any:
    """Convert `value` to the declared type without losing information, or note a finding."""
    converted, ok = _convert(value, info.annotation)
    if not ok:
        given = f"{value!r} ({type(value).__name__})"
        findings.add(info.name, type_name(info.annotation), given, _example(info, info.default))
        return value
    if info.choices is not None and converted not in info.choices:
        example = info.default if info.default in info.choices else info.choices[0]
        findings.add(info.name, f"one of {list(info.choices)}", repr(value), _example(info, example))
    _check_range(converted, info, findings)
    return converted


def _check_range(value: Any, info: ParamInfo, findings: Findings) -> None:
    is_sequence = isinstance(value, tuple)
    for item in value if is_sequence else (value,):
        if not isinstance(item, (int, float)) or isinstance(item, bool):
            continue
        if isinstance(item, int) and not -MAX_INT64 <= item <= MAX_INT64:
            findings.add(info.name, "a number of 64 bits", repr(item), _example(info, info.default))
            continue
        if info.minimum is not None and not item >= info.minimum:
            example = _example(info, info.default if is_sequence else info.minimum)
            findings.add(info.name, f"at least {info.minimum}{_unit(info)}", repr(item), example)
        if info.maximum is not None and not item <= info.maximum:
            example = _example(info, info.default if is_sequence else info.maximum)
            findings.add(info.name, f"at most {info.maximum}{_unit(info)}", repr(item), example)
        elif item == math.inf:
            findings.add(info.name, "a finite number", repr(item), _example(info, info.default))


def _example(info: ParamInfo, value: Any) -> str:
    """Return what to do: a value that would do, and what it means."""
    meaning = f" ({info.help})" if info.help else ""
    if value is dataclasses.MISSING or isinstance(value, tuple):
        return f"correct {info.name}={meaning}"
    return f"pass {info.name}={value!r}, for example{meaning}"


def _unit(info: ParamInfo) -> str:
    return f" {info.unit}" if info.unit else ""


def _convert(value: Any, kind: Any) -> tuple[Any, bool]:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any:
        return value, True
    if origin in (typing.Union, types.UnionType):
        return _convert_union(value, args)
    if origin is typing.Literal:
        return value, value in args
    if kind is tuple or origin is tuple:
        return _convert_tuple(value, args)
    return _convert_scalar(value, kind)


def _convert_union(value: Any, args: tuple[Any, ...]) -> tuple[Any, bool]:
    for arg in args:
        if arg is type(None):
            if value is None:
                return None, True
            continue
        converted, ok = _convert(value, arg)
        if ok:
            return converted, True
    return value, False


def _convert_tuple(value: Any, args: tuple[Any, ...]) -> tuple[Any, bool]:
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        return value, False
    inner = args[0] if args else Any
    pairs = [_convert(item, inner) for item in value]
    return tuple(item for item, _ in pairs), all(ok for _, ok in pairs)


def _convert_scalar(value: Any, kind: Any) -> tuple[Any, bool]:
    if kind is bool:
        return value, isinstance(value, bool)
    if isinstance(value, bool):
        return value, False
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()  # a NumPy scalar
    if kind is float and isinstance(value, int):
        return float(value), True
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value), True
    return value, isinstance(value, kind) if isinstance(kind, type) else True


def type_name(kind: Any) -> str:
    """Name a type as a person would say it."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return " or ".join(type_name(arg) for arg in typing.get_args(kind))
    names = {int: "a whole number", float: "a number", str: "text", bool: "True or False", type(None): "None"}
    if kind in names:
        return names[kind]
    if kind is tuple or typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)
        return "a sequence of " + (type_name(inner[0]).removeprefix("a ") + "s" if inner else "values")
    return getattr(kind, "__name__", str(kind))


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Params):
        return value.to_dict()
    return value
