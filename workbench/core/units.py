"""Numbers as a person reads them."""

from __future__ import annotations


def format_bytes(num_bytes: float) -> str:
    """``1536 -> '1.50 KiB'``; three significant digits, binary units."""
    value, units = float(num_bytes), ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    for unit in units:
        if abs(value) < 1024 or unit == units[-1]:
            return f"{value:.0f} B" if unit == "B" else f"{value:.3g} {unit}"
        value /= 1024
    raise AssertionError("unreachable")


def format_count(count: float) -> str:
    """``63436 -> '63,436'``; from ten million on ``'11.7 M'``, then ``'1.6 G'``."""
    if abs(count) < 1e7:
        return f"{count:,.0f}"
    for limit, unit in ((1e9, "M"), (1e12, "G"), (1e15, "T")):
        if abs(count) < limit:
            return f"{count / limit * 1e3:.3g} {unit}"
    return f"{count:.2e}"


def format_seconds(seconds: float) -> str:
    """``0.0042 -> '4.2 ms'``, ``89 -> '1 min 29 s'``."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
