"""Situations that a person would call recall, in English and Chinese, with the embedded model."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from functools import lru_cache

import numpy as np
import pytest

from siltstone.errors import InvalidInputError
from siltstone.models.resolve import resolve_embedder
from siltstone.protocols import Embedder, Floats, Put, Where
from siltstone.recall.search import search
from siltstone.recall.weights import BY_HAND
from siltstone.records import Hit, Message, Record, turn_of
from siltstone.stores.ram import RamStore
from siltstone.text.keys import dense_key
from siltstone.text.language import is_chinese

NOW = datetime(2024, 6, 12, 15, 30, tzinfo=timezone.utc)
ENGLISH = [
    "The weather is lovely today.",
    "I had pasta for dinner.",
    "Traffic was terrible this morning.",
    "My sister called to talk about her new sofa.",
    "The printer is out of ink again.",
    "We watched a film about whales.",
]
CHINESE = [
    "今天天气不错。",
    "昨晚吃了面条。",
    "早上堵车很严重。",
    "姐姐打电话说她买了新沙发。",
    "打印机又没墨了。",
    "我们看了一部关于鲸鱼的电影。",
]


@lru_cache
def model() -> Embedder:
    """Return the embedded default."""
    return resolve_embedder(None)


@lru_cache(maxsize=4096)
def embedded(key: str) -> tuple[float, ...]:
    """Return the vector of a key, computed once."""
    return tuple(model().embed_documents([key])[0].tolist())


class Memory:
    """One user's records in memory, written one after the other."""

    def __init__(self) -> None:
        self.store = RamStore()
        self.count = 0

    def say(
        self, text: str, *, role: str = "user", name: str | None = None, days: float = 1, session: str = "s"
    ) -> str:
        """Store a turn that was said some days ago; return its record's id."""
        self.count += 1
        when = NOW - timedelta(days=days)
        message = Message(role, text, name=name, id=f"m{self.count}", created_at=when, session_id=session)
        turn = turn_of(message, "u", when)
        assert turn is not None
        self.put(turn, message)
        return turn.id

    def know(self, text: str, *, days: float = 1, kind: str = "fact", **fields: object) -> str:
        """Store a record that is no turn; return its id."""
        self.count += 1
        when = NOW - timedelta(days=days)
        record = Record(id=f"r{self.count}", text=text, kind=kind, user_id="u", created_at=when, stored_at=when)
        self.put(dataclasses.replace(record, **fields))  # type: ignore[arg-type]
        return record.id

    def put(self, record: Record, message: Message | None = None) -> None:
        """Store a record with its vector."""
        vector: Floats = np.array(embedded(dense_key(record)), np.float32)
        self.store.commit("u", [Put(record, message, vector)])

    def chat(self, texts: Sequence[str] = (*ENGLISH, *CHINESE)) -> None:
        """Store talk about nothing, each line in a session of its own."""
        for n, text in enumerate(texts):
            self.say(text, days=40 + n, session=f"chatter {n}")

    def ask(self, query: str, **options: object) -> list[Hit]:
        """Search with the embedded model."""
        return search(self.store, model(), "u", query, **{"now": NOW, "top_k": 5, **options})  # type: ignore[arg-type]

    def best(self, query: str, **options: object) -> str:
        """Return the text of the first hit."""
        return self.ask(query, **options)[0].record.text


class Favours:
    """A reranker that cares for one word only."""

    name = "favours"

    def __init__(self, word: str) -> None:
        self.word = word

    def rerank(self, query: str, texts: Sequence[str]) -> Floats:
        """Return 1 for texts with the word, 0 for others, ``(n,)``."""
        return np.array([self.word in text for text in texts], np.float32)


@pytest.fixture
def memory() -> Memory:
    """An empty memory."""
    return Memory()


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("我对花生过敏，一吃就起疹子。", "哪些食物我不能碰？"),
        ("下个月我要搬去成都和女朋友一起住。", "我的居住计划有什么变化？"),
        ("我儿子今年上小学一年级。", "孩子读几年级了？"),
        ("I'm allergic to peanuts.", "Which food makes me ill?"),
        ("We adopted a beagle puppy last week.", "What pet do I have?"),
    ],
)
def test_a_question_finds_its_memory_without_a_shared_word(memory: Memory, said: str, asked: str) -> None:
    """Meaning is enough, in Chinese as in English."""
    memory.chat()
    memory.say(said)
    assert memory.best(asked) == said


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("我在深圳做前端工程师。", "Where do I work and what is my job?"),
        ("我最喜欢的乐队是五月天。", "What is my favourite band?"),
        ("I work as a nurse in Hamburg.", "我是做什么工作的？"),
        ("My daughter's name is Lily.", "我女儿叫什么名字？"),
    ],
)
def test_languages_meet(memory: Memory, said: str, asked: str) -> None:
    """An English question finds its Chinese memory among others in Chinese, and the other way round."""
    memory.chat(CHINESE if is_chinese(said) else ENGLISH)
    memory.say(said)
    assert memory.best(asked) == said


@pytest.mark.parametrize(
    ("moves", "now", "past"),
    [
        (
            ["I live in Berlin now.", "I moved from Berlin to Lisbon.", "I moved again, I live in Oslo now."],
            "Where do I live now?",
            "Where did I live before?",
        ),
        (
            ["我现在住在北京。", "我从北京搬到了上海。", "我又搬家了，现在住在杭州。"],
            "我现在住在哪里？",
            "我以前住在哪里？",
        ),
    ],
)
def test_after_moving_twice_the_newest_home_comes_first(memory: Memory, moves: list[str], now: str, past: str) -> None:
    """ "Now" asks for the newest of similar memories, with no validity known."""
    memory.chat()
    for n, text in enumerate(moves):
        memory.say(text, days=30 - 10 * n, session=f"move {n}")
    assert memory.best(now) == moves[-1]
    assert {hit.record.text for hit in memory.ask(past, top_k=3)} & set(moves[:2])


@pytest.mark.parametrize(
    ("old", "new", "now", "past"),
    [
        ("Alice works at Siemens.", "Alice works at Bosch.", "Where does Alice work?", "Where did Alice work before?"),
        (
            "Alice works at Siemens.",
            "Alice has joined Bosch.",
            "Where does Alice work?",
            "Where did Alice work before?",
        ),
        ("用户住在北京。", "用户住在上海。", "用户住在哪里？", "用户以前住在哪里？"),
        ("用户住在北京。", "用户搬到了上海。", "用户住在哪里？", "用户以前住在哪里？"),
    ],
)
def test_what_no_longer_holds_stands_behind_unless_the_past_is_asked_about(
    memory: Memory, old: str, new: str, now: str, past: str
) -> None:
    """A record whose validity was closed yields to its successor, and is still there for questions about the past."""
    memory.chat()
    memory.know(old, days=100, valid_until=NOW - timedelta(days=10))
    memory.know(new, days=10, valid_from=NOW - timedelta(days=10))
    assert memory.best(now) == new
    assert memory.best(past) == old


@pytest.mark.parametrize(
    ("old", "new", "asked", "undated"),
    [
        (
            "Alice lives in Berlin.",
            "Alice has moved to Lisbon.",
            "Where did Alice live in {0:%B %Y}?",
            "Where did Alice live in {0:%B}?",
        ),
        (
            "Alice has a flat in Berlin.",
            "Alice lives in Lisbon.",
            "Where did Alice live in {0:%B %Y}?",
            "Where did Alice live in {0:%B}?",
        ),
        ("用户住在北京。", "用户搬到了上海。", "{0.year}年{0.month}月用户住在哪里？", "{0.month}月用户住在哪里？"),
        ("用户在北京租房。", "用户住在上海。", "{0.year}年{0.month}月用户住在哪里？", "{0.month}月用户住在哪里？"),
    ],
)
def test_what_held_at_a_past_time_comes_first_when_that_time_is_named(
    memory: Memory, old: str, new: str, asked: str, undated: str
) -> None:
    """ "Where did I live in March" means the home of March, not the one that replaced it in May."""
    memory.chat()
    moved = NOW - timedelta(days=60)
    memory.know(new, days=60, valid_from=moved, id="new")
    memory.know(old, days=400, valid_until=moved, superseded_by="new")
    memory.know("Alice works at Bosch. 用户在博世上班。", days=400)
    assert memory.best(asked.format(NOW - timedelta(days=120))) == old
    assert memory.best(undated.format(NOW - timedelta(days=120))) == old
    later = [hit.record.text for hit in memory.ask(asked.format(NOW - timedelta(days=35)), top_k=20)]
    assert later.index(new) < later.index(old)


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        (
            [
                "Berlin is wonderful, I love its parks and lakes.",
                "Tomorrow the movers come, goodbye flat!",
                "Lisbon is sunny and the food is great.",
            ],
            "What did I say about Berlin before the move?",
        ),
        (
            [
                "柏林真不错，我喜欢那里的公园和湖。",
                "明天搬家公司就来了，再见了小公寓！",
                "里斯本阳光很好，东西也好吃。",
            ],
            "搬家之前我是怎么说柏林的？",
        ),
    ],
)
def test_what_was_said_before_a_move_is_found(memory: Memory, said: list[str], asked: str) -> None:
    """ "What did I say about Berlin before the move" finds the praise, not the move."""
    memory.chat()
    for n, text in enumerate(said):
        memory.say(text, days=90 - 30 * n, session=f"move {n}")
    assert memory.best(asked) == said[0]


@pytest.mark.parametrize(
    ("asks", "answers", "asked"),
    [
        (
            "Can you recommend a book about trees? I like books about trees.",
            "You could read The Overstory by Richard Powers.",
            "Which book did you recommend to me?",
        ),
        ("能推荐一家川菜馆吗？我喜欢川菜馆。", "可以去试试蜀香园，水煮鱼很出名。", "你给我推荐过哪家餐馆？"),
    ],
)
def test_what_the_assistant_recommended_is_found(memory: Memory, asks: str, answers: str, asked: str) -> None:
    """A question about the assistant's words finds its answer, not the user's request that it resembles."""
    memory.chat()
    memory.say(asks, session="books")
    memory.say(answers, role="assistant", session="books")
    assert memory.best(asked) == answers


@pytest.mark.parametrize(
    ("lines", "asked", "right"),
    [
        (
            [("Caroline", "I adopted a cat called Miso."), ("Melanie", "I adopted a dog called Bruno.")],
            "What pet did Melanie adopt?",
            "I adopted a dog called Bruno.",
        ),
        (
            [("Caroline", "I adopted a pet cat called Miso."), ("Melanie", "I adopted a dog called Bruno.")],
            "What pet did Melanie adopt?",
            "I adopted a dog called Bruno.",
        ),
        ([("李雷", "我最喜欢吃火锅。"), ("韩梅梅", "我喜欢吃饺子。")], "韩梅梅最喜欢吃什么？", "我喜欢吃饺子。"),
        (
            [("李雷", "我周末去爬了泰山。"), ("韩梅梅", "我周末去看了画展。")],
            "韩梅梅周末做了什么？",
            "我周末去看了画展。",
        ),
    ],
)
def test_the_other_speakers_look_alike_ranks_below(
    memory: Memory, lines: list[tuple[str, str]], asked: str, right: str
) -> None:
    """A fact about the wrong person, however similar, does not come first."""
    memory.chat()
    for n, (name, text) in enumerate(lines):
        memory.say(text, name=name, role="user" if n == 0 else "assistant", session="pets")
    assert memory.best(asked) == right


@pytest.mark.parametrize("turned", [0, 1, 2])
@pytest.mark.parametrize(
    ("asked", "right"),
    [
        ("What did I do last Friday?", 5),
        ("What sport did I do in March?", 90),
        ("我上周五做了什么运动？", 5),
        ("三月份我做了什么运动？", 90),
    ],
)
def test_a_time_in_the_question_counts(memory: Memory, asked: str, right: int, turned: int) -> None:
    """Of similar memories, the one of the time that is asked about comes first, whichever that is."""
    did = ["I went for a run, 跑步了。", "I went swimming, 游泳了。", "I went climbing, 爬山了。"]
    texts = dict(zip((5, 40, 90), did[turned:] + did[:turned], strict=True))
    for days, text in texts.items():
        memory.say(text, days=days, session=str(days))
    assert memory.best(asked) == texts[right]


@pytest.mark.parametrize(
    ("event", "asked"),
    [
        ("We are finally off on our trip to Norway today!", "What did I buy two weeks before the trip?"),
        ("Our trip to Norway begins on 3 June.", "Two weeks before the trip, what did I buy?"),
        ("今天终于出发去挪威旅行了！", "挪威旅行前两周我买了什么？"),
        ("挪威旅行定在6月3日出发。", "去挪威旅行之前两个星期我买了什么？"),
    ],
)
def test_a_time_may_hang_on_an_event(memory: Memory, event: str, asked: str) -> None:
    """The event is found in the memory, its day by its words or by when it was said, and the time counted from it."""
    memory.chat()
    memory.say(event, days=9 if "3" not in event else 35, session="trip")
    bought = {
        n: memory.say(f"I bought {n} pairs of boots, 我买了{n}双靴子。", days=n, session=f"{n}") for n in (2, 23, 70)
    }
    assert memory.ask(asked)[0].record.id == bought[23]


@pytest.mark.parametrize(
    ("lines", "asked", "right"),
    [
        (
            [
                "I'm Rain, a designer in Leeds.", "Hello Rain!", "I get hives from shellfish.", "Noted.",
                "Next week I'm flying to Peru.", "That sounds nice.", "My cat is called Mochi.", "A sweet name!",
            ],
            "What should I avoid at dinner?",
            "I get hives from shellfish.",
        ),
        (
            [
                "我叫小雨，在杭州做设计师。", "你好小雨！很高兴认识你。", "我对花生严重过敏。", "记住了。",
                "下个月五号我要去云南旅行一周。", "云南的春天很美，祝你玩得开心。", "昨天我刚领养了一只橘猫，叫年糕。",
                "年糕真是个可爱的名字！",
            ],
            "我不能吃什么？",
            "我对花生严重过敏。",
        ),
    ],
)  # fmt: skip
def test_in_a_small_memory_saying_when_is_no_answer(memory: Memory, lines: list[str], asked: str, right: str) -> None:
    """That answers often say when is learned from hundreds of turns; among eight, a travel plan is not an allergy."""
    for n, text in enumerate(lines):
        memory.say(text, role="assistant" if n % 2 else "user", days=2)
    assert memory.best(asked) == right


@pytest.mark.parametrize("query", ["猫", "a", "?", "👍", "我", "7"])
def test_the_shortest_queries_work(memory: Memory, query: str) -> None:
    """One character, a stop word, a mark, a digit or an emoji is a query, and gets its full ``top_k``."""
    memory.chat()
    memory.say("我养了一只猫。")
    memory.say("Great 👍")
    hits = memory.ask(query, top_k=10)
    assert len(hits) == 10
    if query in "猫👍":
        assert query in hits[0].record.text
        assert query in search(memory.store, None, "u", query, now=NOW)[0].record.text


@pytest.mark.parametrize(
    ("said", "talk"),
    [
        ("I keep bees on the roof.", "We talked about bees and honey and hives on roofs. "),
        ("我在屋顶养蜜蜂。", "我们聊了蜜蜂、蜂蜜和屋顶上的蜂箱。"),
    ],
)
def test_thirty_thousand_characters_of_query_work(memory: Memory, said: str, talk: str) -> None:
    """A whole conversation as a query is answered, and what it is about comes first."""
    memory.chat()
    memory.say(said)
    assert memory.best(talk * (30_000 // len(talk) + 1)) == said


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_an_empty_query_is_refused(memory: Memory, query: str) -> None:
    """There is nothing to search for; the error says what to pass."""
    with pytest.raises(InvalidInputError, match="query is empty"):
        memory.ask(query)


def test_an_empty_memory_recalls_nothing(memory: Memory) -> None:
    """No records, no hits, no error."""
    assert memory.ask("anything?") == []


def test_near_identical_texts_are_one_hit(memory: Memory) -> None:
    """The newest is kept, ``why`` names the others, and the place is free for something else."""
    memory.chat()
    first = memory.say("I live in Paris.", days=20, session="a")
    second = memory.say("i live in paris", days=2, session="b")
    hits = memory.ask("Where do I live?", top_k=10)
    assert [hit.record.id for hit in hits if "paris" in hit.record.text.lower()] == [second]
    assert f"same_text:{first}" in hits[0].why
    assert len(hits) == 10


def test_opposites_that_embed_alike_are_two_hits(memory: Memory) -> None:
    """ "没有得奖" and "取得了好名次" are nearly one vector and two memories."""
    memory.say("他这次比赛没有得奖。", days=3)
    memory.say("他这次比赛取得了好名次。", days=2)
    assert len(memory.ask("比赛结果怎么样？")) == 2


def test_without_an_embedder_words_are_enough(memory: Memory) -> None:
    """A lexical search finds by words, and nothing that has none in common."""
    memory.chat()
    memory.say("我养了一只叫小白的猫。")
    hits = search(memory.store, None, "u", "小白", now=NOW)
    assert [hit.record.text for hit in hits] == ["我养了一只叫小白的猫。"]
    assert search(memory.store, None, "u", "zeppelin", now=NOW) == []


def test_neighbours_lend_their_words(memory: Memory) -> None:
    """An answer without the question's words is found through the question before it, in its session only."""
    memory.chat()
    memory.say("Did you ever visit Machu Picchu?", role="assistant", session="trip")
    memory.say("Yes, twice, with my brother.", session="trip")
    memory.say("Yes, once, with my aunt.", session="other")
    hits = memory.ask("Machu Picchu", top_k=15)
    texts = [hit.record.text for hit in hits]
    assert texts.index("Yes, twice, with my brother.") < texts.index("Yes, once, with my aunt.")
    assert texts.index("Yes, twice, with my brother.") <= 2


def test_filters_give_their_full_number(memory: Memory) -> None:
    """A filter on kind, session or time leaves ``top_k`` results where so many rows pass."""
    memory.chat()
    for n in range(12):
        memory.know(f"Fact number {n} about gardens.", days=n)
    hits = memory.ask("pasta for dinner", top_k=10, where=Where(kinds=("fact",), now=NOW))
    assert len(hits) == 10
    assert {hit.record.kind for hit in hits} == {"fact"}


def test_a_derived_record_serves_its_sources(memory: Memory) -> None:
    """With ``expand="source"`` the verbatim turn stands in the place of the fact, once."""
    memory.chat()
    turn = memory.say("Honestly, since the accident I can't stand the smell of lilies.")
    fact = memory.know("The user dislikes lilies.", source_ids=(turn,))
    hits = memory.ask("Which flowers does the user dislike?", expand="source")
    assert hits[0].record.id == turn
    assert [hit.record.id for hit in hits].count(turn) == 1
    assert f"via:{fact}" in hits[0].why
    assert fact not in [hit.record.id for hit in hits]


def test_why_adds_up_to_the_score(memory: Memory) -> None:
    """The parts of a score are named, and their sum is the score."""
    memory.chat()
    memory.say("I adopted a cat called Miso.")
    for hit in memory.ask("What is my cat called?"):
        assert sum(hit.why.values()) == pytest.approx(hit.score, abs=0.01)


def test_a_reranker_has_half_a_say(memory: Memory) -> None:
    """A reranker moves a hit up; the first stage still counts, and ``why`` shows the second."""
    memory.chat()
    flat = memory.say("My bicycle has a flat tyre.", session="a")
    best = memory.say("The tyre of my bicycle: what pressure is right for it?", session="b")
    question = "what pressure is right for a bicycle tyre"
    assert [hit.record.id for hit in memory.ask(question)[:2]] == [best, flat]
    hits = memory.ask(question, reranker=Favours("flat"))
    assert [hit.record.id for hit in hits[:2]] == [flat, best]
    assert [hit.why["reranker"] for hit in hits] == [1, 0, 0, 0, 0]
    assert [hit.record.id for hit in memory.ask(question, reranker=Favours("ink"))[1:3]] == [best, flat]


@pytest.mark.parametrize("important", ["green", "black"])
def test_importance_decides_between_likes(memory: Memory, important: str) -> None:
    """Of two memories that say much the same, the important one comes first."""
    memory.chat()
    for tea in ("green", "black"):
        memory.know(f"The user enjoys {tea} tea.", importance=1.0 if tea == important else 0.1)
    assert memory.best("Which tea does the user enjoy?") == f"The user enjoys {important} tea."


def test_each_kind_ages_by_its_own_half_life(memory: Memory) -> None:
    """After 30 days an event is half as fresh, a turn less aged; a fact does not age."""
    memory.know("The garden party was loud.", days=30, kind="event")
    memory.know("The garden is small.", days=30)
    memory.say("The garden gate squeaks.", days=30)
    fresh = {hit.record.kind: hit.why["freshness"] / BY_HAND["freshness"] for hit in memory.ask("garden")}
    assert fresh == pytest.approx({"event": 0.5, "fact": 1.0, "turn": 2 ** (-30 / 180)}, abs=0.01)
