"""How panels put numbers and names into words."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from workbench.core.units import format_seconds

RECENT = 20  # steps over which "now" is measured


def figure(
    label: str, value: str, *, unit: str = "", detail: str = "", tone: str = "", hint: str = ""
) -> dict[str, Any]:
    """Return a key figure: its value is text; `tone` is empty, muted, warn, fail or done."""
    return {"label": label, "value": value, "unit": unit, "detail": detail, "tone": tone, "hint": hint}


def median(values: Iterable[float]) -> float | None:
    """Return the median, or None of nothing."""
    found = list(values)
    return statistics.median(found) if found else None


def mean(values: Iterable[float]) -> float | None:
    """Return the mean, or None of nothing."""
    found = list(values)
    return statistics.fmean(found) if found else None


def recent(values: Sequence[Any], value: Any, limit: int = RECENT) -> tuple[Any, ...]:
    """Return the last values with one more, at most `limit`."""
    return (*values[-(limit - 1) :], value)


def milliseconds(seconds: float) -> str:
    """``0.496 -> '496 ms'``, ``0.0004 -> '0.4 ms'``; from ten seconds on in seconds."""
    if seconds >= 10:
        return format_seconds(seconds)
    return f"{seconds * 1e3:,.0f} ms" if seconds >= 0.01 else f"{seconds * 1e3:.2g} ms"


def percent(share: float) -> str:
    """``0.4213 -> '42%'``."""
    return f"{100 * share:.0f}%"


def counted(count: int, noun: str) -> str:
    """``2, 'rank' -> '2 ranks'``, ``3, 'batch' -> '3 batches'``."""
    plural = "es" if noun.endswith(("tch", "s", "x")) else "s"
    return f"{count:,} {noun}{'' if count == 1 else plural}"


def listed(names: Sequence[str]) -> str:
    """``['a', 'b', 'c'] -> 'a, b and c'``."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def clipped(text: str, limit: int = 240) -> str:
    """Return one line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def sentence(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def rank_name(rank: int) -> str:
    """Name a rank, or the run as a whole."""
    return "Run" if rank < 0 else f"Rank {rank}"


def sampler_name(sampler: int, rank: int) -> str:
    """Name a sampler; a negative index is the background thread of the rank itself."""
    return f"Sampler {sampler}" if sampler >= 0 else f"Thread of rank {rank}"
