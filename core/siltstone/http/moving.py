"""Routes that move memories in and out, as streams of any length."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from ..records import ImportReport
from ..wire import NDJSON
from .answers import answer
from .scope import AskedMemory
from .spool import whole_if_archive
from .streams import Incoming, streamed, written_by

router = APIRouter(prefix="/memory", tags=["move"])


@router.get("/export", response_class=Response)
async def export(memory: AskedMemory) -> Response:
    """Stream everything of a user as JSON Lines, to be imported elsewhere.

    The last line, `{"end": n}`, counts the items: without it the stream was cut off.
    """
    headers = {"Content-Disposition": 'attachment; filename="siltstone-export.jsonl"'}
    return await streamed(written_by(memory.export_to), NDJSON, headers)


@router.post("/import", response_model=ImportReport)
async def import_(
    request: Request,
    memory: AskedMemory,
    format: Annotated[str | None, Query(max_length=100, description="Found by looking inside, if left out.")] = None,
    dry_run: bool = False,
    name: Annotated[
        str | None,
        Query(
            max_length=900, description="The file's path or name, by which it is known when it is sent again, edited."
        ),
    ] = None,
) -> Response:
    """Take over what another memory holds: the body is the file, read as it comes.

    A zip archive is kept in a nameless file until it is there whole, as its end says what is in it. Twice changes
    nothing; cut off, it goes on when it is sent again. What was forgotten stays forgotten.
    """
    body = Incoming(request, name)

    def work() -> ImportReport:
        with whole_if_archive(body) as file:
            return memory.import_from(file, format=format, dry_run=dry_run)

    try:
        return answer(await run_in_threadpool(work))
    finally:
        body.give_up()
