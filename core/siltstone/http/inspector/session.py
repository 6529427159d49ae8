"""Who sits at the browser: the cookies of the page, the seals of its forms, its language. Pure, but for chance.

The token that somebody logged in with is in a cookie that scripts cannot read and other sites do not make the browser
send; routes of the API pass it over. A form carries a seal, which follows from a key of this process and from both
cookies: another site can neither read it nor make one.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from ...errors import AccessDeniedError, InvalidInputError

Language: TypeAlias = Literal["en", "zh"]

TOKEN: Final = "siltstone_token"
BROWSER: Final = "siltstone_browser"
LANGUAGE: Final = "siltstone_lang"
SEAL: Final = "seal"
"""The field of every form that holds its seal."""
FORM: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 2_000
_BITS: Final = 32


def is_page(path: str) -> bool:
    """Return whether a path is one of the inspector's."""
    return path == "/" or path == "/inspector" or path.startswith("/inspector/")


def token_of(headers: Headers) -> str:
    """Return the token that the page's cookie holds, empty where there is none."""
    return unquote(_cookies(headers).get(TOKEN, ""))


@dataclass(frozen=True)
class Session:
    """One browser.

    ``browser``   a random name of it; ``is_new`` where it has yet to be told
    ``token``     what it logged in with, empty where it has not
    ``language``  what its pages are written in
    """

    browser: str
    token: str
    language: Language
    is_new: bool = False

    @classmethod
    def of(cls, headers: Headers, asked: str | None = None) -> Session:
        """Return the session of a request; ``asked`` is the language that it asks for by name."""
        cookies = _cookies(headers)
        browser = cookies.get(BROWSER, "")
        language = _known(asked) or _known(cookies.get(LANGUAGE)) or accepted(headers.get("accept-language", ""))
        return cls(browser or secrets.token_urlsafe(_BITS), token_of(headers), language, is_new=not browser)

    def seal(self, key: bytes) -> str:
        """Return what the forms of this browser carry."""
        said = f"{len(self.browser)}:{self.browser}{self.token}".encode("utf-8", "surrogatepass")
        return hmac.new(key, said, hashlib.sha256).hexdigest()


def accepted(header: str) -> Language:
    """Return the language that an ``Accept-Language`` puts first, of the two that there are."""
    found: dict[Language, float] = {"en": 0.0, "zh": 0.0}
    for part in header.split(","):
        name, _, quality = part.strip().partition(";")
        language = _known(name.partition("-")[0].lower())
        if language is not None:
            found[language] = max(found[language], _quality(quality))
    return "zh" if found["zh"] > found["en"] else "en"


def read_form(headers: Headers, body: bytes, session: Session, key: bytes) -> dict[str, str]:
    """Return the fields of a form that this page has made; of equal names, the last.

    Raises ``AccessDeniedError`` where another site may have sent it, ``InvalidInputError`` for what is no form.
    """
    origin = headers.get("origin")
    if origin is None or urlsplit(origin).netloc != headers.get("host", ""):
        raise AccessDeniedError("the form does not come from this page: nothing was changed")
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=_MOST_FIELDS, errors="strict")
    except ValueError as exc:
        raise InvalidInputError("the form cannot be read: nothing was changed") from exc
    fields = dict(pairs)
    given = fields.pop(SEAL, "").encode("utf-8", "surrogatepass")
    if not hmac.compare_digest(given, session.seal(key).encode()):
        raise AccessDeniedError("the form is out of date, or another page's: nothing was changed; reload the page")
    return {name: value.replace("\r\n", "\n") for name, value in fields.items()}


def cookie(name: str, value: str, *, headers: Headers, ends: bool = False) -> str:
    """Return a ``Set-Cookie``: for this site alone, out of reach of scripts; over TLS only, where the page is so."""
    secure = "; Secure" if urlsplit(headers.get("origin", "")).scheme == "https" else ""
    return f"{name}={quote(value, safe='')}; Path=/; HttpOnly; SameSite=Strict{secure}{'; Max-Age=0' if ends else ''}"


def _cookies(headers: Headers) -> Mapping[str, str]:
    return cookie_parser(headers.get("cookie", ""))


def _known(language: str | None) -> Language | None:
    return "en" if language == "en" else "zh" if language == "zh" else None


def _quality(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    try:
        return min(float(value), 1.0) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0
