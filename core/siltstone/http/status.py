"""Routes for whoever runs the service: whether it lives, whether it can work, what it does, and what it takes."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from . import answers, metrics, page
from .answers import answer

router = APIRouter(tags=["service"])


@router.get("/healthz", response_model=answers.Status)
async def healthz() -> Response:
    """Say that the process is alive."""
    return answer({"status": "ok"})


@router.get("/readyz", response_model=answers.Status)
async def readyz(request: Request) -> Response:
    """Say that the memory is open; 503 where it is not."""
    request.app.state.service.memory  # noqa: B018 - it raises what is to be said
    return answer({"status": "ready"})


@router.get("/metrics", response_class=Response)
async def figures(request: Request) -> Response:
    """Return requests, and what each stage of the memory's work has cost, for Prometheus."""
    return Response(request.app.state.service.metrics.text(), media_type=metrics.MEDIA_TYPE)


@router.get("/docs", response_class=Response, include_in_schema=False)
async def docs(request: Request) -> Response:
    """Return this description as a page for people, without anything from elsewhere."""
    return page.response(request.app.openapi())
