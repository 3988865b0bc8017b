"""The dashboard as a picture without scripts: what a saved notebook keeps of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from workbench.widgets.dashboard_charts import (
    MANY_EPOCHS,
    MARK_COLORS,
    loss_chart,
    metric_title,
    metrics_chart,
    throughput_chart,
)
from workbench.widgets.dashboard_gantt import gantt
from workbench.widgets.dashboard_layout import HEIGHTS, shown_panels
from workbench.widgets.dashboard_plain import plain, title_of
from workbench.widgets.dashboard_tables import cache, memory, named, phases, staleness, stragglers, traffic
from workbench.widgets.figures import figure, picture, svg_text, table, text_of

View = Mapping[str, Any]
WIDTH = 944.0
LOG_LINES = 12
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


def static_html(views: Mapping[str, View], run: View, layout: View | None = None) -> str:
    """Return a run as HTML and SVG in the style of the live dashboard, with the panels of a layout."""
    body = "".join(
        [
            _header(views, run),
            f'<div class="db-timeline">{_timeline(views["progress"])}</div>',
            f'<div class="db-figures">{"".join(map(_figure, _figures(views)))}</div>',
            _verdict(views["verdict"]),
            f'<div class="db-grid">{_placed(views, shown_panels(views, layout or {}))}</div>',
        ]
    )
    return figure(f'<div class="wb-body db">{body}</div>', label=f"Run {run['name']}", style="dashboard")


def _placed(views: Mapping[str, View], names: list[str]) -> str:
    """Return panels in their order, runs of half ones in two columns of about equal height."""
    drawn, columns = "", [("", 0.0), ("", 0.0)]

    def flushed() -> str:
        made = "".join(f'<div class="db-column">{body}</div>' for body, _ in columns) if columns[0][0] else ""
        columns[:] = [("", 0.0), ("", 0.0)]
        return made

    for name in names:
        panel, span = _draw(name, views)
        if span == 6:
            at = 1 if columns[1][1] < columns[0][1] else 0
            columns[at] = columns[at][0] + panel, columns[at][1] + HEIGHTS.get(name, 2.0)
        else:
            drawn += flushed() + panel
    return drawn + flushed()


def _draw(name: str, views: Mapping[str, View]) -> tuple[str, int]:
    view = views[name]
    if name not in _DRAWERS:  # as of another package
        return _panel(title_of(name, view), 6, plain(name, view), view.get("line", "")), 6
    title, span, draw = _DRAWERS[name]
    heading = metric_title(view) if name == "metrics" else title
    return _panel(heading, span, draw(views), "" if span == 4 else view["line"]), span


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
        rows.append([clock, f"{entry['step']:,}", named(mark, entry["level"]), where, text])
    heads = ["Time", "Step", "Level", "Where", "What"]
    return f'<div class="db-log">{table(heads, rows, label="Events, newest first", num=(1,))}</div>'


_DRAWERS: Mapping[str, tuple[str, int, Callable[[Mapping[str, View]], str]]] = {
    "loss": ("Training loss", 4, lambda views: loss_chart(views).svg()),
    "metrics": ("Validation", 4, lambda views: metrics_chart(views).svg()),
    "throughput": ("Throughput", 4, lambda views: throughput_chart(views).svg()),
    "gantt": ("Last steps", 12, lambda views: f'<div class="db-scroll">{gantt(views["gantt"], WIDTH)}</div>'),
    "phases": ("Phases per rank", 6, lambda views: phases(views["phases"])),
    "traffic": ("Bytes by kind", 6, lambda views: traffic(views["traffic"])),
    "cache": ("Cache", 6, lambda views: cache(views["cache"])),
    "staleness": ("Staleness", 6, lambda views: staleness(views["staleness"])),
    "stragglers": ("Stragglers", 6, lambda views: stragglers(views["stragglers"])),
    "memory": ("Memory and load", 6, lambda views: memory(views["memory"])),
    "log": ("Events", 12, lambda views: _log(views["log"])),
}
