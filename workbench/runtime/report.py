"""The report of ``doctor``: what was found, each with its fix, and what is there."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass

from workbench.core.errors import Finding

_SIGNS = {"error": "✗", "warning": "!", "info": "·"}
_COLOURS = {"error": "#cf222e", "warning": "#8a6100", "info": "#57606a"}
_ORDER = tuple(_SIGNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What ``doctor`` found.

    Parameters
    ----------
    subject : str
        What was looked at.
    facts : mapping
        What is there, by name.
    findings : tuple of Finding
        What is wrong or worth knowing, the gravest first.
    """

    subject: str
    facts: Mapping[str, str]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Say whether nothing stands in the way of a run."""
        return not any(finding.severity == "error" for finding in self.findings)

    def _sorted(self) -> list[Finding]:
        return sorted(self.findings, key=lambda finding: _ORDER.index(finding.severity))

    @property
    def headline(self) -> str:
        """Return the verdict in one line."""
        counts = [(sum(f.severity == severity for f in self.findings), severity) for severity in _ORDER]
        told = ", ".join(f"{count} {name}{'s' * (count != 1 and name != 'info')}" for count, name in counts if count)
        return f"{self.subject}: {'ready' if self.ok else 'not ready'}" + (f" ({told})" if told else "")

    def __repr__(self) -> str:
        lines = [self.headline]
        for finding in self._sorted():
            lines.append(f"  {_SIGNS[finding.severity]} {finding.where}: {finding.got}")
            lines.append(f"      expected {finding.expected}; fix: {finding.fix}")
        width = max(map(len, self.facts), default=0)
        lines += [f"  {name:<{width}}  {value}" for name, value in self.facts.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        cell = 'style="text-align:left;padding:2px 12px 2px 0;vertical-align:top"'
        rows = [
            f'<tr><td {cell}><b style="color:{_COLOURS[f.severity]}">{_SIGNS[f.severity]} {f.severity}</b></td>'
            + "".join(f"<td {cell}>{html.escape(text)}</td>" for text in (f.where, f.got, f.expected, f.fix))
            + "</tr>"
            for f in self._sorted()
        ]
        heads = "".join(f"<th {cell}>{name}</th>" for name in ("", "where", "got", "expected", "fix"))
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>" if rows else ""
        facts = "".join(
            f"<tr><td {cell}>{html.escape(name)}</td><td {cell}>{html.escape(value)}</td></tr>"
            for name, value in self.facts.items()
        )
        return (
            f'<div style="font-family:var(--jp-ui-font-family,sans-serif)"><b>{html.escape(self.headline)}</b>{table}'
            f"<details><summary>what is there</summary><table>{facts}</table></details></div>"
        )
