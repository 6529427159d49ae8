"""What a new statement does to what is known, as people say it in conversation, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import state_phrasings
from siltstone import Record, Settings, TieredMemory
from siltstone.lifecycle.likeness import says_the_same
from siltstone.testing import FrozenClock, HashEmbedder, WordCounter
from update_phrasings import ACROSS, CHINESE, ENGLISH, MISSED, Case


class Life:
    """A user who talks to an assistant now and then, and a memory that is consolidated after each conversation."""

    def __init__(self, memory: TieredMemory, clock: FrozenClock) -> None:
        self.memory = memory
        self.clock = clock
        self._sessions = 0

    def says(self, *texts: str, days: float = 10) -> list[str]:
        """Let the user say texts in a new session, consolidate, and let some days pass; return the message ids."""
        self._sessions += 1
        ids = []
        for text in texts:
            added = self.memory.add(
                [("user", text), ("assistant", "Noted." if text.isascii() else "好的。")],
                session_id=f"s{self._sessions}",
            )
            ids.append(added[0])
            self.clock.advance(minutes=1)
        self.clock.advance(hours=1)
        self.memory.consolidate()
        self.clock.advance(days=days)
        return ids

    def all(self, attribute: str, subject: str = "user") -> list[Record]:
        """Return everything ever known about an attribute."""
        return [record for record in self.memory.records() if record.topic == f"{subject} · {attribute}"]

    def current(self, attribute: str, subject: str = "user") -> list[str]:
        """Return what holds now."""
        return [record.text for record in self.all(attribute, subject) if record.valid_until is None]


@pytest.fixture
def life() -> Iterator[Life]:
    """A new life, at noon of a spring day."""
    clock = FrozenClock("2024-05-08T12:00:00+00:00")
    with TieredMemory.open(
        ":memory:", embedder=HashEmbedder(), token_counter=WordCounter(), clock=clock, settings=Settings(embed_wait=5.0)
    ) as memory:
        yield Life(memory, clock)


@pytest.mark.parametrize(
    ("first", "again", "attribute"),
    [
        ("By the way, I live in Lisbon.", "You know I'm living in Lisbon, right by the river.", "home"),
        ("I'm allergic to peanuts.", "And I'm allergic to peanuts, don't forget.", "health"),
        ("I love jazz.", "As I said, I love jazz.", "like"),
        ("对了，我住在深圳。", "我现在住在深圳南山区。", "home"),
        ("我对花生过敏。", "别忘了，我对花生过敏。", "health"),
        ("我喜欢爵士乐。", "我特别喜欢爵士乐。", "like"),
    ],
)
def test_said_twice(life: Life, first: str, again: str, attribute: str) -> None:
    """A repetition raises the support of what is known, unites the sources, and adds no row."""
    ids = life.says(first) + life.says(again)
    (record,) = life.all(attribute)
    assert (record.support, record.source_ids, record.valid_until) == (2, tuple(ids), None)


@pytest.mark.parametrize(
    ("old", "new", "attribute"),
    [
        ("I live in Berlin, near the canal.", "Big news: we've moved to Lisbon!", "home"),
        ("I live in Berlin.", "I'm based in Porto these days.", "home"),
        ("I work as a nurse.", "I've started working as a teacher.", "work"),
        ("I work at Siemens.", "I got a job at Bosch last week!", "work"),
        ("I'm 34.", "I turned 35 yesterday.", "age"),
        ("My email is al@example.org.", "My email is bo@example.org now.", "email"),
        ("Please call me Al.", "From now on call me Bo, please.", "name"),
        ("我住在北京。", "我上周搬到了上海。", "home"),
        ("我在腾讯上班。", "我跳槽去了字节跳动。", "work"),
        ("我今年三十岁。", "我三十一岁了。", "age"),
        ("叫我小李就行。", "以后叫我老李吧。", "name"),
        ("I work at Siemens.", "I've switched jobs, finally.", "work"),
        ("我在西门子上班。", "我换工作了。", "work"),
    ],
)
def test_changed(life: Life, old: str, new: str, attribute: str) -> None:
    """A new value ends the old one's period; both are kept, linked, and history shows the old one."""
    life.says(old)
    life.says(new)
    was, now = life.all(attribute)
    assert (was.valid_until, was.superseded_by) == (now.created_at, now.id)
    assert now.valid_until is None
    assert was.text in [record.text for record in life.memory.history(now.id)]


@pytest.mark.parametrize(
    ("old", "new", "attribute"),
    [
        ("I'm allergic to peanuts.", "I'm not allergic to peanuts.", "health"),
        ("I'm allergic to cats.", "I'm no longer allergic to cats.", "health"),
        ("I'm not allergic to cats.", "I'm allergic to cats.", "health"),
        ("我对花生过敏。", "我对花生不过敏。", "health"),
        ("我对花生过敏。", "其实我对花生不过敏了。", "health"),
        ("我对花生不过敏。", "我对花生过敏。", "health"),
        ("我有糖尿病。", "我没有糖尿病。", "health"),
        ("I have a dog.", "I don't have a dog any more.", "pet"),
    ],
)
def test_a_denial_is_no_repetition(life: Life, old: str, new: str, attribute: str) -> None:
    """Of what there may be many, the denial of one replaces it, and the other way round; both are kept."""
    life.says(old)
    life.says(new)
    said = [*life.all(attribute)]
    assert [(one.support, one.valid_until is None) for one in said] == [(1, False), (1, True)]


@pytest.mark.parametrize(
    ("old", "new", "question", "asked_past"),
    [
        ("I live in Berlin.", "I moved to Lisbon.", "Where do I live?", "Where did I live before?"),
        ("我住在北京。", "我搬到了上海。", "我住在哪里？", "我以前住在哪里？"),
    ],
)
def test_the_current_one_is_found_first(life: Life, old: str, new: str, question: str, asked_past: str) -> None:
    """A search for the present finds what holds now first; one for the past finds what held before, too."""
    life.says(old)
    life.says(new)
    now = life.all("home")[1]
    hits = life.memory.search(question, kinds="profile")
    assert hits[0].record.id == now.id
    assert len(life.memory.search(asked_past, kinds="profile")) == 2
    assert now.text in life.memory.context(session_id="x").text
    assert life.all("home")[0].text not in life.memory.context(session_id="x").text


@pytest.mark.parametrize(
    "news",
    [
        "I turned down a job at Airbus.",
        "I applied for a job at Airbus in May.",
        "Airbus offered me a position at their plant last week.",
        "I almost took a job with Airbus last month.",
        "I nearly quit my job last week.",
        "我上周拒绝了空客的工作。",
        "我上周面试了空客。",
    ],
)
def test_a_job_that_nobody_took_ends_none(life: Life, news: str) -> None:
    """To apply for work, to be offered it, to turn it down, or nearly to change it, changes nothing."""
    life.says("I work at Siemens.")
    life.says(news)
    assert life.current("work") == ["I work at Siemens"]


@pytest.mark.parametrize(
    ("old", "new", "attribute"),
    [
        ("My favourite colour is blue.", "My favourite colour is green now.", "like"),
        ("My favourite board game is chess.", "These days my favourite board game is go.", "like"),
        ("我最喜欢的颜色是蓝色。", "我最喜欢的颜色换成绿色了。", "like"),
        ("I have two younger brothers.", "I have three younger brothers now.", "family"),
        ("We have two dogs.", "We have three dogs.", "pet"),
        ("我有两个孩子。", "我现在有三个孩子了。", "family"),
        ("Always answer in French.", "From now on answer in German.", "instruction"),
        ("Always use emojis.", "Never use emojis, please.", "instruction"),
        ("以后用英文回答我。", "以后用中文回答我吧。", "instruction"),
        ("以后回答别用表情。", "以后回答都用表情。", "instruction"),
        ("My email is al@example.org.", "My new email is bo@example.org.", "email"),
    ],
)
def test_one_place_has_one_value(life: Life, old: str, new: str, attribute: str) -> None:
    """Of what has one value among many statements of its kind, a favourite, a number, a language, the newer holds."""
    life.says(old)
    life.says(new)
    was, now = life.all(attribute)
    assert (was.superseded_by, now.valid_until) == (now.id, None)


@pytest.mark.parametrize(
    ("one", "other", "attribute"),
    [
        ("My favourite colour is blue.", "My favourite dish is ramen.", "like"),
        ("我最喜欢的颜色是蓝色。", "我最喜欢的菜是宫保鸡丁。", "like"),
        ("I have two brothers.", "I have three sisters.", "family"),
        ("我有两个弟弟。", "我有三个妹妹。", "family"),
        ("Always answer in French.", "Please keep answers short.", "instruction"),
        ("Never use emojis.", "Always use metric units.", "instruction"),
        ("以后用英文回答我。", "以后回答尽量简短。", "instruction"),
    ],
)
def test_another_place_is_left_alone(life: Life, one: str, other: str, attribute: str) -> None:
    """Another favourite, other things counted, another wish for the answers touch nothing."""
    life.says(one)
    life.says(other)
    assert [record.valid_until for record in life.all(attribute)] == [None, None]
    assert not any(record.flags for record in life.all(attribute))


@pytest.mark.parametrize("news", ["I've retired.", "I retired last month.", "I resigned.", "I retired from Siemens."])
def test_who_retires_works_there_no_longer(life: Life, news: str) -> None:
    """To retire or resign ends the work that was, whether or not the news names it."""
    life.says("I work at Siemens.")
    life.says(news)
    assert life.current("work") == []


@pytest.mark.parametrize(
    ("told", "released"),
    [
        ("Always answer in French.", "You can stop answering in French."),
        ("Always answer in French.", "You don't need to answer in French anymore."),
        ("以后用英文回答我。", "不用再用英文回答了。"),
    ],
)
def test_an_instruction_is_taken_back(life: Life, told: str, released: str) -> None:
    """What an assistant need not do any longer is no standing instruction, and neither is that it need not."""
    life.says(told)
    life.says(released)
    assert life.current("instruction") == []
    assert told.rstrip(".。") not in life.memory.context(session_id="x", sections=("profile",)).text


@pytest.mark.parametrize(
    ("one", "other", "attribute"),
    [
        ("My birthday is June 5.", "My birthday is July 9.", "birthday"),
        ("我的生日是六月五号。", "我的生日是七月九号。", "birthday"),
    ],
)
def test_contradicted(life: Life, one: str, other: str, attribute: str) -> None:
    """Two values of what cannot change are both kept, both open, and marked."""
    life.says(one)
    life.says(other)
    records = life.all(attribute)
    assert [record.valid_until for record in records] == [None, None]
    assert all("contradicted" in record.flags for record in records)


def test_contradicted_within_one_conversation(life: Life) -> None:
    """Two homes in one conversation, neither told as a change, are kept as both and marked."""
    life.says("I live in Berlin.", "I live in Lisbon.")
    assert all("contradicted" in record.flags and record.valid_until is None for record in life.all("home"))
    assert len(life.all("home")) == 2


@pytest.mark.parametrize(
    ("old", "new", "attribute", "holds"),
    [
        ("I live in Berlin.", "Sorry, I meant Bern, not Berlin.", "home", "I live in Bern"),
        ("I moved to Lisbon.", "Wait, no, it was Porto.", "home", "I moved to Porto"),
        ("My birthday is June 5.", "Actually my birthday is on June 3, not June 5.", "birthday", "June 3"),
        ("我住在上海。", "不对，不是上海，是苏州。", "home", "苏州"),
        ("我的生日是六月五号。", "我记错了，我生日是六月三号。", "birthday", "六月三号"),
    ],
)
def test_corrected(life: Life, old: str, new: str, attribute: str, holds: str) -> None:
    """A correction, even in the same breath, replaces what was told wrongly and contradicts nothing."""
    life.says(old, new)
    (text,) = life.current(attribute)
    assert holds in text
    assert not any("contradicted" in record.flags for record in life.all(attribute))


@pytest.mark.parametrize(
    ("plan", "taken_back"),
    [
        ("I'm flying to Kyoto on June 3.", "The Kyoto trip is off, we had to cancel it."),
        ("I'm going to visit Rome in July.", "I'm not going to Rome after all."),
        ("我六月三号飞东京。", "东京不去了，取消了。"),
    ],
)
def test_taken_back(life: Life, plan: str, taken_back: str) -> None:
    """A plan that is called off no longer holds, and other plans are left alone."""
    life.says(plan, "I have a dentist appointment on June 10.")
    life.says(taken_back)
    (left,) = life.current("plan")
    assert "dentist" in left


def test_a_taste_is_taken_back(life: Life) -> None:
    """Somebody who likes a thing no more is not recorded as liking it, and the reverse."""
    life.says("I love coffee and I enjoy hiking.", "I hate mushrooms.")
    life.says("I don't like coffee anymore.", "You know what, I like mushrooms now.")
    assert not any("coffee" in text for text in life.current("like"))
    assert any("mushrooms" in text for text in life.current("like"))
    assert not any("mushrooms" in text for text in life.current("dislike"))
    life.says("我喜欢喝茶。")
    life.says("我不再喜欢喝茶了。")
    assert not any("茶" in text for text in life.current("like"))


@pytest.mark.parametrize(
    ("eats", "stopped"),
    [
        ("I eat meat at every meal.", "I no longer eat meat."),
        ("我每顿都吃肉。", "我不再吃肉了。"),
        ("我爱吃肉，每天都吃牛肉。", "我改成吃素了。"),
    ],
)
def test_negation(life: Life, eats: str, stopped: str) -> None:
    """A denial ends what it denies and never counts as its repetition."""
    life.says(eats)
    life.says(stopped)
    (text,) = life.current("diet")
    assert text in stopped


def test_a_home_that_is_left(life: Life) -> None:
    """Leaving ends the home that is named, and no other."""
    life.says("I live in Berlin.")
    life.says("I don't live in Hamburg anymore.")
    assert life.current("home") == ["I live in Berlin"]
    life.says("I don't live in Berlin anymore.")
    assert life.current("home") == []


def test_two_people_with_the_same_attribute(life: Life) -> None:
    """What one person's home becomes changes nobody else's."""
    life.says("I live in Berlin.", "My sister lives in Rome.", "我哥哥住在成都。")
    life.says("My sister has moved to Milan.")
    assert life.current("home") == ["I live in Berlin"]
    assert len(life.current("home", "user's older brother")) == 1


@pytest.mark.parametrize(
    "said",
    [
        "If I lived in Paris I would eat croissants all day.",
        "I wish I lived in Paris.",
        "My colleague lives in Paris.",
        "Oh sure, I just love being stuck in traffic for two hours.",
        "Should I move to Paris?",
        "要是我住在巴黎就好了。",
        "我同事住在巴黎。",
        "我可太喜欢加班了，呵呵。",
    ],
)
def test_what_is_not_said_of_the_user(life: Life, said: str) -> None:
    """Hypotheticals, wishes, questions, sarcasm and other people's facts change nothing that is known of the user."""
    life.says("I live in Berlin.", "I love hiking.")
    life.says(said)
    assert life.current("home") == ["I live in Berlin"]
    assert life.current("like") == ["I love hiking"]


def test_unrelated_facts_are_left_alone(life: Life) -> None:
    """A new job, home and taste leave every other statement as it was."""
    life.says("I live in Berlin.", "I have two kids.", "I love jazz.", "I have a dog named Rex.", "I'm a nurse.")
    before = {record.id: record.version for record in life.memory.records() if record.kind != "turn"}
    life.says("I moved to Lisbon.", "I love sushi.", "I bought a bike.", "I work at Santa Maria hospital.")
    touched = [r.text for r in life.memory.records() if before.get(r.id, r.version) != r.version]
    assert touched == ["I live in Berlin"]


@pytest.mark.parametrize(
    ("one", "other", "attribute"),
    [
        ("I'm flying to Kyoto on June 3.", "I'm flying to Osaka on June 3.", "plan"),
        ("I have a dog named Rex.", "I have a dog named Max.", "pet"),
        ("My sister Ana is a doctor.", "My brother Leo is a doctor.", "relation"),
        ("我六月三号飞东京。", "我六月三号飞大阪。", "plan"),
        ("我喜欢打篮球。", "我喜欢打排球。", "like"),
    ],
)
def test_alike_but_not_the_same(life: Life, one: str, other: str, attribute: str) -> None:
    """Two things said in the same words are two things."""
    life.says(one)
    life.says(other)
    records = [r for r in life.memory.records() if (r.topic or "").endswith(f" · {attribute}")]
    assert [(record.support, record.valid_until) for record in records] == [(1, None), (1, None)]


def test_there_and_back_again(life: Life) -> None:
    """Two periods in one place stay two periods."""
    life.says("I live in Berlin.")
    life.says("I moved to Lisbon.")
    life.says("I've moved back to Berlin.")
    first, second, third = life.all("home")
    assert (first.valid_until, second.valid_until, third.valid_until) == (second.valid_from, third.valid_from, None)


def test_an_old_conversation_that_comes_late(life: Life) -> None:
    """What is imported from an earlier time takes its place before what is known already."""
    life.says("I live in Lisbon.")
    life.memory.add(
        [("user", "I live in Berlin, in a small flat.")], session_id="old", created_at="2023-01-05T12:00:00+00:00"
    )
    life.memory.consolidate()
    assert life.current("home") == ["I live in Lisbon"]
    old = life.all("home")[1]
    assert old.superseded_by == life.all("home")[0].id


def test_forgetting_the_new_brings_back_the_old(life: Life) -> None:
    """When the statement that replaced another is forgotten, the other holds again."""
    life.says("I live in Berlin.")
    (id,) = life.says("I moved to Lisbon.")
    life.memory.forget(ids=[id])
    life.memory.consolidate()
    assert life.current("home") == ["I live in Berlin"]


def test_forgetting_one_of_two_tellings_keeps_the_fact(life: Life) -> None:
    """What was said twice is still known when one of the messages is forgotten, and rests on the other alone."""
    (first,) = life.says("I'm allergic to peanuts.")
    (second,) = life.says("And I'm allergic to peanuts, don't forget.")
    life.memory.forget(ids=[first])
    assert life.all("health") == []
    life.memory.consolidate()
    (record,) = life.all("health")
    assert (record.source_ids, record.support) == ((second,), 1)


PHRASINGS = [
    pytest.param(case, id=f"{language}-{case.name}")
    for language, cases in (("en", ENGLISH), ("zh", CHINESE), ("across", ACROSS))
    for case in cases
    if f"{language}-{case.name}" not in MISSED
] + [
    pytest.param(case, id=f"state-{language}-{case.name}")
    for language, cases in (
        ("en", state_phrasings.ENGLISH),
        ("zh", state_phrasings.CHINESE),
        ("apart", state_phrasings.HELD_OUT),
    )
    for case in cases
    if case.name not in state_phrasings.MISSED
]


@pytest.mark.parametrize("case", PHRASINGS)
def test_as_people_put_it(life: Life, case: Case) -> None:
    """Changes, corrections, what is taken back and what is no fact are told apart in words of people's own."""
    ids = [life.says(text, days=2)[0] for text in case.turns]
    known = list(life.memory.records(kinds=("profile", "fact", "event")))
    holding = [set(record.source_ids) for record in known if record.valid_until is None]
    for turn in case.holds:
        assert any(ids[turn] in sources for sources in holding), f"turn {turn} is not known"
    for turn in case.over:
        assert {ids[turn]} not in holding, f"what turn {turn} told still holds"
    for turn in case.none:
        assert not any(ids[turn] in record.source_ids for record in known), f"turn {turn} was taken for a fact"
    if case.once:
        assert any({ids[turn] for turn in case.once} <= sources for sources in holding)


def test_other_numbers_are_no_repetition_in_another_language() -> None:
    """Two cats are not three, whatever the language; two are 两."""
    assert says_the_same("I have two cats", "我养了两只猫")
    assert not says_the_same("I have two cats", "我养了三只猫")


@pytest.mark.parametrize(
    ("known", "news"),
    [
        ("My wife is called Ines.", "My sister got divorced."),
        ("My cat is called Pixel.", "Actually my sister's cat is called Pickle."),
        ("I have a dog named Rex.", "Rex was sad because my cat died."),
        ("I have a dog named Rex.", "Rex's toy died."),
        ("My dog is called Rex.", "Tom said Rex died."),
        ("I have two dogs.", "My dog died."),
        ("I'm married.", "I got divorced in 2015."),
        ("My phone number is 555-1234.", "My phone is broken."),
        ("My name is Ann.", "My name is a bit unusual."),
        ("I live in Berlin.", "I live there now."),
        ("我老婆叫林静。", "我姐离婚了。"),
        ("我住在苏州。", "我现在住那儿。"),
        ("我的狗叫旺财。", "旺财的朋友死了。"),
    ],
)
def test_what_ends_nothing(life: Life, known: str, news: str) -> None:
    """What befalls others, or gives no value, ends nothing that is known of the user and their own."""
    (told,) = life.says(known)
    life.says(news)
    assert [r for r in life.memory.records(kinds=("profile",)) if told in r.source_ids and r.valid_until is None]


def test_a_death_leaves_the_profile_and_stays_in_history(life: Life) -> None:
    """Nothing of a dog that died stands in the profile; that it died, and what held before, is kept."""
    life.says("I have a dog named Rex.")
    life.says("My dog Rex died last week.")
    assert "Rex" not in life.memory.context(session_id="x", sections=("profile",)).text
    (death,) = [record for record in life.memory.records() if (record.topic or "").endswith(" · death")]
    assert "I have a dog named Rex" in [record.text for record in life.memory.history(death.id)]


def test_forgetting_a_death_brings_back_what_it_ended(life: Life) -> None:
    """When the message of a death is forgotten, what it had ended holds again."""
    life.says("I have a dog named Rex.")
    (id,) = life.says("My dog Rex died last week.")
    life.memory.forget(ids=[id])
    life.memory.consolidate()
    assert life.current("pet") == ["I have a dog named Rex"]
