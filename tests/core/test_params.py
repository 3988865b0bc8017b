from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

from workbench.core.errors import InputError
from workbench.core.params import Params, param


@dataclass(frozen=True, slots=True, kw_only=True)
class Example(Params):
    """An example."""

    fanouts: tuple[int, ...] = param((15, 10), help="neighbours a hop", minimum=-1)
    rate: float = param(0.5, help="dropped share", minimum=0, maximum=1)
    limit: int | None = param(None, help="a limit or None", unit="bytes", minimum=1)
    mode: Literal["fast", "exact"] = param("fast", help="how")
    method: str = param("a", help="which", choices=("a", "b"))
    replace: bool = param(False, help="with replacement")


def test_values_are_converted_without_loss():
    made = Example.from_kwargs({"fanouts": [np.int64(3), 4.0], "rate": 1, "limit": np.int32(7), "mode": "exact"})
    assert made.fanouts == (3, 4)
    assert made.rate == 1.0
    assert made.limit == 7
    assert made.to_dict()["fanouts"] == [3, 4]


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"fanouts": "15"}, ["fanouts", "sequence of whole numbers"]),
        ({"fanouts": (15, -2)}, ["fanouts", "at least -1", "-2"]),
        ({"rate": 1.5}, ["rate", "at most 1"]),
        ({"rate": float("nan")}, ["rate", "at least 0"]),
        ({"limit": 2.5}, ["limit", "a whole number or None", "2.5"]),
        ({"limit": 0}, ["limit", "at least 1 bytes"]),
        ({"mode": "slow"}, ["mode"]),
        ({"method": "c"}, ["method", "['a', 'b']"]),
        ({"replace": 1}, ["replace", "True or False"]),
        ({"rate": True}, ["rate"]),
        ({"fanout": (1,)}, ["fanout", "unknown keyword"]),
    ],
)
def test_a_wrong_value_is_named_with_what_was_expected(kwargs, words):
    with pytest.raises(InputError) as caught:
        Example.from_kwargs(kwargs)
    for word in words:
        assert word in str(caught.value)


def test_every_wrong_keyword_is_in_one_error():
    with pytest.raises(InputError) as caught:
        Example.from_kwargs({"fanouts": "x", "rate": 2, "colour": 1})
    assert {finding.where for finding in caught.value.findings} == {"fanouts", "rate", "colour"}


def test_a_missing_parameter_is_named():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Needs(Params):
        """Needs one."""

        count: int = param(help="how many")

    with pytest.raises(InputError, match=r"pass count="):
        Needs.from_kwargs({})
