"""Pages as a browser without scripts takes them: their words, and their forms, filled in and sent."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from urllib.parse import urljoin

import httpx


class Forms(HTMLParser):
    """The forms of a page: where they lead, and what they carry."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self._select = ""
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a form, or a control of the one that is open."""
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append((given["action"], {}))
        elif self.found and tag == "input" and ("checked" in given or given.get("type") not in ("radio", "checkbox")):
            self.found[-1][1][given["name"]] = given.get("value", "")
        elif self.found and tag == "textarea":
            self._area = given["name"]
            self.found[-1][1][self._area] = ""
        elif self.found and tag == "select":
            self._select = given["name"]
        elif tag == "option" and "selected" in given:
            self.found[-1][1][self._select] = given["value"]

    def handle_endtag(self, tag: str) -> None:
        """End a text area."""
        if tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        """Note what stands in a text area."""
        if self._area:
            self.found[-1][1][self._area] += data.removeprefix("\n")


def submit(client: httpx.Client, page: httpx.Response, action: str, **changed: str) -> httpx.Response:
    """Send the form of a page that leads to ``action``, as a browser does."""
    forms = Forms()
    forms.feed(page.text)
    target, fields = next(form for form in forms.found if form[0].startswith(action))
    origin = {"origin": str(client.base_url).rstrip("/")}
    return client.post(urljoin(str(page.url), target), data={**fields, **changed}, headers=origin)


def words_of(page: httpx.Response) -> str:
    """Return the text of a page, without its markup."""
    return unescape(re.sub(r"<[^>]+>", " ", page.text))
