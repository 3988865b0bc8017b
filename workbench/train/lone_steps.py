"""Update rules by which every rank takes steps by itself: what they do not go together with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.errors import Findings

if TYPE_CHECKING:
    from workbench.train.base import Strategy


def refuse_common_steps(strategy: Strategy, trainers: int, findings: Findings, *, instead: str) -> None:
    """Note a strategy whose ranks compute a step together, for a rule by which each takes steps by itself."""
    if strategy.computes_together and trainers > 1:
        got = "a strategy whose ranks exchange rows inside of a step: they would mix rows of different parameters"
        findings.add("update", "ranks that can take a step by themselves", got, instead)
