from dataclasses import dataclass

import pytest

from workbench.core.errors import InputError
from workbench.core.params import Params, param
from workbench.core.registry import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape(Params):
    """A shape."""


def make_registry() -> Registry[Shape]:
    registry = Registry("shape", Shape, package="workbench.core")

    @registry.register("circle")
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Circle(Shape):
        """A round one."""

        radius: float = param(1.0, help="radius", unit="cm", minimum=0)

    return registry


def test_a_name_or_an_object_gives_the_same():
    registry = make_registry()
    by_name = registry.create("circle", radius=2)
    assert registry.create(by_name) is by_name
    assert registry.from_dict(registry.to_dict(by_name)) == by_name
    assert registry.entry("circle").summary == "A round one."
    assert [info.name for info in registry.entry("circle").params] == ["radius"]


def test_an_unknown_name_lists_the_near_ones():
    with pytest.raises(InputError, match="use 'circle'"):
        make_registry().create("cirle")


def test_keywords_beside_an_object_are_refused():
    registry = make_registry()
    with pytest.raises(InputError, match="radius"):
        registry.create(registry.create("circle"), radius=3)


def test_two_owners_of_one_name_are_our_own_mistake():
    registry = make_registry()
    stranger = dataclass(frozen=True, slots=True, kw_only=True)(
        type("Other", (Shape,), {"__module__": "elsewhere", "__doc__": "Another."})
    )
    with pytest.raises(AssertionError, match="registered twice"):
        registry.register("circle")(stranger)
