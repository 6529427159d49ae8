"""From what a user passes as ``vector_store`` to a store over it."""

from __future__ import annotations

import inspect
import logging
from typing import Any, Final

from ...errors import BackendUnavailableError, ConfigurationError
from ...protocols import Embedder, Store
from ...settings import VectorStoreDown
from ..ram import LOCATION
from .arm import VectorStoreArm
from .engine import VectorEngine, VectorStoreUnavailableError
from .llama_index import LlamaIndexEngine, is_vector_store
from .passing import arm_over

logger = logging.getLogger("siltstone")

_MEMBERS: Final = ("name", "serial", "add", "query", "fetch", "listed", "delete")


def engine_of(thing: Any) -> VectorEngine:
    """Return the engine that a user means: a LlamaIndex ``BasePydanticVectorStore``, or a ``VectorEngine``.

    Raises ``ConfigurationError`` for anything else, and for one that cannot do what is needed.
    """
    if isinstance(thing, type):
        raise ConfigurationError(f"vector_store is the class {thing.__name__}; pass an object: {thing.__name__}(…)")
    nothing = object()
    if all(inspect.getattr_static(thing, member, nothing) is not nothing for member in _MEMBERS):
        engine: VectorEngine = thing
        return engine
    if is_vector_store(thing):
        return LlamaIndexEngine(thing)
    raise ConfigurationError(
        f"{type(thing).__name__} is no vector store that siltstone knows: nothing was opened; pass a LlamaIndex vector "
        "store (Chroma, Qdrant, Milvus, LanceDB …), or leave vector_store= out"
    )


def over(
    store: Store, thing: Any, embedder: Embedder, *, outage: VectorStoreDown, writes: bool, moving: bool = False
) -> VectorStoreArm:
    """Return a store over another one whose vectors lie in what the user passed, tried out with the embedder's width.

    Raises ``ConfigurationError`` for what the engine cannot do, and where the store has vectors of its own (unless
    ``moving``); ``BackendUnavailableError`` where the engine cannot be reached and a search would say so, too.
    """
    engine = engine_of(thing)
    if getattr(engine, "forgets_at_exit", False) and store.location != LOCATION:
        raise ConfigurationError(
            f"{engine.name} keeps vectors in this process only, and {store.location} outlives it: nothing was opened; "
            "pass a vector store that is a server or a file, or leave vector_store= out"
        )
    arm = arm_over(store, engine, outage=outage, writes=writes, moving=moving)
    if writes:
        try:
            present = arm.fingerprint()
            arm.try_out(embedder.dim if present is None else present.dim)
        except BackendUnavailableError as exc:  # the engine's, or that of a served embedder, whose width is not known
            if isinstance(exc, VectorStoreUnavailableError) and outage == "refuse":
                raise
            logger.warning("the vector store %s was not tried out: %s", engine.name, exc)
    return arm
