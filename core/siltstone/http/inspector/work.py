"""What the worker is at, what has failed, how much there is, and how it has grown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from fastapi import APIRouter, Request, Response

from ...lifecycle.jobs import Job, jobs
from ...quality.page.html import tag, text
from ...records import Record, Stats
from ..reading import for_one_user
from . import parts
from .route import PageRoute
from .view import View, fields

router = APIRouter(prefix="/inspector", include_in_schema=False, route_class=PageRoute)

_MONTHS: Final = 24
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


@router.get("/work")
def work(request: Request, done: int | None = None) -> Response:
    """Show queue, dead letters, size and growth."""
    view = View.of(request)
    words = view.words
    stats = view.memory.stats()
    if not request.state.grant.admin:
        stats = for_one_user(stats)
    open_jobs = [job for job in jobs(view.engine.store, view.memory.user_id) if job.state != "done"]
    months = by_month(view.memory.records())
    growth = parts.bars(
        words.growth_hint, (words.month, words.stored), [(name, n, f"{n:,}") for name, n in months[-_MONTHS:]]
    )
    error = tag("p", text(words.last_error.format(error=stats.last_error)), class_="wrong") if stats.last_error else ""
    return parts.page(
        view.look,
        words.work,
        error,
        parts.section(words.jobs, _jobs(view, [job for job in open_jobs if job.state != "dead"]), id="jobs"),
        parts.section(words.dead, _dead(view, [job for job in open_jobs if job.state == "dead"]), id="dead"),
        parts.section(words.size, _counts(view, stats), _bytes(view, stats), id="size"),
        parts.section(words.growth, growth, id="growth") if months else "",
        notice="" if done is None else words.did.format(n=done),
    )


@router.post("/work")
def consolidate(request: Request) -> Response:
    """Do what is due now; dead letters too, where the form says so."""
    view = View.of(request)
    report = view.memory.consolidate(retry=fields(request).get("retry") == "yes")
    return view.go("/inspector/work", done=len(report.rows))


def by_month(records: Iterable[Record]) -> list[tuple[str, int]]:
    """Return how many records were stored in each month, in order."""
    return sorted(Counter(f"{record.stored_at:%Y-%m}" for record in records).items())


def size(number: float) -> str:
    """Return bytes as people read them."""
    unit = 0
    while number >= 1024 and unit < len(_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{number:.0f} {_UNITS[unit]}" if unit == 0 else f"{number:.1f} {_UNITS[unit]}"


def _jobs(view: View, found: list[Job]) -> str:
    words = view.words
    lines = [tag("li", text(job.name), " ", tag("span", text(words.states[job.state]), class_="kind")) for job in found]
    listed = tag("ul", *lines, class_="cards") if lines else tag("p", text(words.no_jobs), class_="quiet")
    return listed + view.form("/inspector/work", tag("button", text(words.do_due), class_="second"))


def _dead(view: View, found: list[Job]) -> str:
    words = view.words
    if not found:
        return tag("p", text(words.no_dead), class_="quiet")
    lines = []
    for job in found:
        name = parts.link(job.name, parts.session_url(view, job.session_id)) if job.session_id else text(job.name)
        lines.append(tag("li", tag("p", name), tag("p", text(f"{job.attempts} × {job.error}"), class_="text")))
    retry = view.form(
        "/inspector/work",
        '<input type="hidden" name="retry" value="yes">',
        tag("button", text(words.retry), class_="second"),
    )
    return tag("p", text(words.dead_hint)) + tag("ul", *lines, class_="cards") + retry


def _counts(view: View, stats: Stats) -> str:
    words = view.words
    found = {
        "messages": stats.messages,
        "sessions": stats.sessions,
        "records": stats.records,
        "pending": stats.pending_vectors,
        "reviews": stats.reviews,
    }
    rows = [(words.sizes[name], f"{number:,}") for name, number in found.items()]
    rows += [(words.kinds.get(kind, kind), f"{number:,}") for kind, number in stats.kinds.items()]
    if stats.compression is not None:
        rows.append((words.sizes["compression"], f"{stats.compression:g} : 1"))
    lines = [
        tag("tr", tag("th", text(name), scope="row"), tag("td", text(shown), class_="number")) for name, shown in rows
    ]
    return tag("table", tag("caption", text(words.counts)), tag("tbody", *lines))


def _bytes(view: View, stats: Stats) -> str:
    names = view.words.disk
    rows = [(names.get(part, part), float(number), size(number)) for part, number in stats.bytes.items()]
    return parts.bars(view.words.size, (view.words.size, view.words.count), rows) if rows else ""
