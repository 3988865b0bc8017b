"""The only thing that flows back into a run: a small command that the training loop polls between steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

ControlKind = Literal["pause", "resume", "stop", "checkpoint"]
CONTROL_KINDS: tuple[str, ...] = get_args(ControlKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A command for every rank of a run; `id` grows by one a command, so that ranks can agree on it."""

    kind: ControlKind
    id: int
