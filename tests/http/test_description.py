"""The description is true: whatever is asked within it, or beside it, is answered as it says, and never with a 500."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("schemathesis")

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from running import Running
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from siltstone import TieredMemory
from siltstone.http import create_app
from siltstone.http.limits import Limits
from siltstone.testing import HashEmbedder

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
EXAMPLES = 200 if os.environ.get("SILTSTONE_PROFILE") == "nightly" else 25


HURRIED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a body of a megabyte would take minutes to be made smaller
)


@pytest.fixture(scope="module")
def described() -> Iterator[Any]:
    """The description of a running service with one talk and one memory in it."""
    with TieredMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        memory.add([{"role": "user", "content": "I'm Alice.", "id": "0"}], session_id="0")
        memory.remember("Paints.", id="1")
        with Running(create_app(memory, limits=Limits(rate=None))) as running:
            yield schemathesis.openapi.from_url(f"{running.url}/openapi.json")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_every_route_answers_as_it_is_described(described: Any, mode: GenerationMode) -> None:
    """No status, type or form of an answer that the description does not know; what it forbids is refused."""
    asked = 0
    for operation in (found.ok() for found in described.get_all_operations()):

        @HURRIED
        @given(operation.as_strategy(generation_mode=mode))
        def answers(case: Any) -> None:
            nonlocal asked
            asked += 1
            case.call_and_validate(checks=CHECKS)

        try:
            answers()
        except Unsatisfiable:  # nothing that could be wrong: no body, no parameter
            assert mode is GenerationMode.NEGATIVE
    assert asked > 100
