"""The table of a campaign, by kind of fault."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.chaos.plan import KINDS

HEAD = "| fault | faults | as it must be | ends | told after, s | trains again after, s | end after, s |\n"
RULE = "|---|---|---|---|---|---|---|\n"


def table_of(records: Sequence[dict[str, Any]], wanted: int) -> str:
    """Return Markdown: a row a kind with medians and maxima, then what was wrong."""
    lines = [HEAD, RULE]
    for kind in KINDS:
        of_kind = [record for record in records if record["kind"] == kind.name]
        if of_kind:
            right = sum(not record["wrong"] for record in of_kind)
            ends = kind.ends + (", resumed: finished" if kind.resumes else "")
            figures = " | ".join(_spread(of_kind, name) for name in ("told_s", "again_s", "end_s"))
            lines.append(f"| {kind.name} | {len(of_kind)} | {right} | {ends} | {figures} |\n")
    right = sum(not record["wrong"] for record in records)
    loads = [record["load"] for record in records] or [0.0]
    lines.append(f"\n{right} of {len(records)} faults ({wanted} planned) left everything as it must be; ")
    lines.append(f"load of the machine {min(loads):.1f} to {max(loads):.1f}, median {statistics.median(loads):.1f}.\n")
    wrong = [f"- {r['number']} {r['kind']} at {r['when']}: {'; '.join(r['wrong'])}\n" for r in records if r["wrong"]]
    return "".join([*lines, *(["\n", *wrong] if wrong else [])])


def _spread(records: Sequence[dict[str, Any]], name: str) -> str:
    values = [record[name] for record in records if name in record]
    return f"{statistics.median(values):.2f} ({max(values):.2f})" if values else ""
