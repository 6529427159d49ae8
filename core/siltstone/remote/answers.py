"""What a service answers, read with care: at its address may be another release, or no siltstone at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import orjson

from ..errors import AccessDeniedError, BackendUnavailableError, ConfigurationError, InvalidInputError, SiltstoneError
from ..models.http import PASSING, retry_after
from ..records import Message, Record
from ..text.addresses import shown_address
from ..wire import NO_ROUTE, PROBLEM, raised, read, read_item

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

TOKEN_VARIABLE: Final = "SILTSTONE_TOKEN"
"""The environment variable that holds a token where none is passed."""


class Answer(dict[str, Any]):
    """The JSON object of an answer. What it lacks, or has otherwise, raises ``ConfigurationError``."""

    def __init__(self, url: str, members: dict[str, Any]) -> None:
        super().__init__(members)
        self._url = url

    def __missing__(self, name: str) -> Any:
        raise unlike(self._url, f"its answer lacks {name!r}")

    def text(self, name: str) -> str:
        """Return a member that is a text."""
        return str(self._checked(self[name], str, name))

    def texts(self, name: str) -> list[str]:
        """Return a member that is a list of texts."""
        return [self._checked(one, str, name) for one in self._checked(self[name], list, name)]

    def value(self, kind: type[T]) -> T:
        """Return the value that the whole object stands for."""
        return self._understood(lambda: read(kind, self))

    def values_of(self, kind: type[T], name: str) -> list[T]:
        """Return the values that the objects of a member stand for."""
        found = self._checked(self[name], list, name)
        return self._understood(lambda: [read(kind, one) for one in found])

    def item(self) -> Record | Message:
        """Return the record or the message that the object stands for."""
        return self._understood(lambda: read_item(self))

    def _checked(self, value: Any, kind: type, name: str) -> Any:
        if not isinstance(value, kind):
            raise unlike(self._url, f"{name!r} in its answer is of another type")
        return value

    def _understood(self, make: Callable[[], T]) -> T:
        try:
            return make()
        except InvalidInputError as exc:
            raise unlike(self._url, str(exc)) from exc


def unlike(url: str, why: str) -> ConfigurationError:
    """Return the error that says that an answer is none of a siltstone service that this release knows."""
    return ConfigurationError(
        f"{url} answers, but not as a siltstone service of this release does ({why}): nothing was confirmed; check the "
        "address, and that both sides are of one release"
    )


def read_answer(url: str, content: bytes) -> Answer:
    """Return the object that an answer holds, an empty one for none. Raises ``ConfigurationError``."""
    try:
        members = orjson.loads(content) if content else {}
    except orjson.JSONDecodeError:
        raise unlike(url, "it is no JSON") from None
    if not isinstance(members, dict):
        raise unlike(url, "it is no JSON object")
    return Answer(url, members)


def failure(url: str, response: httpx.Response) -> SiltstoneError:
    """Return the error that an answer without success tells of. Nobody is followed to another address."""
    status, wait = response.status_code, retry_after(response.headers.get("retry-after"))
    if response.is_redirect:
        where = shown_address(response.headers["location"])[:500]
        return ConfigurationError(f"{url} leads on to {where}: nothing was sent there; open the service's own address")
    problem = _problem(response.content)
    if problem is None and status not in (401, 403, *PASSING):
        return unlike(url, f"it answers {status}")
    if problem is not None and problem["type"] == PROBLEM + NO_ROUTE:
        return unlike(url, str(problem["detail"]))
    error = raised(problem or {"status": status, "detail": f"{url} answers {status}"}, retry_after=wait)
    if status in PASSING and not isinstance(error, BackendUnavailableError):
        error = BackendUnavailableError(str(error))
        error.retry_after = wait
    if status == 401:
        error = AccessDeniedError(f"{error}; pass token=, or set {TOKEN_VARIABLE}")
    return error


def _problem(content: bytes) -> dict[str, Any] | None:
    """Return the problem document of a siltstone service, where the answer is one."""
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None
    is_ours = isinstance(found, dict) and str(found.get("type", "")).startswith(PROBLEM)
    return found if is_ours and isinstance(found.get("detail"), str) else None
