"""Routes that change a memory."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.concurrency import run_in_threadpool

from ..errors import ConflictError
from ..memory import TieredMemory
from ..records import ConsolidationReport, ForgetReport, Record
from . import answers, bodies
from .answers import answer
from .bodies import Said
from .dialogue import parse
from .idempotency import HEADER, id_for
from .scope import AskedMemory, PathId, StrictRoute, memory_of

router = APIRouter(prefix="/memory", tags=["write"], route_class=StrictRoute)


@router.post("/write", response_model=answers.Written)
async def write(request: Request, body: bodies.Write) -> Response:
    """Store a whole dialogue in the place of what the memory has of it.

    Sent again, it changes nothing; messages that are as they were keep their ids. What was forgotten stays forgotten.
    `memory_id` is its session.
    """
    memory = memory_of(request, body.user_id)
    said = _messages(body.messages) if body.messages is not None else parse(body.dialogue_text or "")
    ids = await memory.areplace_session(body.dialogue_id, said, created_at=body.created_at)
    return answer({"status": "ok", "memory_id": body.dialogue_id, "message_ids": ids})


@router.post("/messages", response_model=answers.Ids)
async def add(request: Request, body: bodies.Add) -> Response:
    """Add messages to a session, all or none; their stored ids, in order."""
    memory = memory_of(request, body.user_id)
    said = _messages(body.messages)
    if key := request.headers.get(HEADER):
        own = id_for(memory.user_id, key)
        said = [{**one, "id": one["id"] or f"{own}-{n}"} for n, one in enumerate(said)]
    ids = await memory.aadd(
        said,
        session_id=body.session_id,
        created_at=body.created_at,
        on_conflict=body.on_conflict,
    )
    return answer({"ids": ids})


@router.post("/remember", response_model=answers.Id)
async def remember(request: Request, body: bodies.Remember) -> Response:
    """Store one memory that is not a turn of a conversation."""
    given = body.model_dump(exclude={"user_id"}, exclude_unset=True)
    memory, key = memory_of(request, body.user_id), request.headers.get(HEADER)
    if key and body.id is None:
        given["id"] = id_for(memory.user_id, key)
    try:
        return answer({"id": await memory.aremember(**given)})
    except ConflictError:
        if not key or body.id is not None or not await _is_same(memory, given):
            raise
        return answer({"id": given["id"]})


@router.patch("/records/{id}", response_model=Record)
async def update(request: Request, id: PathId, body: bodies.Update) -> Response:
    """Change a record or a turn; what is left out stays, `null` takes `expires_at` or `importance` away."""
    given = body.model_dump(exclude={"user_id"}, exclude_unset=True)
    return answer(await memory_of(request, body.user_id).aupdate(id, **given))


@router.post("/forget", response_model=ForgetReport)
async def forget(request: Request, body: bodies.Forget) -> Response:
    """Remove memories for good, with all that was derived from them. `dry_run` only says what would go."""
    memory = memory_of(request, body.user_id)
    return answer(await memory.aforget(**body.model_dump(exclude={"user_id"}, exclude_unset=True)))


@router.delete("/records/{id}", response_model=ForgetReport)
async def forget_record(memory: AskedMemory, id: PathId) -> Response:
    """Remove one memory or message for good, with what was derived from it; 404 where there is none."""
    await memory.aget(id)
    return answer(await memory.aforget(ids=[id]))


@router.delete("/sessions/{id}", response_model=ForgetReport)
async def forget_session(memory: AskedMemory, id: PathId) -> Response:
    """Remove a conversation for good, with what was derived from it."""
    return answer(await memory.aforget(session_id=id))


@router.delete("/users/{id}", response_model=ForgetReport)
async def forget_user(request: Request, id: PathId) -> Response:
    """Remove everything of a user for good."""
    return answer(await memory_of(request, id).aforget(everything=True))


@router.post("/consolidate", response_model=ConsolidationReport)
async def consolidate(request: Request, body: bodies.Consolidate) -> Response:
    """Bring a memory up to date: compress, revise, roll up, expire what is due."""
    memory = memory_of(request, body.user_id)
    return answer(await run_in_threadpool(memory.consolidate, dry_run=body.dry_run, retry=body.retry))


@router.post("/flush", status_code=204, response_class=Response)
async def flush(request: Request, body: bodies.Flush) -> Response:
    """Wait until everything written can be found by meaning; 503 when the time is over."""
    await run_in_threadpool(memory_of(request, body.user_id).flush, body.timeout or 60.0)
    return Response(status_code=204)


async def _is_same(memory: TieredMemory, given: dict[str, Any]) -> bool:
    """Return whether what a request asks for is there already, written by the same request before a restart."""
    stored = await memory.aget(given["id"])
    return isinstance(stored, Record) and (stored.text, stored.kind) == (given["text"], given.get("kind", "fact"))


def _messages(said: list[Said]) -> list[dict[str, Any]]:
    return [one.model_dump() for one in said]
