import pytest

from workbench.core.errors import MissingDependencyError
from workbench.core.optional import available, require


def test_a_missing_package_is_named_with_its_extra():
    assert not available("no_such_package_anywhere")
    with pytest.raises(MissingDependencyError, match=r"gnn-workbench\[gpu\]"):
        require("no_such_package_anywhere", extra="gpu", reason="Reading GPU memory")


def test_a_present_package_is_returned():
    assert require("json", extra="gpu", reason="x").loads("1") == 1
