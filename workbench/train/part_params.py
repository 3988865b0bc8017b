"""Parameters that all partition-parallel strategies have."""

from __future__ import annotations

from typing import Any

from workbench.core.errors import Findings
from workbench.core.params import param


def partition_param() -> Any:
    """Declare which parts the trainers own."""
    return param("metis", help="one part a trainer: a method's name, its object, or a Partition")


def masks_param() -> Any:
    """Declare how dropout draws its masks."""
    return param(
        "keyed",
        help="keyed: by (step, call, node), so that they are the same for any number of trainers; drawn: by each rank",
        choices=("keyed", "drawn"),
    )


def refuse_samplers(strategy: str, samplers: int, findings: Findings) -> None:
    """Note samplers beside a strategy that samples no batches."""
    if samplers != 0:
        findings.add("samplers", f"0 for {strategy}, which samples nothing", samplers, "remove samplers=")
