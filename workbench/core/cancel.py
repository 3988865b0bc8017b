"""How a caller asks for long work to stop."""

from __future__ import annotations

from typing import Protocol


class CancelSignal(Protocol):
    """What long work looks at between its steps: a ``threading.Event``, or anything else with its ``is_set``."""

    def is_set(self) -> bool:
        """Say whether the work should stop."""
        ...
