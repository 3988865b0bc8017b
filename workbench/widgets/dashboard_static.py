"""The dashboard as a picture without scripts: what a saved notebook keeps of a run."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from workbench.core.units import format_bytes
from workbench.dashboard.panels.phases import BETWEEN
from workbench.widgets.dashboard_charts import (
    MANY_EPOCHS,
    MARK_COLORS,
    loss_chart,
    metric_title,
    metrics_chart,
    throughput_chart,
)
from workbench.widgets.dashboard_gantt import gantt
from workbench.widgets.dashboard_plain import plain, title_of
from workbench.widgets.figures import (
    bar,
    chip,
    figure,
    picture,
    svg_text,
    table,
    text_of,
)
from workbench.widgets.theme import part_color, phase_color

View = Mapping[str, Any]
WIDTH = 944.0
LOG_LINES = 12
_KNOWN = ("progress", "verdict", "loss", "metrics", "throughput", "gantt", "phases", "traffic", "memory", "log")
SERIOUS = ("warning", "failure", "restart")
_WORDS = {"pending": "Waiting", "starting": "Starting", "restarting": "Restarting"}
_TONES = {"finished": "done", "failed": "failed", "stopped": "paused", "paused": "paused", "restarting": "failed"}
_LEVELS = {"saved": "done", "warning": "mark", "failure": "failed", "restart": "running"}


def text_summary(views: Mapping[str, View], run: View) -> str:
    """Return a run in words: status, progress, key figures, verdict."""
    progress, verdict = views["progress"], views["verdict"]
    figures = [_figure_text(figure) for figure in _figures(views)]
    lines = [
        f"Run {run['name']}: {_status(views, run)}",
        f"  {progress['summary']}",
        f"  {'; '.join(text for text in figures if text)}",
        f"  {verdict['heads'][0]}: {verdict['what']}. {verdict['where']}",
    ]
    return "\n".join(line for line in lines if line.strip())


def _figure_text(shown: View) -> str:
    if shown["value"] in ("–", "unknown"):
        return ""
    return " ".join(part for part in (shown["label"].lower(), shown["value"], shown["unit"]) if part)


def static_html(views: Mapping[str, View], run: View) -> str:
    """Return a run as HTML and SVG in the style of the live dashboard."""
    body = "".join(
        [
            _header(views, run),
            f'<div class="db-timeline">{_timeline(views["progress"])}</div>',
            f'<div class="db-figures">{"".join(map(_figure, _figures(views)))}</div>',
            _verdict(views["verdict"]),
            '<div class="db-grid">',
            _panel("Training loss", 4, loss_chart(views).svg()),
            _panel(metric_title(views["metrics"]), 4, metrics_chart(views).svg()),
            _panel("Throughput", 4, throughput_chart(views).svg()),
            _panel(
                "Last steps", 12, f'<div class="db-scroll">{gantt(views["gantt"], WIDTH)}</div>', views["gantt"]["line"]
            ),
            f'<div class="db-column">{_panel("Phases per rank", 6, _phases(views["phases"]), views["phases"]["line"])}',
            f'</div><div class="db-column">{_panel("Bytes by kind", 6, _traffic(views["traffic"]))}',
            f"{_panel('Memory and load', 6, _memory(views['memory']), views['memory']['line'])}</div>",
            *(
                _panel(title_of(name, view), 6, plain(name, view), view.get("line", ""))
                for name, view in _others(views)
            ),
            _panel("Events", 12, _log(views["log"]), views["log"]["line"]),
            "</div>",
        ]
    )
    return figure(f'<div class="wb-body db">{body}</div>', label=f"Run {run['name']}", style="dashboard")


def _others(views: Mapping[str, View]) -> list[tuple[str, View]]:
    """Return the panels that this file has no drawing for, as those of other packages."""
    return [(name, view) for name, view in views.items() if name not in _KNOWN]


def _status(views: Mapping[str, View], run: View) -> str:
    ended = run["status"] in ("finished", "stopped", "failed")
    return str(run["status"] if ended else views["progress"]["status"])


def _figures(views: Mapping[str, View]) -> list[View]:
    return [*views["progress"]["figures"], *(views[name]["figure"] for name in ("loss", "metrics", "throughput"))]


def _header(views: Mapping[str, View], run: View) -> str:
    status, progress = _status(views, run), views["progress"]
    lost = status == "failed" and progress["status"] != "failed"
    beat = "its scheduler is gone" if lost else progress["detail"]
    heard = progress["heard_s"]
    when = "" if heard is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(heard))
    told = ", ".join(text for text in (beat, when) if text)
    word = _WORDS.get(status, status.capitalize())
    return (
        '<header class="db-head"><div class="db-title" role="heading" aria-level="2">'
        f"<span>{text_of(run['name'])}</span>"
        f'<span class="db-status" style="--st:var(--wb-{_TONES.get(status, "running")})"><i></i>{word}</span>'
        f'<span class="db-beat">{text_of(told)}</span></div>'
        f'<p class="db-summary">{text_of(progress["summary"])}</p></header>'
    )


def _timeline(progress: View) -> str:
    total, step, epochs = progress["num_steps"], progress["step"], progress["num_epochs"]
    pieces = epochs if total and epochs <= MANY_EPOCHS else 1
    color = "done" if progress["status"] == "finished" else "running"
    drawn = []
    for i in range(pieces):
        left, room = i * WIDTH / pieces, WIDTH / pieces - (2 if i < pieces - 1 else 0)
        share = min(1.0, max(0.0, (step - i * total / pieces) / (total / pieces))) if total else 0.0
        for width, fill in ((room, "track"), (room * share, color)):
            rect = f'<rect x="{left:.1f}" y="14" width="{width:.1f}" height="8" rx="2"'
            drawn.append(f'{rect} style="fill:var(--wb-{fill})"/>' if width else "")
        if i % -(-24 * pieces // int(WIDTH)) == 0 and epochs:
            words = f"epoch {i + 1}" if room >= 64 else str(i + 1)
            drawn.append(svg_text(left, 37, words if pieces > 1 else f"{epochs} epochs"))
    for mark in progress["marks"]:
        x = WIDTH * mark["step"] / total if total else 0.0
        anchor, shift = ("end", -8) if x > WIDTH / 2 else ("start", 8)
        drawn.append(f'<path d="M{x - 4:.1f} 3h8l-4 7z" style="fill:{MARK_COLORS[mark["tone"]]}"/>')
        drawn.append(svg_text(x + shift, 9, mark["text"], anchor=anchor))
    return picture(WIDTH, 40, f"Step {step} of {total}", "".join(drawn))


def _figure(shown: View) -> str:
    tone = shown["tone"]
    unit = f"<span>{text_of(shown['unit'])}</span>" if shown["unit"] and shown["value"] != "–" else ""
    return (
        f'<div class="db-figure" title="{text_of(shown["hint"])}"><div class="db-label">{text_of(shown["label"])}</div>'
        f'<div class="db-value{" muted" if tone == "muted" else ""}">{text_of(shown["value"])}{unit}</div>'
        f'<div class="db-detail {tone if tone != "muted" else ""}">{text_of(shown["detail"])}</div></div>'
    )


def _verdict(verdict: View) -> str:
    texts = (f"<b>{text_of(verdict['what'])}</b>", text_of(verdict["where"]), text_of(verdict["advice"]))
    parts = "".join(
        f'<div><div class="db-label">{text_of(head)}</div><div>{text}</div></div>'
        for head, text in zip(verdict["heads"], texts, strict=True)
    )
    for head, text in verdict["details"].items():
        parts += (
            f'<details class="db-output" open><summary>{text_of(head)}</summary><pre>{text_of(text)}</pre></details>'
        )
    return f'<div class="db-verdict" role="note" style="--fc:{MARK_COLORS[verdict["tone"]]}">{parts}</div>'


def _panel(title: str, span: int, body: str, line: str = "") -> str:
    return (
        f'<details class="db-panel db-span-{span}" open><summary><b>{title}</b>'
        f'<span class="db-line">{text_of(line)}</span></summary><div class="db-panel-body">{body}</div></details>'
    )


def _phases(phases: View) -> str:
    if not phases["ranks"]:
        return "<p>No step finished yet.</p>"
    heads = ["Phase", *(f"Rank {r['rank']}, ms" for r in phases["ranks"])]
    rows, between = [], []
    for row in (row for row in phases["rows"] if row["used"]):
        cells = [_named(_phase_chip(row["phase"]), row["name"]), *map(_ms, row["ms"])]
        (between if row["group"] == BETWEEN else rows).append(cells)
    rows.append(["<b>Step</b>", *(f"<b>{_ms(ms)}</b>" for ms in phases["step_ms"])])
    num = range(1, len(heads))
    note = f"Milliseconds a step, mean of the last {phases['num_steps']} steps; batches are made meanwhile."
    if between:
        rows += [[f'<span class="sec">{BETWEEN}</span>', *("" for _ in num)], *between]
    drawn = table(heads, rows, label="Milliseconds a step by phase and rank", num=num)
    return f'{drawn}<p class="db-note">{note}</p>'


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _phase_chip(phase: str) -> str:
    return '<i class="wb-chip wb-hatched"></i>' if phase.startswith("wait") else chip(phase_color(phase))


def _named(mark: str, name: str) -> str:
    return f'<span class="wb-name">{mark}{text_of(name)}</span>'


def _traffic(traffic: View) -> str:
    if not traffic["rows"]:
        return "<p>Nothing moved yet.</p>"
    most = max(*(row["step_bytes"] for row in traffic["rows"]), 1)
    rows = [
        [
            text_of(row["name"] + (", modelled" if row["modelled"] else "")),
            bar(row["step_bytes"] / most, "var(--wb-hatch)" if row["modelled"] else "var(--wb-ink2)"),
            format_bytes(row["step_bytes"]),
            format_bytes(row["total_bytes"]),
        ]
        for row in traffic["rows"]
    ]
    return table(
        ["Kind", f"0 to {format_bytes(most)} a step", "A step", "Since the start"],
        rows,
        label="Bytes by kind",
        num=(2, 3),
    )


def _memory(memory: View) -> str:
    if not memory["rows"]:
        return "<p>Not measured.</p>"
    most = max(row["rss_bytes"] for row in memory["rows"])
    rows = []
    for row in memory["rows"]:
        limit = "" if row["limit_bytes"] is None else f" of {format_bytes(row['limit_bytes'])}"
        mark = chip(_served_color(row["rank"]), outlined=row["role"] != "trainer")
        share = row["share"] if row["share"] is not None else row["rss_bytes"] / most
        rows.append(
            [
                _named(mark, row["name"]),
                bar(share, "var(--wb-ink2)"),
                format_bytes(row["rss_bytes"]) + limit,
                f"{row['cpu_percent']:.0f}%",
            ]
        )
    limited = all(row["limit_bytes"] is not None for row in memory["rows"])
    scale = "0 to its limit" if limited else f"0 to {format_bytes(most)}"
    return table(
        ["Process", scale, "Memory", "CPU, of a core"], rows, label="Memory and load of each process", num=(2, 3)
    )


def _served_color(rank: int) -> str:
    return part_color(rank) if rank >= 0 else "var(--wb-ink2)"


def _log(log: View) -> str:
    newest = sorted(log["entries"], key=int, reverse=True)
    serious = [key for key in newest if log["entries"][key]["level"] in SERIOUS][: LOG_LINES - 4]
    shown = {*serious, *newest[: LOG_LINES - len(serious)]}
    rows = []
    for key in (key for key in newest if key in shown):
        entry = log["entries"][key]
        color = f"var(--wb-{_LEVELS.get(entry['level'], 'ink2')})"
        mark = f'<i class="db-level" style="--c:{color}"></i>'
        clock = time.strftime("%H:%M:%S", time.localtime(entry["time_s"]))
        where, text = text_of(entry["where"]), text_of(entry["text"])
        rows.append([clock, f"{entry['step']:,}", _named(mark, entry["level"]), where, text])
    heads = ["Time", "Step", "Level", "Where", "What"]
    return f'<div class="db-log">{table(heads, rows, label="Events, newest first", num=(1,))}</div>'
