"""Embedders that are given a language they do not understand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from siltstone.errors import BackendUnavailableError
from siltstone.models.languages import ENGLISH, OTHERS, LanguageWatch, matched
from siltstone.models.resolve import resolve_embedder
from siltstone.protocols import Embedder, Floats
from siltstone.testing import HashEmbedder


class Renamed:
    """A model under a name that says nothing of its languages, that counts its calls and fails when told to."""

    name = "mystery"

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.dim = inner.dim
        self.calls = 0
        self.fails_from = 1_000

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text."""
        self.calls += 1
        if self.calls >= self.fails_from:
            raise BackendUnavailableError("no answer")
        return self.inner.embed_documents(texts)

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question."""
        return self.inner.embed_query(text)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings about languages."""
    return [record.getMessage() for record in caplog.records if "does not understand" in record.getMessage()]


def test_a_multilingual_model_understands_them_all() -> None:
    """The embedded model finds the answers of every script, so that it is never warned of."""
    found = matched(resolve_embedder(None), ENGLISH, *(pairs for _, pairs in OTHERS.values()))
    assert min(found) >= 3


def test_a_multilingual_name_is_taken_at_its_word() -> None:
    """The embedded model is asked for nothing but the texts themselves."""
    inner = Renamed(HashEmbedder())
    inner.name = "multilingual-something"
    LanguageWatch(inner).embed_documents(["我养了一只猫。"])
    assert inner.calls == 1


def test_an_unknown_name_is_put_to_the_test_once(caplog: pytest.LogCaptureFixture) -> None:
    """One more call for the first Chinese text, none for English or for the next; one that passes is not warned of."""
    inner = Renamed(resolve_embedder(None))
    watch = LanguageWatch(inner)
    watch.embed_documents(["I have a cat."])
    assert inner.calls == 1
    watch.embed_documents(["我养了一只猫。"])
    watch.embed_documents(["我养了一只狗。"])
    assert inner.calls == 4
    assert said(caplog) == []


def test_a_model_without_meaning_is_no_english_model(caplog: pytest.LogCaptureFixture) -> None:
    """Stand-ins that fail in English too are nothing to warn of."""
    LanguageWatch(HashEmbedder()).embed_documents(["我养了一只猫。"])
    assert said(caplog) == []


def test_a_test_that_fails_costs_no_vectors(caplog: pytest.LogCaptureFixture) -> None:
    """The texts get their vectors when the embedder breaks off after them, and the test comes with the next text."""
    inner = Renamed(resolve_embedder(None))
    watch = LanguageWatch(inner)
    inner.fails_from = 2
    assert np.isfinite(watch.embed_documents(["我养了一只猫。"])).all()
    inner.fails_from = 1_000
    watch.embed_documents(["我养了一只狗。"])
    assert inner.calls == 4
