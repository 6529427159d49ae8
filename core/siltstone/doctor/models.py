"""The models: whether the embedder loads, how fast it is, which languages it knows; whether the summarizer answers."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..compress.llm import LLMSummarizer
from ..errors import BackendUnavailableError, EmbedderMismatchError, ModelError, SiltstoneError
from ..models.languages import OTHERS, understands
from ..models.resolve import resolve_chat_model
from ..protocols import Embedder
from ..records import Message
from ..settings import Settings
from .check import Check, hint, ok, wrong
from .machine import FEWER

_TEXTS: Final = [
    f"On day {n} Alice wrote that the seagrass near Tróia had grown, and asked for the figures." for n in range(16)
]
_SAID: Final = (
    Message("user", "I'm Alice, and I live in Lisbon. I'm allergic to peanuts.", id="a"),
    Message("assistant", "Nice to meet you, Alice! I will keep that in mind.", id="b"),
    Message("user", "Next Friday I have to hand in the report on seagrass.", id="c"),
)
SLOW: Final = 40.0
"""Texts a second below which a first import of many takes long."""


def embedder(model: Embedder, pending: int = 0) -> Iterator[Check]:
    """Yield whether a model loads and embeds, and how fast; ``pending`` texts wait for it."""
    begun = time.perf_counter()
    try:
        model.embed_documents(_TEXTS[:1])
        loaded = time.perf_counter()
        model.embed_documents(_TEXTS)
    except SiltstoneError as exc:
        yield wrong("embedder", str(exc), _fix(exc))
        return
    rate = len(_TEXTS) / (time.perf_counter() - loaded)
    engine = getattr(model, "engine", "default")
    of_engine = "" if engine == "default" else f" ({engine})"
    told = f"{model.name}{of_engine}: loaded in {loaded - begun:.1f} s, {rate:.0f} texts a second"
    if pending:
        told += f", so {pending:,} that wait take {_minutes(pending / rate)}"
    if engine == "c":
        yield hint("embedder", told, 'pip install "siltstone[onnx]" makes the same vectors about five times as fast')
    elif rate < SLOW:
        yield hint("embedder", told, "a GPU, a smaller model, or the embedded one: siltstone reembed --store STORE")
    else:
        yield ok("embedder", told)


def _fix(exc: SiltstoneError) -> str:
    if "out of memory" in str(exc).lower():
        return FEWER
    if isinstance(exc, EmbedderMismatchError):
        return "siltstone reembed --store STORE --embedder NAME"
    if isinstance(exc, BackendUnavailableError):
        return "start the server, or name another with --embedder MODEL@URL; SILTSTONE_API_KEY holds its key"
    return "name another model with --embedder, or none for the embedded one"


def languages(model: Embedder, scripts: Iterable[str]) -> Iterator[Check]:
    """Yield whether a model understands what is stored; ``scripts`` are those of the texts."""
    found = [script for script in scripts if script in OTHERS]
    foreign = [OTHERS[script][0] for script in found if not understands(model, script)]
    if foreign:
        names = " and ".join(foreign)
        yield wrong(
            "languages",
            f"{model.name} does not understand {names}, which is stored here: searches by meaning find unrelated texts",
            "siltstone reembed --store STORE moves the store to the embedded model, which knows about 90 languages",
        )
    elif found:
        yield ok("languages", f"{model.name} understands {', '.join(OTHERS[script][0] for script in found)}")


def summarizer(spec: Any, settings: Settings) -> Iterator[Check]:
    """Yield whether a language model answers in time, with a digest that can be used; this asks it a few times."""
    begun = time.perf_counter()
    try:
        model = resolve_chat_model(spec, timeout=settings.model_timeout, attempts=1)  # somebody waits
        digest = LLMSummarizer(model, fallback=None).summarize(_SAID)
    except BackendUnavailableError as exc:
        yield wrong(
            "summarizer",
            f"{exc} (after {time.perf_counter() - begun:.1f} s)",
            "start the server, or give it longer: SILTSTONE_MODEL_TIMEOUT=300; what is due waits, and nothing is lost",
        )
    except ModelError as exc:
        raw = " ".join(getattr(exc, "raw", "").split())[:120]
        yield wrong(
            "summarizer",
            f"{exc}" + (f"; it answered {raw!r}" if raw else ""),
            "take a larger model, or none: the extractive summarizer stands in, and siltstone consolidate --retry "
            "asks the model again",
        )
    except SiltstoneError as exc:
        yield wrong("summarizer", str(exc), "name it as ollama:MODEL or openai:MODEL@URL")
    else:
        kept = len(digest.facts) + len(digest.preferences) + len(digest.events)
        yield ok("summarizer", f"{model.name}: a digest with {kept} statements in {time.perf_counter() - begun:.1f} s")


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"
