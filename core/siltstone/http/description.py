"""The OpenAPI description: what every route has in common is added to what FastAPI finds in it."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from ..wire import NDJSON
from .idempotency import HEADER, KEYED
from .problems import MEDIA_TYPE

ABOUT: Final = (
    "Long-term memory for applications with language models: add what was said, recall what matters. "
    "Every error is a problem document (RFC 9457). A token is sent as `Authorization: Bearer …`; one of a user reads "
    "and writes this user's memory only. Ids in paths are percent-encoded. What is recalled is data, no instructions."
)
_PROBLEM: Final[dict[str, Any]] = {
    "title": "Problem",
    "description": "What went wrong (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:siltstone:problem:not-found"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What happened, what is safe, what to do."},
        "request_id": {"type": "string", "description": "By which the service's log knows the request."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"where": {"type": "string"}, "what": {"type": "string"}},
            },
        },
    },
}
_ALWAYS: Final = {
    "401": "No token, or one that is not good.",
    "403": "The token is good for another user, or a page of another origin asks.",
    "421": "The service does not go by this name.",
    "429": "Too many requests; `Retry-After` says when to try again.",
    "503": "The memory cannot be reached; `Retry-After` says when to try again.",
}
_WITH_ID: Final = {"404": "There is no such thing."}
_WITH_INPUT: Final = {"422": "The input is refused: nothing was changed."}
_WITH_BODY: Final = {
    "404": "What the request rests on is not there.",
    "408": "The body did not come.",
    "409": "What is stored is another version, or the same request is still worked on.",
    "413": "The body is too large.",
    "415": "The body is of another type.",
    "502": "A model failed.",
}
_STREAMS: Final = {
    "/memory/records": (NDJSON, "A record on each line; the last line counts them."),
    "/memory/export": (NDJSON, "An item on each line; the last line counts them."),
    "/metrics": ("text/plain", "Figures as Prometheus reads them."),
}


def describe(app: FastAPI, *, has_tokens: bool) -> None:
    """Let ``app.openapi()`` tell errors, tokens, streams and idempotency keys too."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(title=app.title, version=app.version, description=ABOUT, routes=app.routes)
            app.openapi_schema = _completed(made, has_tokens)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _completed(made: dict[str, Any], has_tokens: bool) -> dict[str, Any]:
    components = made.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas["Problem"] = _PROBLEM
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    if has_tokens:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    for path, operations in made["paths"].items():
        for operation in operations.values():
            _complete(path, operation, has_tokens)
    return made


def _complete(path: str, operation: dict[str, Any], has_tokens: bool) -> None:
    is_memory = path.startswith("/memory")
    problems = dict(_ALWAYS) if is_memory or path in ("/metrics", "/readyz") else {"421": _ALWAYS["421"]}
    if is_memory:
        problems |= _WITH_INPUT
    if "{id}" in path:
        problems |= _WITH_ID
    if "requestBody" in operation or path == "/memory/import":
        problems |= _WITH_BODY
    responses = operation["responses"]
    for status, what in problems.items():
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
        responses[status] = {"description": what, "content": content}
    if path in _STREAMS:
        media_type, what = _STREAMS[path]
        responses["200"] = {"description": what, "content": {media_type: {"schema": {"type": "string"}}}}
    if path == "/memory/import":
        content = {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
        operation["requestBody"] = {"description": "The file, as it is.", "content": content}
    if path in KEYED:
        operation.setdefault("parameters", []).append(_KEY)
    if has_tokens and (is_memory or path == "/metrics"):
        operation["security"] = [{"token": []}]


_KEY: Final = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "description": "Sent again with the same key, the request is done once.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}
