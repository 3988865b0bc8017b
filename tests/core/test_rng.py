import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.rng import generator, key64, mix64, torch_seed


def test_mix64_is_splitmix64():
    # First outputs of SplitMix64 seeded with 0 (the reference implementation by Vigna).
    golden = 0x9E3779B97F4A7C15
    assert mix64(golden) == 0xE220A8397B1DCDAF
    assert mix64(2 * golden) == 0x6E789E6AA1B965F4


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5))
def test_keys_are_stable_64_bit_and_depend_on_every_part(parts):
    key = key64(*parts)
    assert 0 <= key < 2**64
    assert key == key64(*parts)
    changed = [*parts[:-1], parts[-1] ^ 1]
    assert key64(*changed) != key
    assert 0 <= torch_seed(*parts) < 2**63


def test_the_order_of_the_parts_matters():
    assert key64(1, 2) != key64(2, 1)


def test_equal_keys_give_equal_streams_and_others_do_not():
    first, again, other = generator(3, 1), generator(3, 1), generator(3, 2)
    draws = first.integers(0, 2**62, 100)
    assert np.array_equal(draws, again.integers(0, 2**62, 100))
    assert not np.array_equal(draws, other.integers(0, 2**62, 100))
