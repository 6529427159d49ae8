"""What speaks for a row: the parts of its score, each by name, before they are weighted. Pure numpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from ..protocols import UNKNOWN, Bools, Candidates, Ints
from ..records import KINDS, ROLES, micros
from ..settings import HALF_LIFE_DAYS
from ..text.periods import Period, past_times
from ..text.traits import ASKS_LAST, NAMES, SPEAKS_OF_TIME
from .arm import Arm, session_z, z_scores
from .lexical import Lexical
from .question import Question, named
from .weights import CONTENDERS

Array = npt.NDArray[np.float64]
_DAY: Final = 86_400 * 1_000_000  # microseconds
_HALF_LIVES: Final = np.array([HALF_LIFE_DAYS.get(kind, np.inf) for kind in KINDS]) * _DAY
_FEW: Final = 30  # rows: in fewer, each is nearly every other's neighbour, and what is usual of many tells little


@dataclass(frozen=True)
class Arms:
    """The three ways of finding rows, and the raw lexical scores."""

    lexical: Lexical
    turn: Arm
    window: Arm
    dense: Arm


def evidence(candidates: Candidates, question: Question, arms: Arms, rows: Ints) -> dict[str, Array]:
    """Return what the arms say of rows, of their neighbours and of their sessions, ``(m,)`` each."""
    turn, window, dense = arms.turn, arms.window, arms.dense
    sessions = candidates.session
    sizes = candidates.session_sizes
    if sizes is None:
        sizes = np.bincount(sessions[sessions >= 0])
    before, after = candidates.previous.take(rows), candidates.following.take(rows)
    before2 = np.where(before >= 0, candidates.previous.take(before, mode="wrap"), -1)
    turns, windows, denses = z_scores((turn, window, dense), np.array([rows, before, before2, after]))
    of_session = session_z((window, dense), sessions, sizes, rows, np.array([windows[0], denses[0]]))
    raw, mass = arms.lexical.window.take(rows).astype(np.float64), arms.lexical.mass or 1.0
    few = _few(candidates) * (question.role != "assistant")  # an answer shares few words with it
    return {
        "lexical": raw / (window.best or 1.0),
        "coverage": raw / mass,
        "dense": denses[0],
        "turn": turns[0],
        "window": windows[0],
        "turn.few": arms.lexical.turn.take(rows).astype(np.float64) * (few / (turn.best or 1.0)),
        "dense.alone": denses[0] * max(0.0, 1.0 - window.best / mass),
        "before.turn": turns[1],
        "before.window": windows[1],
        "before.dense": denses[1],
        "before2.dense": denses[2],
        "after.turn": turns[3],
        "after.dense": denses[3],
        "session.lexical": of_session[0],
        "session.dense": of_session[1],
    }


def form(candidates: Candidates, question: Question, before_turn: Array, rows: Ints) -> dict[str, Array]:
    """Return how the rows are said: by whom, as a question or its answer, with times and names in them.

    ``before_turn``: what the words of the turns before them tell, as ``evidence`` has it. What a question does not ask
    about is left out.
    """
    bits = candidates.traits if candidates.traits is not None else np.zeros(len(candidates.keys), np.int64)
    before, own = candidates.previous.take(rows), bits.take(rows)
    answers = (before >= 0) & (bits.take(before, mode="wrap") & ASKS_LAST > 0)
    timed = (own & SPEAKS_OF_TIME > 0).astype(np.float64)
    names = (own & NAMES > 0).astype(np.float64)
    found: dict[str, Array] = {
        "answers": answers * before_turn,
        "asks": candidates.question.take(rows).astype(np.float64),
        "time.words": timed * (1 - _few(candidates)),
        "name": names,
    }
    if (said := who(candidates, question, rows)) is not None:
        found["who"] = said
    if question.asks_when:
        found["time.asked"] = timed
    if question.asks_where:
        found["name.where"] = names
    if question.periods:
        found["time.named"] = closeness(candidates, question.periods, rows)
    return found


def standing(candidates: Candidates, question: Question, now: datetime, rows: Ints) -> dict[str, Array]:
    """Return what time and care have made of the rows: whether they still hold, how fresh and important they are.

    What is so of none of them is left out.
    """
    moment = micros(now)
    said = candidates.said_at.take(rows).astype(np.float64)
    found = {"freshness": _freshness(candidates.kind.take(rows), moment - said)}
    until = candidates.valid_until.take(rows)
    closed = (until != UNKNOWN) & (until <= moment)
    if closed.any():
        asked = closed & (np.bool_(question.asks_past) | _held(until, question.periods, now))
        found |= {"closed": (closed & ~asked).astype(np.float64), "closed.asked": asked.astype(np.float64)}
    importance = candidates.importance.take(rows)
    known = ~np.isnan(importance)
    if known.any():
        found["importance"] = np.where(known, importance - 0.5, 0.0)
    return found


def who(candidates: Candidates, question: Question, rows: Ints) -> Array | None:
    """Return 1 where the row's speaker is the one asked about, -1 where it is another one, 0 where that is unknown.

    Speakers are named in the question; where none is, "you recommended" means the assistant and "I" the user, and a
    question without these asks about nobody: ``None``.
    """
    flags = [*named(question.text, candidates.speakers), False]  # the last: no speaker
    if any(flags):
        speaker = candidates.speaker.take(rows)
        return np.where(speaker >= 0, np.where(np.array(flags)[speaker], 1.0, -1.0), 0.0)
    if question.role is None:
        return None
    role = candidates.role.take(rows)
    return np.where(role >= 0, np.where(role == ROLES.index(question.role), 1.0, -1.0), 0.0)


def recency(candidates: Candidates, scores: Array, rows: Ints) -> Array:
    """Return how much newer rows are to be preferred where the present is asked about.

    Among the contenders, the rows that match about as well as the best, the newest gains so much that it can come
    first, the oldest nothing, the others in proportion to their time.
    """
    if not len(rows):
        return np.zeros(0)
    lead = CONTENDERS * (scores.max() - _median(scores))
    contends = scores >= scores.max() - lead
    said = candidates.said_at[rows].astype(np.float64)
    first, last = said[contends].min(), said[contends].max()
    return np.where(contends, (said - first) / max(last - first, 1.0) * lead, 0.0)


def closeness(candidates: Candidates, periods: Sequence[Period], rows: Ints) -> Array:
    """Return how near the rows' times are to the times asked about, 0 to 1.

    The nearer of when it happened and when it was said counts. What happened on a day is talked about in the days
    after: 1 on the day, .7 up to 3 days later, .5 up to 10, .2 up to 35, .3 in the week before. A month: 1, and .4 in
    the month after. Longer periods tell less: .3 within a year.
    """
    best = np.zeros(len(rows))
    if not periods:
        return best
    for column in (candidates.said_at, candidates.occurred_at):
        times = column.take(rows)
        if (times == UNKNOWN).all():
            continue
        for period in periods:
            start, end = _bounds(period)
            near = _near((start - times) / _DAY, (times - end) / _DAY, period.days)
            best = np.maximum(best, np.where(times == UNKNOWN, 0.0, near * period.weight))
    return best


def _median(scores: Array) -> np.float64:
    """Return the median of some scores; ``np.median`` imports ``numpy.ma`` for it, which takes longer than a search."""
    n = len(scores)
    middle: np.float64 = np.sort(scores)[(n - 1) // 2 : n // 2 + 1].mean()
    return middle


def _held(until: Ints, periods: Sequence[Period], now: datetime) -> Bools:
    """Return whether what held until then still held when the past times that a question names began."""
    held = np.zeros(len(until), np.bool_)
    for period in past_times(periods, now):
        held |= until > micros(period.start)
    return held


def _few(candidates: Candidates) -> float:
    """Return how small the memory is: 1 when empty, .5 at ``_FEW`` rows, near 0 at hundreds."""
    return _FEW / (candidates.total + _FEW)


def _near(early: Array, late: Array, days: float) -> Array:
    """Return closeness from how many days too early or too late the times are (negative: not at all)."""
    within = (early <= 0) & (late < 0)
    if days <= 10:
        steps = [within, (late >= 0) & (late <= 3), (late > 3) & (late <= 10), (early > 0) & (early <= 7)]
        return np.select([*steps, (late > 10) & (late <= 35)], [1.0, 0.7, 0.5, 0.3, 0.2], 0.0)
    if days <= 100:
        return np.select([within, (late >= 0) & (late <= 31)], [1.0, 0.4], 0.0)
    return np.where(within, 0.3, 0.0)


def _bounds(period: Period) -> tuple[int, int]:
    return micros(period.start), micros(period.end)


def _freshness(kinds: Ints, age: Array) -> Array:
    fresh: Array = np.exp2(np.maximum(age, 0) / -_HALF_LIVES.take(kinds))
    return fresh
