"""A search, with the parts of each score drawn as bars."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response

from ...quality.page.html import attributes, tag, text
from ...records import KINDS, Hit
from . import parts
from .route import PageRoute
from .view import View

router = APIRouter(prefix="/inspector", include_in_schema=False, route_class=PageRoute)

_TOP: Final = 20
_LONGEST: Final = 4_000


@router.get("/search")
def search(request: Request, q: str = "", kind: str = "") -> Response:
    """Show what is found for a query, best first."""
    view = View.of(request)
    words = view.words
    asked = q.strip()[:_LONGEST]
    hits = view.memory.search(asked, top_k=_TOP, kinds=kind or None) if asked else []
    found = words.found.format(n=len(hits)) if hits else words.nothing_found
    pending = view.memory.stats().pending_vectors if asked else 0
    return parts.page(
        view.look,
        words.search,
        search_form(view, asked, kind),
        tag("p", text(words.no_vectors.format(n=pending)), class_="quiet") if pending else "",
        tag("p", text(found), role="status", id="found") if asked else "",
        tag("ol", *(_hit(view, hit, number) for number, hit in enumerate(hits, 1)), class_="cards hits")
        if hits
        else "",
    )


def search_form(view: View, asked: str = "", kind: str = "") -> str:
    """Return the form that searches."""
    words = view.words
    control = attributes(type="search", id="q", name="q", value=asked, required=True, aria_describedby="q-hint")
    kinds = parts.options([("", words.all_kinds), *((one, words.kinds[one]) for one in KINDS)], kind)
    return parts.query_form(
        view,
        "/inspector/search",
        parts.field(words.query, f"<input{control}>", of="q", hint=words.query_hint),
        parts.field(words.kind, tag("select", kinds, id="kind", name_="kind"), of="kind"),
        tag("button", text(words.go)),
        role="search",
    )


def _hit(view: View, hit: Hit, number: int) -> str:
    """Return a hit: its text, its score, and what this is the sum of."""
    words = view.words
    shares = sorted(
        ((name, value) for name, value in hit.why.items() if ":" not in name and value),
        key=lambda one: -abs(one[1]),
    )
    rows = [(words.score_parts.get(name, name), value, f"{value:+.2f}") for name, value in shares]
    remarks = [name for name in hit.why if ":" in name]
    drawn = parts.bars(words.parts, (words.parts, words.score.format(score="")), rows) if rows else ""
    why = tag("p", text(f"{words.remarks}: {', '.join(remarks)}"), class_="quiet") if remarks else ""
    title = tag("summary", text(words.score.format(score=f"{hit.score:.2f}")))
    return parts.record_line(view, hit.record, tag("details", title, drawn, why, open=number <= 3))
