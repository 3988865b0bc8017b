import pytest

from workbench.core.units import format_bytes, format_count, format_seconds


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (124 * 2**20, "124 MiB"), (705 * 2**30, "705 GiB")],
)
def test_bytes(value, text):
    assert format_bytes(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(63436, "63,436"), (11.7e6, "11.7 M"), (370e6, "370 M"), (1.6e9, "1.6 G"), (2e12, "2 T")]
)
def test_counts(value, text):
    assert format_count(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(55e-6, "55 µs"), (0.333, "333 ms"), (1.5, "1.5 s"), (59.999, "60 s"), (89, "1 min 29 s"), (7260, "2 h 1 min")],
)
def test_seconds(value, text):
    assert format_seconds(value) == text
