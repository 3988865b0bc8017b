import re
import xml.etree.ElementTree as ET

import pytest

from workbench.widgets.figures import Chart, Line, bar, figure, nice_range, table, tick_text, ticks
from workbench.widgets.theme import css, part_color, viridis


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 4, [0, 1, 2, 3, 4]), (0, 3000, [0, 1000, 2000, 3000]), (0.62, 0.79, [0.65, 0.7, 0.75]), (5, 5, [5])],
)
def test_ticks_are_round(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high) == expected


def test_ranges_end_on_ticks_and_hold_every_value() -> None:
    assert nice_range([0.62, None, 0.79, float("nan")]) == (0.6, 0.8)
    assert nice_range([1736, 2438], zero=True) == (0, 3000)
    assert nice_range([]) == (0, 1)
    assert nice_range([3.0]) == pytest.approx((2.6, 3.4), abs=0.2)
    assert nice_range([0.0]) == (0, 1)


def test_ticks_are_short() -> None:
    assert [tick_text(value) for value in (0, 0.5, 2000, 12500, 3e6, 2e9)] == ["0", "0.5", "2k", "12.5k", "3M", "2G"]


def test_a_chart_is_valid_svg_and_lifts_the_pen_at_gaps() -> None:
    line = Line(points=[(0, 1.0), (1, None), (2, 3.0), (3, 2.0)], label="2 <b>", dots=True)
    chart = Chart(x_range=(0, 3), y_range=(0, 3), x_title="step", y_title="loss, nats", label="L", lines=[line])
    root = ET.fromstring(chart.svg())
    paths = [element.get("d") for element in root.iter("{http://www.w3.org/2000/svg}path")]
    assert [re.sub(r"[\d. ]+", "", path) for path in paths] == ["MML"]
    assert "2 <b>" in [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]


def test_names_from_data_are_text() -> None:
    assert "<img" not in table(["a"], [["safe"]], label="<img>")
    assert "<script" not in figure("", label="<script>")


def test_bars_stay_within_their_place() -> None:
    assert "width:100.0%" in bar(3.0, "red")
    assert "width:0.0%" in bar(None, "red")


def test_the_theme_has_dark_colours_and_no_outside_address() -> None:
    assert 'data-jp-theme-light="false"' in css() or "data-jp-theme-light=false" in css()
    assert "http" not in css()
    assert part_color(8) == part_color(0)
    assert viridis(0) == "rgb(68,1,84)"
    assert viridis(1) == "rgb(253,231,37)"
