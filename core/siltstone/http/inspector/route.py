"""Routes of pages: who may, what is refused and how that looks, and the policy under which a browser shows it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar, Final

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from ...errors import SiltstoneError, for_log
from ...wire import problem
from ..problems import request_id
from . import failure
from .session import BROWSER, LANGUAGE, Session, cookie, read_form
from .view import Look

logger = logging.getLogger("siltstone.http")

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",  # with none at all, browsers do not say which origin a form comes from
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class PageRoute(APIRoute):
    """A route that answers with a page, whatever happens, and takes forms of this page's only."""

    needs_token: ClassVar[bool] = True

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, for requests of browsers."""
        handler = super().get_route_handler()

        async def shown(request: Request) -> Response:
            session = Session.of(request.headers, request.query_params.get("lang"))
            request.state.session = session
            if _comes_from_elsewhere(request):
                return under_policy(failure.arrival(Look.of(request)))
            try:
                response = await self._answer(request, session, handler)
            except SiltstoneError as exc:
                response = _failed(request, exc)
            except RequestValidationError:
                response = failure.page(Look.of(request), 422, "")
            under_policy(response)
            if session.is_new:
                response.headers.append("Set-Cookie", cookie(BROWSER, session.browser, headers=request.headers))
            if "lang" in request.query_params:
                response.headers.append("Set-Cookie", cookie(LANGUAGE, session.language, headers=request.headers))
            return response

        return shown

    async def _answer(
        self, request: Request, session: Session, handler: Callable[[Request], Coroutine[Any, Any, Response]]
    ) -> Response:
        if self.needs_token and request.state.grant is None:
            return failure.login(Look.of(request), status=401, was_refused=bool(session.token))
        if request.method == "POST":
            key = request.app.state.service.page_key
            request.state.form = read_form(request.headers, await request.body(), session, key)
        return await handler(request)


class OpenRoute(PageRoute):
    """One that shows no memory, and so needs no token."""

    needs_token = False


def _comes_from_elsewhere(request: Request) -> bool:
    """Return whether a link on another site led here: then cookies that are there have not been sent."""
    site, wanted = request.headers.get("sec-fetch-site"), request.headers.get("sec-fetch-dest")
    is_first = request.method == "GET" and failure.AGAIN not in request.query_params
    return is_first and site in ("cross-site", "same-site") and wanted == "document"


def under_policy(response: Response) -> Response:
    """Return a page with what a browser is told of how to show it."""
    for name, value in _HEADERS.items():
        response.headers[name] = value
    return response


def _failed(request: Request, error: SiltstoneError) -> Response:
    details = problem(error)
    grant, status = request.state.grant, int(details["status"])
    if status >= 500:
        logger.error("%s", for_log(error), extra={"request_id": request_id(request)})
    told = str(details["detail"]) if status < 500 or (grant is not None and grant.admin) else ""
    return failure.page(Look.of(request), status, told)
