from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.dashboard.delta import SAME, diff, patched

plain = st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2)
arrays = st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), max_size=6).map(
    lambda rows: np.array(rows, np.float32).reshape(-1, 2)
)
trees = st.recursive(
    plain | arrays,
    lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=12,
)


def same(left: Any, right: Any) -> bool:
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return left.shape == right.shape and bool((left == right).all())
    return type(left) is type(right) and left == right


@given(trees, trees)
def test_a_change_applied_gives_the_new_view(old: Any, new: Any) -> None:
    assert same(patched(old, diff(old, new)), new)


@given(trees)
def test_equal_views_have_no_change(view: Any) -> None:
    assert diff(view, view) is SAME


def test_an_array_that_grew_sends_its_new_rows() -> None:
    old = np.arange(10, dtype=np.float32).reshape(5, 2)
    new = np.vstack([old, [[7, 7]]]).astype(np.float32)
    change = diff({"points": old}, {"points": new})
    assert change["$merge"]["points"]["$tail"] == 5
    assert change["$merge"]["points"]["rows"].tolist() == [[7, 7]]


def test_a_nan_that_stays_is_no_change() -> None:
    array = np.array([[1, np.nan]], np.float32)
    assert diff(array, array.copy()) is SAME


def test_a_list_of_rows_sends_the_fields_that_changed() -> None:
    old = [{"name": "gather", "count": 1}, {"name": "exchange", "count": 0}]
    new = [{"name": "gather", "count": 2}, {"name": "exchange", "count": 0}]
    assert diff(old, new) == {"$items": {"0": {"$merge": {"count": 2}}}}


def test_a_true_is_not_a_one() -> None:
    assert diff({"done": 1}, {"done": True}) == {"$merge": {"done": True}}
