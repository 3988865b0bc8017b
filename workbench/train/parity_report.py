"""The report of ``check_parity``, as text and as a table."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Literal

from workbench.core.errors import InputError

Verdict = Literal["exact", "differs", "refused"]
_HEADS = ("strategy", "parts", "loss", "gradients", "predictions", "verdict", "first that differs")
_COLOURS = {"exact": "#1a7f37", "differs": "#cf222e", "refused": "#8a6100"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityRow:
    """How one strategy compares with one process on the whole graph.

    Parameters
    ----------
    strategy : str
    num_parts : int
        Ranks that it ran on.
    loss, gradients, predictions : float
        Largest difference over the largest value, where that is above 1; NaN where it was refused.
    verdict : str
        ``exact``, ``differs``, or ``refused`` (a launch would be, for the same reason).
    where : str
        The first layer that differs, or why it was refused.
    """

    strategy: str
    num_parts: int
    loss: float
    gradients: float
    predictions: float
    verdict: Verdict
    where: str = ""

    @classmethod
    def refused(cls, strategy: str, num_parts: int, error: InputError) -> ParityRow:
        """Return the row of a strategy that refuses the model."""
        reasons = "; ".join(f"{finding.where}: {finding.got}" for finding in error.findings)
        nan = math.nan
        return cls(
            strategy=strategy,
            num_parts=num_parts,
            loss=nan,
            gradients=nan,
            predictions=nan,
            verdict="refused",
            where=reasons,
        )

    def cells(self) -> tuple[str, ...]:
        """Return the row as text."""
        numbers = (self.loss, self.gradients, self.predictions)
        shown = ["–" if math.isnan(value) else f"{value:.1e}" for value in numbers]
        return self.strategy, str(self.num_parts), *shown, self.verdict, self.where


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityReport:
    """What ``check_parity`` found; it shows itself as a table.

    Parameters
    ----------
    graph, model : str
        Their names.
    tolerance : float
        Up to where a difference is rounding.
    rows : tuple of ParityRow
    """

    graph: str
    model: str
    tolerance: float
    rows: tuple[ParityRow, ...]

    @property
    def ok(self) -> bool:
        """Say whether every strategy is exact."""
        return all(row.verdict == "exact" for row in self.rows)

    @property
    def headline(self) -> str:
        """Return the verdict in one line."""
        count = sum(row.verdict == "exact" for row in self.rows)
        return (
            f"Parity of {self.model} on {self.graph} with one process on the whole graph (float64, differences up to "
            f"{self.tolerance:.0e} are rounding): {count} of {len(self.rows)} exact"
        )

    def __repr__(self) -> str:
        table = [_HEADS, *(row.cells() for row in self.rows)]
        widths = [max(len(line[column]) for line in table) for column in range(len(_HEADS))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in table]
        return "\n".join([self.headline, *(line.rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        cell = 'style="text-align:left;padding:2px 12px 2px 0;vertical-align:top"'
        heads = "".join(f"<th {cell}>{name}</th>" for name in _HEADS)
        rows = "".join(
            "<tr>" + "".join(f"<td {cell}>{_shown(text, row.verdict)}</td>" for text in row.cells()) + "</tr>"
            for row in self.rows
        )
        return (
            f'<div style="font-family:var(--jp-ui-font-family,sans-serif)"><b>{html.escape(self.headline)}</b>'
            f'<table aria-label="Parity of strategies"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
            "</div>"
        )


def _shown(text: str, verdict: Verdict) -> str:
    escaped = html.escape(text)
    return f'<b style="color:{_COLOURS[verdict]}">{escaped}</b>' if text == verdict else escaped
