"""What a new statement does to what is known: it is new, it repeats, it replaces, it contradicts. Pure.

What is compared are statements of one topic: the same subject and the same attribute. Of some attributes a person has
one value at a time (``compress.statement.SINGLE_VALUED``), and a newer one ends the older: its period is closed, and
both are kept. Of the others there are many; only a repetition, or the reverse of the same, touches what is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from ..compress.statement import SINGLE_VALUED
from ..records import Record, replace, unique
from .beings import called, ended_by, parts_from, renames
from .candidates import CORRECTION, SEPARATOR, subject_and_attribute, topic_of
from .deaths import DEATH
from .likeness import abstains, aspects, content, denies, same_things, same_value, says_the_reverse, says_the_same
from .retract import CANCELLED, REACHED, REPAIRED, reached, repaired
from .signals import changes, resumes
from .slots import follows, refilled, reversed_order
from .tasted import same_taste, stance

Verdict: TypeAlias = Literal["unrelated", "repeats", "supersedes", "contradicts"]
"""What one statement is to an older one of its topic."""
Judged: TypeAlias = Mapping[tuple[str, str], Verdict]
"""Verdicts of a model, by the ids of the new statement and the known one."""

ONE_AT_A_TIME: Final = SINGLE_VALUED - {"education"}
"""Attributes whose newer value ends the older; what somebody has studied adds up."""
CONSTANT: Final = frozenset({"birthday", "origin", "birth"})
"""What does not change: a second value is a correction, or a contradiction."""
ONE_PERIOD: Final = timedelta(days=1)
"""Two values told within this time, neither as a change nor as a correction, contradict each other."""
CONTRADICTED: Final = "contradicted"
_REVERSE: Final = {"like": "dislike", "dislike": "like"}
_GIVEN_UP: Final = {"diet": ("like", "habit"), "habit": ("like", "diet"), "dislike": ("diet",)}
"""What somebody no longer eats or does, they were said to like, to eat, to do."""


@dataclass(frozen=True)
class Revision:
    """What becomes of one statement: ``action``, the records to be written, and why, in a few words.

    ``records`` are the new record and the new versions of known ones; none where nothing changes.
    """

    action: str
    record: Record
    records: tuple[Record, ...]
    why: str


class Known:
    """The records that may be revised, by topic; kept up to date with what is decided."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self.by_id: dict[str, Record] = {}
        self._topics: dict[str | None, dict[str, None]] = {}
        for record in records:
            self.keep(record)

    def keep(self, record: Record) -> None:
        """Take a new record or the next version of one."""
        self.by_id[record.id] = record
        self._topics.setdefault(record.topic, {})[record.id] = None

    def of(self, topic: str | None) -> list[Record]:
        """Return the records of a topic, in order of writing."""
        return [self.by_id[id] for id in self._topics.get(topic, ())]

    def open(self) -> list[Record]:
        """Return what holds, in order of writing."""
        return [record for record in self.by_id.values() if _open(record)]


def revise(
    candidates: Sequence[Record],
    known: Known,
    *,
    now: datetime,
    judged: Judged | None = None,
) -> list[Revision]:
    """Decide what each candidate does, in order; ``known`` is changed accordingly.

    ``judged`` are verdicts that stand before those of the rules, by the ids of the candidate and the known record.
    """
    revisions = []
    for candidate in candidates:
        revision = _revise(candidate, known, now, judged or {})
        for record in revision.records:
            known.keep(record)
        revisions.append(revision)
    return revisions


def _revise(new: Record, known: Known, now: datetime, judged: Judged) -> Revision:
    if new.id in known.by_id:
        return Revision("known", new, (), "it was taken from the same messages before")
    if (special := _SPECIAL.get((subject_and_attribute(new) or ("", ""))[1])) is not None:
        return special(new, known, now)
    related = _related(new, known)
    asked = [known.by_id[id] for of, id in judged if of == new.id and id in known.by_id]
    related += [old for old in asked if old not in related]
    resting = [old for old in related if set(new.source_ids) <= set(old.source_ids)]
    if any(old.text == new.text or compare(new, old) == "repeats" for old in resting):
        return Revision("known", new, (), "it was taken from the same messages before")
    verdicts = [(old, judged.get((new.id, old.id)) or compare(new, old)) for old in related]
    repeated = [old for old, verdict in verdicts if verdict == "repeats" and _open(old)]
    if repeated:
        old = repeated[-1]
        text = max(old, new, key=lambda one: len(content(one.text))) if old.kind != "event" else old
        record = replace(
            old,
            text=text.text,
            support=old.support + 1,
            source_ids=unique([*old.source_ids, *new.source_ids]),
            occurred_at=old.occurred_at or new.occurred_at,
            version=old.version + 1,
            updated_at=now,
        )
        return Revision("repeat", record, (record,), f"said again; now {record.support} times")
    if new.topic is not None and "former" in new.topic:
        return _end(new, [old for old, verdict in verdicts if verdict == "supersedes" and _open(old)], now)
    later = [old for old, verdict in verdicts if verdict == "supersedes" and _began(old) > _began(new)]
    if later:  # told of an earlier time than what is known: it has ended already
        next_one = min(later, key=_began)
        record = replace(new, valid_until=_began(next_one), superseded_by=next_one.id)
        return Revision("add", record, (record,), f"held until {_began(next_one):%Y-%m-%d}: {next_one.text!r}")
    ended = [old for old, verdict in verdicts if verdict == "supersedes" and _open(old)]
    if ended:
        return Revision(
            "supersede",
            new,
            (new, *(close(old, _began(new), new.id, now) for old in ended)),
            "replaces " + ", ".join(repr(old.text) for old in ended),
        )
    against = [old for old, verdict in verdicts if verdict == "contradicts" and _open(old)]
    if against:
        marked = replace(new, flags=unique([*new.flags, CONTRADICTED]))
        others = [
            replace(old, flags=unique([*old.flags, CONTRADICTED]), version=old.version + 1, updated_at=now)
            for old in against
            if CONTRADICTED not in old.flags
        ]
        return Revision(
            "contradict", marked, (marked, *others), "contradicts " + ", ".join(repr(old.text) for old in against)
        )
    return Revision("add", new, (new,), "new")


def _repair(new: Record, known: Known, now: datetime) -> Revision:
    found = repaired(new, known.open())
    if found is None:
        return Revision("none", new, (), "it corrects nothing that is known")
    record, old = found
    return Revision("supersede", record, (record, close(old, _began(old), record.id, now)), f"corrects {old.text!r}")


def _reach(new: Record, known: Known, now: datetime) -> Revision:
    found = reached(new, known.open())
    if found is None:
        return Revision("none", new, (), "it replaces nothing that is known")
    record, old = found
    return Revision("supersede", record, (record, close(old, _began(new), record.id, now)), f"replaces {old.text!r}")


def _part(new: Record, known: Known, now: datetime) -> Revision:
    """Close what held of the dead; that they died is a happening, whether or not anything was known of them."""
    ended = ended_by(new, known.open())
    before = [old for old in known.of(new.topic) if says_the_same(new.text, old.text)]
    if before:
        return Revision("known", new, (), "it is known already")
    if not ended and new.kind != "event":
        return Revision("none", new, (), "it is about nobody who is known")
    told = replace(new, kind="event")
    closed = tuple(close(old, _began(new), new.id, now) for old in ended)
    why = "ends " + ", ".join(repr(old.text) for old in ended) if ended else "new"
    return Revision("end" if ended else "add", told, (told, *closed), why)


_SPECIAL: Final[Mapping[str, Callable[[Record, Known, datetime], Revision]]] = {
    REPAIRED: _repair,
    REACHED: _reach,
    DEATH: _part,
}
"""What becomes of statements that touch more than their own topic, by attribute."""


def compare(new: Record, old: Record) -> Verdict:
    """Return what a new statement is to a known one of a related topic, by rule."""
    about, of = subject_and_attribute(new), subject_and_attribute(old)
    if about is None or of is None:
        return _among_many(new, old)
    if about != of and _elsewhere(new, old):
        return "supersedes"
    attribute = about[1]
    if attribute.startswith("former "):
        return _former(new, old, of[1])
    if _REVERSE.get(attribute) == of[1]:
        opposed = same_taste(new.text, old.text) or _opposed(new, old)
        return "supersedes" if opposed and _names_all(new, old) else "unrelated"
    if of[1] != attribute and of[1] in _GIVEN_UP.get(attribute, ()):
        return "supersedes" if _gives_up(new, old) else "unrelated"
    if attribute == "diet":
        return _diet(new, old)
    if attribute == "instruction" and reversed_order(new.text, old.text):
        return "supersedes"
    if (alike := refilled(attribute, new.text, old.text)) is not None:
        return "repeats" if alike else "unrelated" if _long_before(new, old) else _other_value(new, old)
    if attribute not in ONE_AT_A_TIME and attribute not in CONSTANT:
        return _among_many(new, old)
    if not aspects(attribute, new.text) & aspects(attribute, old.text):
        return "unrelated"
    corrected = CORRECTION in new.flags
    if not content(new.text) and not corrected:  # "I've changed jobs" names no value, and ends the one that was
        return "supersedes" if changes(new.text) and not denies(new.text) else "unrelated"
    alike = same_value(attribute, new.text, old.text)
    if denies(new.text) and not corrected:
        return "supersedes" if alike else "unrelated"
    if alike and (not corrected or content(new.text) == content(old.text)):
        return "unrelated" if denies(old.text) else "repeats"
    if attribute in CONSTANT and not corrected and not changes(new.text):
        return "contradicts"
    return _other_value(new, old)


def _among_many(new: Record, old: Record) -> Verdict:
    """Compare two statements of what there may be many of: only the same again and its denial concern each other."""
    if not same_day(new, old):
        return "unrelated"
    if says_the_reverse(new.text, old.text):
        return _other_value(new, old)
    return "repeats" if says_the_same(new.text, old.text) else "unrelated"


def _other_value(new: Record, old: Record) -> Verdict:
    """Compare two values of what has one at a time: told in one breath, neither as a change, they contradict."""
    told_as_change = CORRECTION in new.flags or changes(new.text) or follows(new.text, old.text)
    return "supersedes" if told_as_change or abs(new.created_at - old.created_at) >= ONE_PERIOD else "contradicts"


def _long_before(new: Record, old: Record) -> bool:
    """Return whether a happening was over long before what is known began: a divorce before the marriage."""
    return new.occurred_at is not None and _began(old) - new.occurred_at > _LONG


_LONG: Final = timedelta(days=500)
"""Longer than "last year" reaches back."""


def close(old: Record, until: datetime, by: str | None, now: datetime) -> Record:
    """Return the next version of a record: it held until then, and ``by`` has replaced it."""
    return replace(old, valid_until=until, superseded_by=by, version=old.version + 1, updated_at=now)


def _related(new: Record, known: Known) -> list[Record]:
    """Return what may be revised by a statement: its topic, the reverse of it, and what it says has ended."""
    found = known.of(new.topic)
    about = subject_and_attribute(new)
    if about is not None:
        attribute = about[1]
        for other in _others(attribute):
            found = [*found, *known.of(topic_of(about[0], other))]
    if about is not None and (about[1] == "family" or (CORRECTION in new.flags and any(called(new.text)))):
        found = [*found, *(old for old in known.open() if old not in found and _elsewhere(new, old))]
    return found


def _elsewhere(new: Record, old: Record) -> bool:
    """Return whether a statement ends one under another subject: by another name, or because two have parted."""
    if (subject_and_attribute(new) or ("", ""))[1] == "family":
        return parts_from(new, old)
    return CORRECTION in new.flags and renames(new, old)


def _others(attribute: str) -> tuple[str, ...]:
    """Return the other attributes that a statement about one touches."""
    if attribute in _REVERSE or attribute in _GIVEN_UP:
        return (*([_REVERSE[attribute]] if attribute in _REVERSE else ()), *_GIVEN_UP.get(attribute, ()))
    if attribute == CANCELLED:
        return ("plan", "event", "wish", "move")
    return (attribute[len("former ") :],) if attribute.startswith("former ") else ()


def _end(new: Record, ended: Sequence[Record], now: datetime) -> Revision:
    """Close what a statement says is over; the statement itself is kept as a fact of the past."""
    if not ended and _is_cancelled(new):
        return Revision("none", new, (), "it takes back nothing that is known")
    if not ended and new.kind == "event":  # what was sold was never known: it is what happened
        about = subject_and_attribute(new) or ("", "")
        happening = replace(new, topic=topic_of(about[0], "event"))
        return Revision("add", happening, (happening,), "new")
    fact = replace(new, kind="fact")
    closed = tuple(close(old, _began(new), new.id, now) for old in ended)
    why = "ends " + ", ".join(repr(old.text) for old in ended) if ended else "new"
    return Revision("end" if ended else "add", fact, (fact, *closed), why)


def _former(new: Record, old: Record, attribute: str) -> Verdict:
    if attribute.startswith("former "):
        return "repeats" if says_the_same(new.text, old.text) else "unrelated"
    mine, its = content(new.text), content(old.text)
    if _is_cancelled(new):  # "it's off" takes back what was said last; else the words of the plan must be in it
        return "supersedes" if mine and its and mine & its else "unrelated"
    return "supersedes" if same_things(new.text, old.text) else "unrelated"


def _is_cancelled(record: Record) -> bool:
    return record.topic is not None and record.topic.endswith(SEPARATOR + CANCELLED)


def _diet(new: Record, old: Record) -> Verdict:
    """Compare what somebody eats: whether they eat animals at all is one question, each other food its own."""
    if _opposed(new, old):
        return "supersedes"
    if says_the_same(new.text, old.text):
        return "repeats"
    if abstains(new.text) != abstains(old.text) and content(new.text) and same_things(new.text, old.text):
        return "supersedes"
    return "unrelated"


def _gives_up(new: Record, old: Record) -> bool:
    """Return whether a statement about food or habits ends one of another attribute."""
    mine, its = stance(new.text), stance(old.text)
    if mine is not None and its is not None:
        return mine != its
    put_off = (new.topic or "").endswith("dislike") and (changes(new.text) or _later(new, old))
    ends = not abstains(old.text) and (abstains(new.text) or put_off)
    begins = abstains(old.text) and not abstains(new.text) and resumes(new.text)
    return (ends or begins) and _names_all(new, old) and same_taste(new.text, old.text)


def _opposed(new: Record, old: Record) -> bool:
    """Return whether one of two statements is of eating animals, and the other of eating none."""
    mine, its = stance(new.text), stance(old.text)
    return mine is not None and its is not None and mine != its


def _later(new: Record, old: Record) -> bool:
    return new.created_at - old.created_at >= ONE_PERIOD


def _names_all(new: Record, old: Record) -> bool:
    return bool(content(new.text)) and bool(content(old.text))


def same_day(new: Record, old: Record) -> bool:
    """Return whether two statements can mean one happening: on one day, or one of them on no day in particular."""
    if new.occurred_at is None or old.occurred_at is None:
        return True
    return new.occurred_at.date() == old.occurred_at.date()


def _open(record: Record) -> bool:
    return record.valid_until is None


def _began(record: Record) -> datetime:
    return record.valid_from or record.created_at
