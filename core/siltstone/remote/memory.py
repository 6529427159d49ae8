"""``RemoteMemory``: each verb of ``TieredMemory`` is one request to a service, which decides everything."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import IO, TYPE_CHECKING, Any

import orjson

from ..errors import ConfigurationError, InvalidInputError, NotFoundError
from ..importers.source import name_of
from ..keepers import Handle
from ..lifecycle.forget import check_named
from ..memory import UNSET, TieredMemory, Time
from ..meter import Meter
from ..models.resolve import resolve_counter
from ..protocols import Progress, Summarizer, TokenCounter
from ..recall.packing import SECTIONS
from ..records import (
    ConsolidationReport,
    Context,
    ForgetReport,
    Hit,
    ImportReport,
    Message,
    Record,
    SessionInfo,
    Stats,
)
from ..tiers.incoming import MessageLike
from ..tiers.long_term import OnConflict
from ..transfer.written import written
from ..wire import plain
from . import bodies
from .answers import Answer, read_answer
from .packing import as_one_file
from .service import TIMEOUT, Service, is_end, segment

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from typing_extensions import Never


class RemoteMemory(TieredMemory):
    """A user's memory behind a service. ``TieredMemory.open("http://…", token=…)`` makes it.

    Models, settings and keys are the service's. ``token_counter`` counts here what adapters fit into a window; the
    budgets of ``context`` and ``window`` are counted by the service.
    """

    def __init__(self, service: Service, user_id: str | None, counter: TokenCounter, *, owner: bool) -> None:
        self._service, self._counter, self._owner = service, counter, owner
        self._asked = user_id
        self._user_id = user_id or self.stats().user_id

    def for_user(self, user_id: str) -> TieredMemory:
        """Return the view of ``user_id`` on the same service; its token must be good for them."""
        return RemoteMemory(self._service, user_id, self._counter, owner=False)

    def close(self) -> None:
        """Give the connections back. What was acknowledged is the service's, and safe.

        Turns that an adapter could not store are tried once more; what is lost of them is logged as an error.
        """
        if self._owner and not self._service.closed:
            try:
                self._service.keepers.ask(self, closing=True)
            finally:
                self._service.close()

    @property
    def handle(self) -> Handle:
        """The service behind this view, the same object for every user's view."""
        return self._service

    @property
    def meter(self) -> Meter:
        """What the verbs have cost this process; the service has a meter of its own, in ``stats().stages``."""
        return self._service.meter

    @property
    def summarizer(self) -> Summarizer:
        """None: the service digests what it keeps. Raises ``ConfigurationError``."""
        raise ConfigurationError(f"the service at {self.location} digests by itself: there is no summarizer here")

    @property
    def location(self) -> str:
        """The service's address."""
        return self._service.url

    @property
    def opened_with(self) -> Mapping[str, Any]:
        """The service's address: all else is the service's own."""
        return {"location": self.location}

    @property
    def token_counter(self) -> TokenCounter:
        """What adapters count with on this side."""
        return self._counter

    @property
    def revision(self) -> str:
        """A token that changes with every write of this user, by any process."""
        return self._get("/memory/revision").text("revision")

    # --- writing

    def add(
        self,
        messages: Sequence[MessageLike],
        *,
        session_id: str,
        created_at: Time | None = None,
        on_conflict: OnConflict = "error",
    ) -> list[str]:
        """Store messages of one session, all or none; see ``TieredMemory.add``. Asked again after a failure, once."""
        body = {
            "session_id": session_id,
            "messages": bodies.said(messages),
            "created_at": bodies.time(created_at, "created_at"),
            "on_conflict": on_conflict,
        }
        return self._post("/memory/messages", body).texts("ids")

    def replace_session(
        self, session_id: str, messages: Sequence[MessageLike], *, created_at: Time | None = None
    ) -> list[str]:
        """Have a session hold exactly these messages; see ``TieredMemory.replace_session``."""
        body = {
            "dialogue_id": session_id,
            "messages": bodies.said(messages),
            "created_at": bodies.time(created_at, "created_at"),
        }
        return self._post("/memory/write", body).texts("message_ids")

    def remember(
        self,
        text: str,
        *,
        kind: str = "fact",
        occurred_at: Time | None = None,
        expires_at: Time | None = None,
        ttl: timedelta | float | None = None,
        pinned: bool = False,
        importance: float | None = None,
        session_id: str | None = None,
        source_ids: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        id: str | None = None,
    ) -> str:
        """Store one record that is not a turn; see ``TieredMemory.remember``."""
        body = {
            "text": text,
            "kind": kind,
            "occurred_at": bodies.time(occurred_at, "occurred_at"),
            "expires_at": bodies.time(expires_at, "expires_at"),
            "ttl": ttl.total_seconds() if isinstance(ttl, timedelta) else ttl,
            "pinned": pinned,
            "importance": importance,
            "session_id": session_id,
            "source_ids": list(source_ids),
            "metadata": bodies.metadata(metadata, "the record"),
            "id": id,
        }
        return self._post("/memory/remember", {k: v for k, v in body.items() if v is not None}).text("id")

    def update(
        self,
        id: str,
        *,
        text: str | None = None,
        kind: str | None = None,
        expires_at: Time | None = UNSET,
        pinned: bool | None = None,
        importance: float | None = UNSET,
        metadata: Mapping[str, Any] | None = None,
    ) -> Record:
        """Change a record or turn; see ``TieredMemory.update``."""
        about = bodies.metadata(metadata, "the record")
        kept = {"text": text, "kind": kind, "pinned": pinned, "metadata": about}
        body: dict[str, Any] = {name: value for name, value in kept.items() if value is not None}
        if expires_at is not UNSET:
            body["expires_at"] = bodies.time(expires_at, "expires_at")
        if importance is not UNSET:
            body["importance"] = importance
        if not body:
            raise InvalidInputError("update() was given nothing to change")
        return self._ask("PATCH", f"/memory/records/{segment(id)}", body).value(Record)

    def forget(
        self,
        *unnamed: Never,
        ids: Sequence[str] | str | None = None,
        session_id: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        kinds: Sequence[str] | str | None = None,
        metadata: Mapping[str, Any] | None = None,
        everything: bool = False,
        dry_run: bool = False,
    ) -> ForgetReport:
        """Remove memories for good, with whatever was derived from them; see ``TieredMemory.forget``."""
        check_named(unnamed)
        body = bodies.conditions(kinds, since, until, session_id, metadata)
        body |= {"everything": everything, "dry_run": dry_run}
        if ids is not None:
            body["ids"] = [ids] if isinstance(ids, str) else list(ids)
        if not dry_run:
            self._service.keepers.ask(self)  # or what waits to be stored would come back after it was forgotten
        return self._post("/memory/forget", body).value(ForgetReport)

    def consolidate(self, *, dry_run: bool = False, retry: bool = False) -> ConsolidationReport:
        """Do what is due now, and report it row by row; see ``TieredMemory.consolidate``."""
        body = {"dry_run": dry_run, "retry": retry}
        return self._post("/memory/consolidate", body, timeout=3_600.0).value(ConsolidationReport)

    # --- moving data in and out

    def export_to(self, path_or_file: str | os.PathLike[str] | IO[Any], *, progress: Progress | None = None) -> int:
        """Write this user's memory as one JSON Lines file; see ``TieredMemory.export_to``. ``total`` is 0: unknown."""
        count = 0
        with written(path_or_file, inside=os.devnull) as write:
            for line in self._service.lines("GET", "/memory/export", user_id=self._asked):
                write(line + b"\n")
                if is_end(line):
                    count = int(orjson.loads(line)["end"])
                elif progress is not None:
                    progress(count := count + 1, 0)
        return count

    def import_from(
        self,
        path_or_file: str | os.PathLike[str] | IO[Any],
        *,
        format: str | None = None,
        dry_run: bool = False,
        vectors: str | os.PathLike[str] | None = None,
        failures: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Take over what another memory or program holds, in one file; see ``TieredMemory.import_from``.

        A folder is sent as an archive of its files. ``vectors`` and ``failures`` are for a memory on this machine.
        ``progress`` is called at the end.
        """
        if vectors is not None or failures is not None:
            raise ConfigurationError("vectors= and failures= are for a memory on this machine: nothing was imported")
        if isinstance(path_or_file, (str, os.PathLike)):
            if not os.path.exists(path_or_file):
                raise NotFoundError(f"there is no file or folder {path_or_file}: nothing was imported")
            with as_one_file(path_or_file) as file:
                return self._send(file, os.path.realpath(path_or_file), format, dry_run, progress)
        return self._send(path_or_file, name_of(path_or_file), format, dry_run, progress)

    def _send(
        self, file: IO[Any], name: str | None, format: str | None, dry_run: bool, progress: Progress | None
    ) -> ImportReport:
        """Send a file to be imported under a name, so that no other one is taken for it."""
        answer = self._service.send_file(
            "/memory/import", file, name=name, format=format, dry_run=str(dry_run).lower(), user_id=self._asked
        )
        report = answer.value(ImportReport)
        if progress is not None:
            progress(report.read, report.read)
        return report

    # --- reading

    def search(
        self,
        query: str,
        *,
        top_k: int = 10,
        kinds: Sequence[str] | str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        session_id: str | None = None,
        exclude_session_id: str | None = None,
        exclude_ids: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        expand: str | None = None,
        now: Time | None = None,
    ) -> list[Hit]:
        """Return the records that answer the query best, best first; see ``TieredMemory.search``."""
        body = bodies.conditions(kinds, since, until, session_id, metadata)
        body |= {"query": query, "top_k": top_k, "exclude_ids": list(exclude_ids)}
        more = {"exclude_session_id": exclude_session_id, "expand": expand, "now": bodies.time(now, "now")}
        body |= {name: value for name, value in more.items() if value is not None}
        return self._post("/memory/search", body).values_of(Hit, "hits")

    def context(
        self,
        query: str | None = None,
        *,
        session_id: str | None = None,
        max_tokens: int = 2000,
        sections: Sequence[str] = SECTIONS,
        exclude_ids: Sequence[str] = (),
        now: Time | None = None,
    ) -> Context:
        """Return what to put into a prompt, within the budget; see ``TieredMemory.context``.

        Its ``as_prompt`` and ``as_messages`` ask the service again, which makes room for the question.
        """
        body = {
            "query": query,
            "session_id": session_id,
            "max_tokens": max_tokens,
            "sections": list(sections),
            "exclude_ids": list(exclude_ids),
            "now": bodies.time(now, "now"),
        }
        body = {name: value for name, value in body.items() if value is not None}
        ask = functools.partial(self._post, "/memory/context")
        return RemoteContext(**vars(ask(body).value(Context)), _ask=ask, _body=body)

    def window(self, session_id: str, *, max_tokens: int) -> list[Message]:
        """Return working memory: the newest whole exchanges of a session; see ``TieredMemory.window``."""
        answer = self._post("/memory/window", {"session_id": session_id, "max_tokens": max_tokens})
        return answer.values_of(Message, "messages")

    def messages(self, session_id: str, *, limit: int | None = None, before: str | None = None) -> list[Message]:
        """Return the messages of a session in order; see ``TieredMemory.messages``."""
        answer = self._get(f"/memory/sessions/{segment(session_id)}/messages", limit=limit, before=before)
        return answer.values_of(Message, "messages")

    def sessions(self) -> list[SessionInfo]:
        """Return the user's sessions, the one written to last at the end."""
        return self._get("/memory/sessions").values_of(SessionInfo, "sessions")

    def get(self, id: str) -> Record | Message:
        """Return a record or message by its id. Raises ``NotFoundError``."""
        return self._get(f"/memory/records/{segment(id)}").item()

    def records(
        self,
        *,
        kinds: Sequence[str] | str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        session_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Iterator[Record]:
        """Yield records in order of writing, as they come; see ``TieredMemory.records``."""
        body = bodies.conditions(kinds, since, until, session_id, metadata) | self._user()
        for line in self._service.lines("POST", "/memory/records", body):
            if not is_end(line):
                yield read_answer(self.location, line).value(Record)

    def history(self, id: str) -> list[Record]:
        """Return what a record was before, newest first; see ``TieredMemory.history``."""
        return self._get(f"/memory/records/{segment(id)}/history").values_of(Record, "versions")

    def stats(self) -> Stats:
        """Return counts, sizes and the state of the queue, as the service counts them; ``location`` is its address."""
        return replace(self._get("/memory/stats").value(Stats), location=self.location)

    def flush(self, timeout: float | None = None) -> None:
        """Wait until everything written can be found by meaning, at most ``timeout`` seconds, or a minute.

        Raises ``BackendUnavailableError`` when the time is over; what was written is safe and stays queued.
        Turns that an adapter could not store are tried once more before.
        """
        self._service.keepers.ask(self)
        body = {} if timeout is None else {"timeout": timeout}
        self._post("/memory/flush", body, timeout=TIMEOUT + (timeout or TIMEOUT))

    # --- how the verbs reach the service

    def _user(self) -> dict[str, str]:
        return {} if self._asked is None else {"user_id": self._asked}

    def _ask(self, method: str, path: str, body: Mapping[str, Any], *, timeout: float = TIMEOUT) -> Answer:
        for name, value in body.items():
            if isinstance(value, float) and not math.isfinite(value):  # JSON would have null, which is none at all
                raise InvalidInputError(f"{name} must be a number, not {value}: nothing was sent")
        return self._service.ask(method, path, plain(body) | self._user(), timeout=timeout)

    def _post(self, path: str, body: Mapping[str, Any], *, timeout: float = TIMEOUT) -> Answer:
        return self._ask("POST", path, body, timeout=timeout)

    def _get(self, path: str, **query: Any) -> Answer:
        return self._service.ask("GET", path, query=self._user() | query)

    @property
    def _executor(self) -> Executor:
        """The threads of the async twins."""
        return self._service.threads.pool


@dataclass(frozen=True)
class RemoteContext(Context):
    """A context of a service, which fits a question in by asking again."""

    _ask: Any = None
    _body: Any = None

    def as_prompt(self, question: str, *, system: str | None = None) -> str:
        """Return one prompt, within the budget; see ``Context.as_prompt``."""
        return self._asked(question, system).text("prompt")

    def as_messages(self, question: str, *, system: str | None = None) -> list[Message]:
        """Return chat messages, within the budget; see ``Context.as_messages``."""
        return self._asked(question, system).values_of(Message, "messages")

    def _asked(self, question: str, system: str | None) -> Answer:
        found: Answer = self._ask({**self._body, "question": question, "system": system})
        return found


def open_remote(url: str, *, user_id: str, token: str | None, token_counter: Any, **others: Any) -> RemoteMemory:
    """Return the memory behind a service. ``user_id`` ``"default"`` is the token's own user.

    ``others`` are the options of ``TieredMemory.open`` that belong to the service, and are refused by name. Raises
    ``AccessDeniedError`` for a wrong token, ``BackendUnavailableError`` where nobody answers.
    """
    given = [name for name, value in others.items() if value is not None]
    if given:
        raise ConfigurationError(
            f"{given[0]}= is the service's to set, where it is started: nothing was opened; leave it out for {url}"
        )
    service = Service(url, token)
    try:
        asked = None if user_id == "default" else user_id
        return RemoteMemory(service, asked, resolve_counter(token_counter), owner=True)
    except BaseException:
        service.close()
        raise
