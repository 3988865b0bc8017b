"""A function of the user's on its way to the ranks, and its results on their way back.

It travels as a file of the run's folder, ``function.pkl``; each rank leaves ``results/rank-<k>.pkl``. Both are code to
whoever loads them: the ranks load the first, and the process that made the call loads the second. Nobody else does.
"""

from __future__ import annotations

import linecache
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle

from workbench.core.config import Choice, GraphRef, RunConfig
from workbench.core.errors import Findings

FUNCTION_FILE, RESULTS = "function.pkl", "results"
FUNCTION = "function"  # the strategy's name in the configuration of a run that only calls a function
ENTRY = "workbench.runtime.function_rank:run_function"
_MAX_SOURCE_CHARACTERS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCall:
    """A call that every rank makes.

    Parameters
    ----------
    function : callable
    arguments, keywords
        Its arguments; a parameter called ``rank_context`` is given the rank's own.
    sources : mapping
        Lines of the notebook's cells by file name, so that a rank's traceback can show them.
    """

    function: Callable[..., Any]
    arguments: Sequence[Any] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, list[str]] = field(default_factory=dict)


def pack_call(function: Callable[..., Any], arguments: Sequence[Any], keywords: Mapping[str, Any]) -> bytes:
    """Return a call as bytes.

    Raises
    ------
    InputError
        Where it is no function, or it or an argument cannot travel: each is named.
    """
    findings = Findings("run_function")
    if not callable(function):
        findings.add("function", "a function", type(function).__name__, "pass the function itself, not its result")
        findings.raise_if_any()
    parts = {"function": function}
    parts |= {f"argument {place + 1}": value for place, value in enumerate(arguments)} | dict(keywords)
    for name, value in parts.items():
        try:
            cloudpickle.dumps(value)
        except (TypeError, AttributeError, pickle.PicklingError, RecursionError) as error:
            fix = "make open files, locks and connections inside the function, on the rank"
            findings.add(name, "something that can travel to another process", f"{error}", fix)
    findings.raise_if_any()
    call = FunctionCall(function=function, arguments=tuple(arguments), keywords=dict(keywords), sources=cell_sources())
    packed: bytes = cloudpickle.dumps(call)
    return packed


def cell_sources() -> dict[str, list[str]]:
    """Return the lines of code that is in no file: the notebook's cells, the newest first, up to a megabyte."""
    found: dict[str, list[str]] = {}
    room = _MAX_SOURCE_CHARACTERS
    for name, entry in reversed(list(linecache.cache.items())):
        if len(entry) != 4 or Path(name).exists():
            continue
        lines: list[str] = entry[2]
        room -= sum(map(len, lines))
        if room < 0:
            break
        found[name] = lines
    return found


def know_sources(sources: Mapping[str, list[str]]) -> None:
    """Let tracebacks of this process show these lines."""
    for name, lines in sources.items():
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)


def function_config(name: str, *, trainers: int, threads_per_trainer: int) -> RunConfig:
    """Return the configuration of a run that only calls a function: no graph, no model."""
    nothing = Choice(name="none")
    graph = GraphRef(folder="", name="", fingerprint="", num_nodes=0, num_edges=0, num_features=0, num_classes=0)
    return RunConfig(
        graph=graph,
        model=Choice(name=name),
        strategy=Choice(name=FUNCTION),
        update=nothing,
        task=nothing,
        epochs=0,
        trainers=trainers,
        threads_per_trainer=threads_per_trainer,
        name=name,
    )


def write_result(folder: Path, rank: int, result: Any) -> None:
    """Leave a rank's result in the run's folder."""
    place = folder / RESULTS
    place.mkdir(mode=0o700, exist_ok=True)
    try:
        data = cloudpickle.dumps(result)
    except (TypeError, AttributeError, pickle.PicklingError) as error:
        raise TypeError(
            f"the function's result, a {type(result).__name__}, cannot travel: {error}. "
            "Fix: return numbers, arrays or tensors"
        ) from error
    temporary = place / f".rank-{rank}.tmp"
    temporary.write_bytes(data)
    temporary.replace(place / f"rank-{rank}.pkl")


def read_results(folder: Path, world_size: int) -> list[Any]:
    """Return all ranks' results in rank order; it runs code of the folder: for the process that made the call."""
    return [cloudpickle.loads((folder / RESULTS / f"rank-{rank}.pkl").read_bytes()) for rank in range(world_size)]
