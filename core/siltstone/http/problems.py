"""Every error as problem details (RFC 9457), whoever raised it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from ..errors import BackendUnavailableError, SiltstoneError, StoreLockedError, for_log
from ..wire import NO_ROUTE, PROBLEM, problem
from .limits import retry_after

logger = logging.getLogger("siltstone.http")

MEDIA_TYPE: Final = "application/problem+json"
_KINDS: Final = {
    400: ("bad-request", "The request cannot be read"),
    401: ("unauthenticated", "A valid token is needed"),
    403: ("access-denied", "The token does not allow it"),
    404: ("not-found", "There is no such thing"),
    405: ("method-not-allowed", "The method is not for this path"),
    408: ("stalled", "The body did not come"),
    409: ("conflict", "It conflicts with another request"),
    413: ("too-large", "The body is too large"),
    415: ("media-type", "The body is of another type than is needed"),
    421: ("wrong-host", "The host is none of this service"),
    422: ("invalid-input", "The input is refused"),
    429: ("too-many-requests", "Too many requests"),
    500: ("error", "Something went wrong in the service"),
    503: ("backend-unavailable", "The service is not ready"),
}
"""Name and title of a problem, by status."""
_MOST_ERRORS: Final = 20


def problem_response(
    status: int,
    detail: str,
    *,
    request_id: str | None = None,
    headers: Mapping[str, str] | None = None,
    kind: str | None = None,
    **more: Any,
) -> Response:
    """Return problem details by status; ``kind`` is what the type ends with, ``more`` are members of their own."""
    name, title = _KINDS.get(status, ("error", "Error"))
    details = {"type": PROBLEM + (kind or name), "title": title, "status": status, "detail": detail}
    return _response({**details, **more}, request_id, headers)


def error_response(error: SiltstoneError, *, request_id: str | None, in_full: bool) -> Response:
    """Return problem details of an error of ours.

    ``in_full``: whether the reader may know what a failure of the server was; others are told to ask with the id.
    """
    details = problem(error)
    if details["status"] >= 500 and not in_full:
        details["detail"] = "the service could not do it; its log says why, under this request_id"
    headers = {}
    if isinstance(error, (StoreLockedError, BackendUnavailableError)):
        headers = retry_after(getattr(error, "retry_after", 0.0))
    return _response(details, request_id, headers)


def _response(details: dict[str, Any], request_id: str | None, headers: Mapping[str, str] | None) -> Response:
    if request_id is not None:
        details["request_id"] = request_id
    body = orjson.dumps(details, default=str)
    return Response(body, details["status"], headers, MEDIA_TYPE)


def handle(app: FastAPI) -> None:
    """Let an application answer every error with problem details; what nobody foresaw is ``observe``'s."""
    app.add_exception_handler(SiltstoneError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _plain_http)


def request_id(request: Request) -> str | None:
    """Return the id of a request, once it has one."""
    found: str | None = request.scope.get("state", {}).get("request_id")
    return found


async def _ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, SiltstoneError)
    grant = request.scope.get("state", {}).get("grant")
    response = error_response(error, request_id=request_id(request), in_full=grant is not None and grant.admin)
    if response.status_code >= 500:
        logger.error("%s", for_log(error), extra={"request_id": request_id(request)})
    return response


async def _invalid(request: Request, error: Exception) -> Response:
    """Say what is wrong with each field, without its value: that may be anything."""
    assert isinstance(error, RequestValidationError)
    found = [{"where": ".".join(map(str, one["loc"])), "what": one["msg"]} for one in error.errors()]
    shown = found[:_MOST_ERRORS]
    detail = "; ".join(f"{one['where']}: {one['what']}" for one in shown[:3])
    return problem_response(422, f"{detail}: nothing was changed", request_id=request_id(request), errors=shown)


async def _plain_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = {
        404: f"there is no {request.method} {request.url.path}; /docs lists what there is",
        405: f"{request.url.path} does not take {request.method}; /docs says what it takes",
    }.get(error.status_code, str(error.detail))
    headers, kind = error.headers or None, NO_ROUTE if error.status_code in (404, 405) else None
    return problem_response(error.status_code, detail, request_id=request_id(request), headers=headers, kind=kind)
