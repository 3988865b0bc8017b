"""A comparison as a file: CSV, Parquet, HTML."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from workbench.core.errors import Findings
from workbench.dashboard.comparison import Comparison
from workbench.widgets.comparison_static import static_html

FORMATS = ("csv", "parquet", "html")
_HEAD = '<head><meta charset="utf-8"><title>Runs compared</title></head>'
_PAGE = f'<!doctype html>\n<html lang="en">{_HEAD}<body>{{}}</body></html>\n'


def exported(comparison: Comparison, form: str, metric: str | None = None) -> bytes:
    """Return a comparison as the bytes of a file: its history (csv, parquet), or the whole picture (html).

    Raises
    ------
    InputError
        Where the form is another one.
    """
    if form not in FORMATS:
        findings = Findings("export")
        findings.add(
            "form", f"one of {list(FORMATS)} (pictures in PNG: the button of the view)", repr(form), "pass one"
        )
        findings.raise_if_any()
    if form == "csv":
        return comparison.history.to_csv(index=False).encode()
    if form == "parquet":
        buffer = io.BytesIO()
        comparison.history.to_parquet(buffer, index=False)
        return buffer.getvalue()
    return _PAGE.format(static_html(comparison, metric)).encode()


def write(comparison: Comparison, path: Any, metric: str | None = None) -> Path:
    """Write a comparison to a file whose name ends in .csv, .parquet or .html; return its path."""
    path = Path(path)
    path.write_bytes(exported(comparison, path.suffix.removeprefix(".").lower(), metric))
    return path
