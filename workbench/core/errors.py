"""Errors that a person can act on: where, expected, got, what to do.

A check never stops at the first fault. It collects :class:`Finding` records and raises them together, so
that one look shows everything that has to be mended.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault or remark about an input.

    Parameters
    ----------
    where : str
        The argument, file or place, as the caller wrote it (``"edge_index"``, ``"x[3, 7]"``).
    expected : str
        What would have been right.
    got : str
        What came instead, with the first offending values.
    fix : str
        One line that mends it, as code where possible.
    """

    where: str
    expected: str
    got: str
    fix: str
    severity: Severity = "error"

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}; got {self.got}. Fix: {self.fix}"


class WorkbenchError(ValueError):
    """Base of every error that the workbench raises for a mistake in its input."""


class InputError(WorkbenchError):
    """An input was refused; ``findings`` holds every fault that was found in it."""

    def __init__(self, subject: str, findings: Iterable[Finding]) -> None:
        self.subject = subject
        self.findings = tuple(findings)
        super().__init__(self._text())

    def _text(self) -> str:
        count = len(self.findings)
        head = f"{self.subject}: {count} problem{'s' if count != 1 else ''} found"
        return "\n".join([head, *(f"  {i}. {finding}" for i, finding in enumerate(self.findings, 1))])

    def __reduce__(self) -> tuple[type[InputError], tuple[str, tuple[Finding, ...]]]:
        return type(self), (self.subject, self.findings)


class MissingDependencyError(WorkbenchError):
    """An optional package is needed for what was asked."""


class RunError(WorkbenchError):
    """A run cannot do what was asked of it, or failed; the text names rank, host and cause."""


class Cancelled(RunError):
    """The caller asked for the work to stop; no result was made."""


class Findings:
    """Collects findings while a check goes on, and raises them all at the end."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.items: list[Finding] = []

    def add(self, where: str, expected: str, got: object, fix: str, severity: Severity = "error") -> None:
        """Note one finding; `got` is shown as it prints."""
        self.items.append(Finding(where=where, expected=expected, got=str(got), fix=fix, severity=severity))

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.items if finding.severity == "error")

    def raise_if_any(self) -> None:
        """Raise :class:`InputError` with every error found so far, if there is one."""
        if self.errors:
            raise InputError(self.subject, self.errors)
