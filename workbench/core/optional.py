"""Optional packages: imported where they are used, and named where they are missing."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from workbench.core.errors import MissingDependencyError


def available(module: str) -> bool:
    """Say whether a module can be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


def require(module: str, *, extra: str, reason: str) -> ModuleType:
    """Import an optional module, or say which extra brings it and what it was wanted for."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingDependencyError(
            f"{reason} needs the package {module!r}, which is not installed. Fix: pip install 'gnn-workbench[{extra}]'"
        ) from error
