"""The application: an open memory behind routes."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from .._version import __version__
from ..access import Tokens
from ..errors import BackendUnavailableError
from ..memory import TieredMemory
from . import description, inspector, moving, reading, status, writing
from .guard import Guard
from .heads import Heads
from .idempotency import Replies
from .limits import Limits
from .metrics import Metrics
from .observe import Observed
from .paths import RawPaths
from .problems import handle

MemorySource: TypeAlias = TieredMemory | Callable[[], TieredMemory]


@dataclass
class Service:
    """What all requests share; ``page_key`` seals the forms of the inspector, which a restart makes out of date."""

    tokens: Tokens | None = None
    page_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    metrics: Metrics = field(init=False)
    replies: Replies = field(default_factory=Replies)
    opened: TieredMemory | None = None

    def __post_init__(self) -> None:
        self.metrics = Metrics(lambda: None if self.opened is None else self.opened.meter)

    @property
    def memory(self) -> TieredMemory:
        """The open memory; ``BackendUnavailableError`` before it is open and after it is closed."""
        if self.opened is None:
            raise BackendUnavailableError("the memory is not open: nothing was read or changed; try again in a moment")
        return self.opened


def create_app(
    memory_source: MemorySource,
    *,
    tokens: Tokens | None = None,
    limits: Limits | None = None,
    hosts: Sequence[str] | None = (),
) -> FastAPI:
    """Return the service as an ASGI application.

    ``memory_source``  an open memory, which stays open; or a callable that opens one, which the application closes when
                       it ends, after the requests under way
    ``tokens``         who may use it; ``None``: everybody who reaches it, so let it listen to this machine only
    ``limits``         how much is taken from one caller, and in all; ``None``: the defaults of ``Limits``
    ``hosts``          names that it goes by besides this machine's own; ``None``: any, which is safe with tokens only
    """
    service = Service(tokens)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        opened = await run_in_threadpool(memory_source) if callable(memory_source) else memory_source
        service.opened = opened
        try:
            yield
        finally:
            service.opened = None
            if callable(memory_source):
                await run_in_threadpool(opened.close)

    app = FastAPI(
        title="siltstone",
        version=__version__,
        description=description.ABOUT,
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    app.state.service = service
    handle(app)
    for router in (*(room.router for room in (writing, reading, moving, status)), *inspector.routers):
        app.include_router(router)
    description.describe(app, has_tokens=tokens is not None)
    app.add_middleware(Heads)
    app.add_middleware(RawPaths)
    app.add_middleware(
        Guard,
        tokens=tokens,
        limits=limits or Limits(),
        hosts=None if hosts is None else tuple(hosts),
        metrics=service.metrics,
    )
    app.add_middleware(Observed, metrics=service.metrics)
    app.add_middleware(inspector.Refused)
    return app
