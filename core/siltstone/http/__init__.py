"""The service over HTTP: ``create_app`` makes it, ``serve`` runs it. It needs the extra ``http``.

A request goes through ``guard`` (host, size, token, rate), is routed to one of ``writing``, ``reading`` and ``moving``,
whose bodies are described in ``bodies``, calls a verb of ``TieredMemory`` and is answered with ``siltstone.wire``. All
errors leave through ``problems``. The pages at ``/``, for people, are in ``inspector``.
"""

from __future__ import annotations

from ..errors import MissingDependencyError

try:
    import fastapi as fastapi
    import uvicorn as uvicorn
except ImportError as exc:
    raise MissingDependencyError.extra(exc.name or "fastapi", "the HTTP service", "http") from exc

from .app import create_app

__all__ = ["create_app"]
