"""Figures of quality, and how a list of them is shown."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import Findings
from workbench.core.given import note_whole

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of quality: its name in code, its name for people, its value, as text, and what it means."""

    name: str
    label: str
    value: float
    text: str
    meaning: str


def balance(counts: np.ndarray) -> float:
    """Return ``max / mean``, and 1 where all counts are zero: nothing is to be balanced."""
    total = int(counts.sum())
    return float(counts.max() * len(counts) / total) if total else 1.0


def check_widths(subject: str, widths: Any, bytes_per_value: Any = 4) -> tuple[int, ...]:
    """Return the widths of layers as Python numbers; refuse what is no whole number from 1 up (a bool, 64.0, NaN).

    Raises
    ------
    InputError
    """
    findings = Findings(subject)
    one = isinstance(widths, str | bytes) or not isinstance(widths, Iterable) or getattr(widths, "ndim", 1) == 0
    given = (widths,) if one else tuple(widths)
    if not given or not all(_is_width(width) for width in given):
        got = ", ".join(repr(width)[:40] for width in given[:8]) or "none"
        findings.add("widths", "whole numbers from 1 up", got, "pass one width a layer, such as (500, 64)")
    note_whole(findings, 1, bytes_per_value=bytes_per_value)
    findings.raise_if_any()
    return tuple(int(width) for width in given)


def _is_width(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


def layer_bytes(
    traffic: np.ndarray | None, num_parts: int, widths: Sequence[int] | int, bytes_per_value: int
) -> np.ndarray:
    """Return ``traffic`` (rows between parts) in bytes for each width: int64 (layers, p, p)."""
    row_bytes = [width * int(bytes_per_value) for width in check_widths("traffic_bytes", widths, bytes_per_value)]
    findings = Findings("traffic_bytes")
    if traffic is None:
        findings.add("num_parts", "at most 2,048 parts for a matrix", num_parts, "use comm_volume and the parts' rows")
    elif int(traffic.sum()) * max(row_bytes) > np.iinfo(np.int64).max:
        findings.add("widths", "bytes that 64 bits can count", max(row_bytes), "pass widths and bytes in use")
    findings.raise_if_any()
    assert traffic is not None
    return traffic[None] * np.asarray(row_bytes, dtype=np.int64)[:, None, None]


def figures_frame(figures: Iterable[Figure]) -> pd.DataFrame:
    """Return figures as a DataFrame: one row a figure, columns value and meaning."""
    import pandas as pd

    rows = [(figure.name, figure.value, figure.meaning) for figure in figures]
    return pd.DataFrame(rows, columns=["figure", "value", "meaning"]).set_index("figure")


def figures_text(head: str, figures: Iterable[Figure]) -> str:
    """Return figures as aligned lines under a head."""
    lines = [f"{figure.label:<28} {figure.text:>14}   {figure.meaning}" for figure in figures]
    return "\n".join([head, *lines])


def figures_html(head: str, figures: Iterable[Figure], note: str = "") -> str:
    """Return figures as a table with a caption; `head` and `note` are HTML."""
    rows = "".join(
        f'<tr><td style="text-align:left">{html.escape(figure.label)}</td>'
        f"<td><b>{html.escape(figure.text)}</b></td>"
        f'<td style="text-align:left;opacity:.75">{html.escape(figure.meaning)}</td></tr>'
        for figure in figures
    )
    below = f"<p>{note}</p>" if note else ""
    return f'<table aria-label="Quality of the partition"><caption>{head}</caption>{rows}</table>{below}'
