"""A panel that nobody drew a picture for, as one of another package: its verdict, and its rows or values as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.dashboard.words import sentence
from workbench.widgets.figures import table, text_of

_HEADER = ("line", "title", "verdict", "rows")  # these have a place of their own


def title_of(name: str, view: Mapping[str, Any]) -> str:
    """Return what a panel calls itself, else its name in words."""
    return text_of(view.get("title") or _words(name))


def plain(name: str, view: Mapping[str, Any]) -> str:
    """Return a view as text and tables."""
    rows = [row for row in view.get("rows") or () if isinstance(row, Mapping)]
    values = {key: value for key, value in view.items() if key not in _HEADER and _is_plain(value)}
    verdict = f"<p><b>{text_of(view['verdict'])}</b></p>" if view.get("verdict") else ""
    drawn = verdict + (_rows(rows, name) if rows else "")
    if values:
        cells = [[text_of(_words(key)), _text(value)] for key, value in values.items()]
        drawn += table(["", ""], cells, label=title_of(name, view), num=(1,))
    return drawn or f"<p>{text_of(view.get('line', 'Nothing yet.'))}</p>"


def _rows(rows: list[Mapping[str, Any]], name: str) -> str:
    every: Iterable[str] = dict.fromkeys(key for row in rows for key in row)
    keys = [key for key in every if all(_is_plain(row.get(key)) for row in rows)]
    num = [i for i, key in enumerate(keys) if all(isinstance(row.get(key, 0), (int, float)) for row in rows)]
    cells = [[_text(row.get(key)) for key in keys] for row in rows]
    return table([text_of(_words(key)) for key in keys], cells, label=text_of(_words(name)), num=num)


def _words(name: str) -> str:
    return sentence(name.replace("_", " "))


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return f"{value:,.0f}" if abs(value) >= 1000 or isinstance(value, int) else f"{value:.4g}"
    return text_of("–" if value is None else value)
