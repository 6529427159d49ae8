"""Routes that look; none of them changes a memory."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Annotated, Final

import orjson
from fastapi import APIRouter, Query, Request, Response

from ..records import Message, Record, Stats
from ..wire import plain
from . import answers, bodies
from .answers import answer
from .scope import AskedMemory, PathId, StrictRoute, memory_of
from .streams import streamed

router = APIRouter(prefix="/memory", tags=["read"], route_class=StrictRoute)


@router.post("/query", response_model=answers.Answer)
async def query(request: Request, body: bodies.Question) -> Response:
    """Return what is remembered for a question: a text for the prompt within `max_tokens`, and the best hits."""
    memory = memory_of(request, body.user_id)
    context = await memory.acontext(body.question, max_tokens=body.max_tokens)
    hits = await memory.asearch(body.question, top_k=body.top_k)
    return answer({"context": context.text, "tokens": context.tokens, "hits": hits})


@router.post("/search", response_model=answers.Hits)
async def search(request: Request, body: bodies.Search) -> Response:
    """Find memories by meaning and by words, best first; `why` names the parts of each score."""
    given = body.model_dump(exclude={"user_id"}, exclude_unset=True)
    return answer({"hits": await memory_of(request, body.user_id).asearch(**given)})


@router.post("/context", response_model=answers.ContextAnswer)
async def context(request: Request, body: bodies.ForContext) -> Response:
    """Return what to put into a prompt, within `max_tokens` by the memory's own counter."""
    given = body.model_dump(exclude={"user_id", "question", "system"}, exclude_none=True)
    made = await memory_of(request, body.user_id).acontext(**given)
    told = plain(made)
    if body.question is not None:
        told["prompt"] = made.as_prompt(body.question, system=body.system)
        told["messages"] = made.as_messages(body.question, system=body.system)
    return answer(told)


@router.post("/window", response_model=answers.Messages)
async def window(request: Request, body: bodies.Window) -> Response:
    """Return the newest whole exchanges of a session within `max_tokens`."""
    memory = memory_of(request, body.user_id)
    return answer({"messages": await memory.awindow(body.session_id, max_tokens=body.max_tokens)})


@router.post("/records", response_class=Response)
async def records(request: Request, body: bodies.Conditions) -> Response:
    """Stream records in the order of writing, turns among them, one JSON object a line.

    The last line, `{"end": n}`, counts them: without it the stream was cut off.
    """
    given = body.model_dump(exclude={"user_id"}, exclude_unset=True)
    return await streamed(_lines(memory_of(request, body.user_id).records(**given)))


@router.get("/records/{id}/history", response_model=answers.Versions)
async def history(memory: AskedMemory, id: PathId) -> Response:
    """Return what a record was before, newest first."""
    return answer({"versions": await memory.ahistory(id)})


@router.get("/records/{id}", response_model=Record | Message)
async def get(memory: AskedMemory, id: PathId) -> Response:
    """Return a record or a message by its id."""
    return answer(await memory.aget(id))


@router.get("/sessions", response_model=answers.Sessions)
async def sessions(memory: AskedMemory) -> Response:
    """List the conversations, the one written to last at the end."""
    return answer({"sessions": await memory.asessions()})


@router.get("/sessions/{id}/messages", response_model=answers.Messages)
async def messages(
    memory: AskedMemory,
    id: PathId,
    limit: Annotated[int | None, Query(ge=0, le=1_000_000)] = None,
    before: Annotated[str | None, Query(min_length=1, max_length=4_000)] = None,
) -> Response:
    """Return the messages of a session in order; `limit` gives the newest, `before` those before an id."""
    return answer({"messages": await memory.amessages(id, limit=limit, before=before)})


@router.get("/stats", response_model=Stats)
async def stats(request: Request, memory: AskedMemory) -> Response:
    """Return counts, sizes, and the state of the queue.

    What is counted for all users together, and where the store lies, is for admins.
    """
    found = await memory.astats()
    return answer(found if request.state.grant.admin else for_one_user(found))


@router.get("/revision", response_model=answers.Revision)
async def revision(memory: AskedMemory) -> Response:
    """Return a token that changes with every write of the user: caches key on it."""
    return answer({"revision": memory.revision})


def for_one_user(stats: Stats) -> Stats:
    """Return what is this user's alone."""
    own = {name: size for name, size in stats.memory.items() if name in _OWN}
    error = None if stats.last_error is None else "a model failed; the service's log says how"
    return replace(stats, location="", stages={}, model_usage={}, sensitive={}, health=(), last_error=error, memory=own)


_OWN: Final = ("vector_index", "word_index", "rows")


def _lines(found: Iterator[Record]) -> Generator[bytes, None, None]:
    count = 0
    for record in found:
        count += 1
        yield orjson.dumps(plain(record), option=orjson.OPT_APPEND_NEWLINE)
    yield orjson.dumps({"end": count}, option=orjson.OPT_APPEND_NEWLINE)
