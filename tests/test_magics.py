"""The cell magic: what it reads of a cell, what it takes along, and what it refuses."""

from __future__ import annotations

import threading

import pytest

from workbench import magics
from workbench.core.errors import InputError


def test_options_have_defaults_and_wrong_ones_are_named() -> None:
    options = magics.parse_options("")
    assert (options.trainers, options.threads, options.session) == (2, 1, "")
    assert magics.parse_options("--trainers 3 --session mine").trainers == 3
    with pytest.raises(InputError, match="--trainers N"):
        magics.parse_options("--trainer many")


def test_the_last_expression_is_the_result_and_a_statement_has_none() -> None:
    assert magics.run_cell("a = 2\na * b", "<cell>", {"b": 21}, None) == 42
    assert magics.run_cell("a = 2", "<cell>", {}, None) is None
    assert magics.run_cell("", "<cell>", {}, None) is None
    assert magics.run_cell("rank_context", "<cell>", {}, "the rank") == "the rank"


def test_names_are_found_in_functions_too_and_only_what_the_notebook_has_travels() -> None:
    tree = magics.prepare_cell("def f(x):\n    return x + offset\nprint(f(start))", "<cell>")
    assert {"offset", "start"} <= set(magics.names_used(tree))
    values = magics.values_of(magics.names_used(tree), {"offset": 1, "start": 2, "unrelated": 3})
    assert values == {"offset": 1, "start": 2}


def test_everything_that_cannot_travel_is_named_at_once() -> None:
    with pytest.raises(InputError) as caught:
        magics.values_of(["lock", "stream"], {"lock": threading.Lock(), "stream": (k for k in range(3))})
    assert {finding.where for finding in caught.value.findings} == {"lock", "stream"}


def test_an_error_in_a_cell_shows_its_line() -> None:
    import traceback

    with pytest.raises(ZeroDivisionError) as caught:
        magics.run_cell("a = 1\na / 0", "<cell of the test>", {}, None)
    assert "a / 0" in "".join(traceback.format_exception(caught.value))


def test_a_session_variable_that_holds_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="a variable that holds a Session"):
        magics.distributed("--session mine", "1", {"mine": 3})
