"""Models by name at a size for tests."""

from __future__ import annotations

from typing import Any

from workbench.models import MODELS, ModelSpec

_SMALL = {"hidden_channels": 8, "K": 3}


def spec_of(name: str, **params: Any) -> ModelSpec:
    """Return a small model of the registry; a parameter that it does not have is left out."""
    known = {info.name for info in MODELS.entry(name).params}
    wanted = {**_SMALL, **params}
    return MODELS.create(name, **{key: value for key, value in wanted.items() if key in known})
