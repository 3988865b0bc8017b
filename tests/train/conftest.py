"""What the tests of training share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def new_folder(tmp_path: Path) -> Callable[[], Path]:
    """Return fresh folders for runs."""
    made: list[Path] = []

    def make() -> Path:
        folder = tmp_path / f"run{len(made)}"
        folder.mkdir()
        made.append(folder)
        return folder

    return make
