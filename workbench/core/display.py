"""How a run is shown in a notebook: a layer above registers its renderer here, so that no layer below knows it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

RunRenderer = Callable[[Any], Any]

_renderers: list[RunRenderer] = []
_NOTEBOOK_RENDERER = ("workbench.widgets.training_dashboard", "dashboard_of")  # imported when a notebook shows a run


def register_run_renderer(renderer: RunRenderer) -> None:
    """Let ``renderer(run)`` return what shows a run: an object with ``_repr_mimebundle_``, such as a widget.

    The renderer registered last is used.
    """
    _renderers[:] = [renderer]


def render_run(run: Any) -> Any | None:
    """Return what shows a run: what is registered, in a notebook the dashboard, else None (text and HTML)."""
    if _renderers:
        return _renderers[0](run)
    if not _in_notebook():
        return None
    module, name = _NOTEBOOK_RENDERER
    return getattr(importlib.import_module(module), name)(run)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")
