"""What changed between two views, so that a message carries little; and the change applied again.

A view is a tree of mappings, lists, plain values and arrays. A change of a mapping is ``{"$merge": {key: change},
"$gone": [keys]}``, of a list of as many mappings as before ``{"$items": {index: change}}``, of an array that only grew
or changed at its end ``{"$tail": first row, "rows": rows}``; everything else is replaced by its new value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


class _Same:
    """The change that is none."""


SAME = _Same()


def diff(old: Any, new: Any) -> Any:
    """Return the change from `old` to `new`, or ``SAME``."""
    if old is new:
        return SAME
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return _diff_mappings(old, new)
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return _diff_arrays(old, new)
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new) and new:
        return _diff_lists(old, new)
    return SAME if type(old) is type(new) and old == new else new


def _diff_mappings(old: Mapping[str, Any], new: Mapping[str, Any]) -> Any:
    changes = {key: diff(old[key], value) if key in old else value for key, value in new.items()}
    merge = {key: change for key, change in changes.items() if change is not SAME}
    gone = [key for key in old if key not in new]
    if not merge and not gone:
        return SAME
    return {"$merge": merge, "$gone": gone} if gone else {"$merge": merge}


def _diff_lists(old: list[Any], new: list[Any]) -> Any:
    changes = {str(i): diff(before, after) for i, (before, after) in enumerate(zip(old, new, strict=True))}
    items = {index: change for index, change in changes.items() if change is not SAME}
    if not items:
        return SAME
    return {"$items": items} if all(isinstance(item, Mapping) for item in (*old, *new)) else new


def _diff_arrays(old: np.ndarray[Any, Any], new: np.ndarray[Any, Any]) -> Any:
    if old.dtype != new.dtype or old.shape[1:] != new.shape[1:]:
        return new
    rows = min(len(old), len(new))
    both_nan = np.isnan(old[:rows]) & np.isnan(new[:rows]) if old.dtype.kind == "f" else False
    equal = ((old[:rows] == new[:rows]) | both_nan).all(axis=tuple(range(1, old.ndim)))
    first = rows if equal.all() else int(np.argmin(equal))
    if first == len(old) == len(new):
        return SAME
    return {"$tail": first, "rows": new[first:]} if first else new


def patched(old: Any, change: Any) -> Any:
    """Return `old` after a change; the browser does the same."""
    if change is SAME:
        return old
    if isinstance(change, Mapping) and "$merge" in change:
        gone = set(change.get("$gone", ()))
        kept = {key: value for key, value in old.items() if key not in gone}
        return {**kept, **{key: patched(kept.get(key), value) for key, value in change["$merge"].items()}}
    if isinstance(change, Mapping) and "$items" in change:
        return [patched(item, change["$items"].get(str(i), SAME)) for i, item in enumerate(old)]
    if isinstance(change, Mapping) and "$tail" in change:
        return np.concatenate([old[: change["$tail"]], change["rows"]])
    return change
