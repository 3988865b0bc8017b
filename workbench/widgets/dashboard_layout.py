"""How a person arranged the panels: their order, and which are shown or hidden against the usual choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.core.errors import Findings

USUAL = (
    *("loss", "metrics", "throughput", "gantt", "phases", "traffic"),
    *("cache", "staleness", "stragglers", "memory", "log"),
)

HEIGHTS = {"phases": 3.9, "traffic": 2.4, "cache": 1.2, "staleness": 1.0, "stragglers": 1.2, "memory": 1.3}  # about


def check_layout(layout: Any, panels: Iterable[str]) -> dict[str, Any]:
    """Return a layout ``{"order": [names], "shown": {name: bool}}`` of panels that exist; both may be missing.

    Raises
    ------
    InputError
        Where it is something else.
    """
    findings, known = Findings("arrange"), set(panels)
    order = layout.get("order", []) if isinstance(layout, Mapping) else None
    shown = layout.get("shown", {}) if isinstance(layout, Mapping) else None
    if not isinstance(order, (list, tuple)) or not isinstance(shown, Mapping):
        findings.add("layout", "{order: [names], shown: {name: true or false}}", repr(layout)[:80], "send such a one")
        findings.raise_if_any()
    for name in dict.fromkeys([*map(str, order), *map(str, shown)]):
        if name not in known:
            findings.add("layout", f"names among {sorted(known)}", repr(name), "leave it out")
    findings.raise_if_any()
    kept: dict[str, Any] = {}
    if order:
        kept["order"] = list(dict.fromkeys(order))
    if shown:
        kept["shown"] = {name: bool(value) for name, value in shown.items()}
    return kept


def shown_panels(views: Mapping[str, Mapping[str, Any]], layout: Mapping[str, Any]) -> list[str]:
    """Return the panels to be drawn, in order: as chosen, else in the usual order those that the run uses."""
    names = [name for name in views if name not in ("progress", "verdict")]
    usual = [*(name for name in USUAL if name in names), *(name for name in names if name not in USUAL)]
    usual = [*(name for name in usual if name != "log"), *(name for name in usual if name == "log")]
    order = [name for name in layout.get("order", ()) if name in names]
    order += [name for name in usual if name not in order]
    chosen = layout.get("shown", {})
    return [name for name in order if chosen.get(name, views[name].get("used", True) is not False)]
