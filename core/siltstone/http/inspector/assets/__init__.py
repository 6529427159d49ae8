"""Style, script and icon of the pages: files beside this one, served as they are."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from fastapi import APIRouter, Response

from ..route import OpenRoute

router = APIRouter(prefix="/inspector", include_in_schema=False, route_class=OpenRoute)


@router.get("/page.css")
async def style() -> Response:
    """Return the style sheet."""
    return Response(_read("page.css"), media_type="text/css")


@router.get("/page.js")
async def script() -> Response:
    """Return the script, without which everything works, too."""
    return Response(_read("page.js"), media_type="text/javascript")


@router.get("/icon.svg")
async def icon() -> Response:
    """Return the picture of the tab."""
    return Response(_read("icon.svg"), media_type="image/svg+xml")


@cache
def _read(name: str) -> bytes:
    return (files(__package__) / name).read_bytes()
