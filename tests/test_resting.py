"""A model that does not answer is left alone for the rest of a run, and asked again in the next one."""

from __future__ import annotations

import pytest

from siltstone import BackendUnavailableError, Message
from siltstone.models.http import UnreachableError
from siltstone.models.limits import PostponedError
from siltstone.models.resting import SILENCES, RestingChatModel, one_run
from siltstone.testing import FrozenClock, ScriptedChatModel

ASKED = [Message("user", "Hello?")]


def limited() -> BackendUnavailableError:
    """Return the failure of a server that asked to be left alone."""
    failure = BackendUnavailableError("answers 429")
    failure.retry_after = 30.0
    return failure


def ask(model: RestingChatModel, times: int) -> list[str]:
    """Ask several times; return the answers, or why there was none."""
    said = []
    for _ in range(times):
        try:
            said.append(model.complete(ASKED))
        except BackendUnavailableError as exc:
            said.append(str(exc))
    return said


@pytest.mark.parametrize(
    ("failure", "asked"),
    [(UnreachableError("gone"), 1), (limited(), 1), (BackendUnavailableError("slow"), SILENCES)],
    ids=["unreachable", "limited", "slow"],
)
def test_in_one_run_what_does_not_answer_is_left_alone(failure: BackendUnavailableError, asked: int) -> None:
    """One that takes no connection is asked once, one that may only be slow a few times; the next run asks anew."""
    model = ScriptedChatModel([failure] * asked + ["yes"])
    resting = RestingChatModel(model, of=model)
    with one_run():
        said = ask(resting, 10)
    assert len(model.calls) == asked
    assert said[asked:] == [f"not asked again in this run, as {failure}"] * (10 - asked)
    with one_run():
        assert ask(resting, 1) == ["yes"]


def test_an_answer_in_between_ends_the_silence() -> None:
    """Only failures in a row count: a model that is slow for some texts goes on with the others."""
    slow = BackendUnavailableError("slow")
    model = ScriptedChatModel([slow, slow, "yes"] * 3)
    with one_run():
        assert ask(RestingChatModel(model, of=model), 9) == ["slow", "slow", "yes"] * 3


def test_what_one_wrapper_of_a_model_has_met_the_others_know() -> None:
    """A judge need not find out anew that the server of the summarizer is gone; another model is asked."""
    model, other = ScriptedChatModel([UnreachableError("gone")]), ScriptedChatModel(["yes"])
    with one_run():
        ask(RestingChatModel(model, of=model), 1)
        assert ask(RestingChatModel(model, of=model), 1) == ["not asked again in this run, as gone"]
        assert ask(RestingChatModel(other, of=other), 1) == ["yes"]


def test_what_is_put_off_and_what_is_asked_outside_of_a_run_count_nothing() -> None:
    """The limits of a model say themselves when it may be asked; and whoever asks by hand means it."""
    put_off = PostponedError("later", FrozenClock("2024-05-08T12:00:00+00:00").now())
    model = ScriptedChatModel([put_off, put_off, put_off, put_off, "yes"])
    with one_run():
        assert ask(RestingChatModel(model, of=model), 5)[-1] == "yes"
    model = ScriptedChatModel([UnreachableError("gone"), "yes"])
    assert ask(RestingChatModel(model, of=model), 2) == ["gone", "yes"]
