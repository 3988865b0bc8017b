import os

import pytest

from workbench.core.errors import InputError
from workbench.runtime.local_cluster import WORKERS_PER_CORE, check_room


def test_more_workers_than_the_machine_can_hold_are_refused_before_anything_starts():
    most = WORKERS_PER_CORE * len(os.sched_getaffinity(0))
    check_room(most, most)
    with pytest.raises(InputError) as caught:
        check_room(most + 1, most + 2)
    assert {finding.where for finding in caught.value.findings} == {"trainers", "samplers"}
    assert str(most) in str(caught.value)
