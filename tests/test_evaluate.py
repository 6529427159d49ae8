"""Benchmarks: reading data sets, judging rankings, and measuring a memory."""

from __future__ import annotations

import dataclasses
import json
from datetime import datetime, timezone
from pathlib import Path

import pytest

from siltstone import InvalidInputError, NotFoundError
from siltstone.evaluate import custom, locomo, madial, memorybank
from siltstone.evaluate.metrics import Judged, interval, judge, paired
from siltstone.evaluate.report import by_budget, by_category, cost, difference, from_json, title, to_json, without
from siltstone.evaluate.run import measure, steps
from siltstone.evaluate.watch import Remembered
from siltstone.testing import HashEmbedder, OverlapReranker

LOCOMO = [
    {
        "sample_id": "talk-1",
        "conversation": {
            "speaker_a": "Mira",
            "speaker_b": "Ivo",
            "session_2_date_time": "12:05 am on 3 June, 2024",
            "session_2": [{"speaker": "Mira", "dia_id": "D2:1", "text": "The kiln arrived."}],
            "session_1_date_time": "1:56 pm on 8 May, 2024",
            "session_1": [
                {"speaker": "Mira", "dia_id": "D1:1", "text": "I ordered a kiln."},
                {"speaker": "Ivo", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a photo of a heron"},
            ],
            "session_3_date_time": "9:00 am on 4 June, 2024",
        },
        "qa": [
            {"question": "What did Mira order?", "evidence": ["D1:1; D2:01"], "category": 4},
            {"question": "Which bird?", "evidence": ["D1:2", "D9:9"], "category": 1},
            {"question": "Nothing known", "evidence": [], "category": 3},
            {"question": "Of no turn", "evidence": ["D7:7", "D"], "category": 2},
            {"question": "Did Ivo order it?", "evidence": ["D1:1"], "category": 5},
        ],
    }
]


def _file(folder: Path, name: str, value: object) -> Path:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("evidence", "ids"),
    [
        (["D1:3"], ["D1:3"]),
        (["D30:05"], ["D30:5"]),
        (["D8:6; D9:17"], ["D8:6", "D9:17"]),
        (["D9:1 D4:4", "D"], ["D9:1", "D4:4"]),
        ([], []),
    ],
)
def test_locomo_gold_ids_are_pulled_out_of_malformed_evidence(evidence: list[str], ids: list[str]) -> None:
    """Evidence holds ids alone, several in one string, padded with zeros, and rubbish."""
    assert locomo.gold_ids(evidence) == ids


def test_locomo_keeps_questions_with_existing_gold(tmp_path: Path) -> None:
    """Ids that no turn has are dropped, and questions that are left without gold with them."""
    (haystack,) = locomo.load(_file(tmp_path, "locomo.json", LOCOMO)).haystacks

    assert [(question.category, question.gold) for question in haystack.questions] == [
        ("single-hop", {"D1:1", "D2:1"}),
        ("multi-hop", {"D1:2"}),
        ("adversarial", {"D1:1"}),
    ]


def test_locomo_turns_carry_session_date_speaker_and_caption(tmp_path: Path) -> None:
    """A turn has its session's date as UTC, its speaker's name, and its picture's caption in the text."""
    (haystack,) = locomo.load(_file(tmp_path, "locomo.json", LOCOMO)).haystacks
    first, second, third = haystack.units

    assert (first.speaker, first.role, second.speaker, second.role) == ("Mira", "user", "Ivo", "assistant")
    assert second.text == "Look! [shares a photo of a heron]"
    assert (first.session_id, third.session_id) == ("session_1", "session_2")
    assert first.time == datetime(2024, 5, 8, 13, 56, tzinfo=timezone.utc)
    assert haystack.asked_at == datetime(2024, 6, 3, 0, 5, tzinfo=timezone.utc)


def test_memorybank_units_are_exchanges(tmp_path: Path) -> None:
    """Query and response share one unit id, day and place from 1; false premises and empty gold are left out."""
    days = {"2024-04-27": [{"query": "你好", "response": "你好！"}, {"query": "我爱喝茶", "response": "好的"}]}
    _file(tmp_path, "memory_bank_cn.json", {"李梅": {"name": "李梅", "history": days}})
    gold = [
        {"user": "李梅", "question": "我爱喝什么？", "gold": ["1.2"], "type": "u"},
        {"user": "李梅", "question": "我的猫叫什么？", "gold": ["1.1"], "type": "f"},
        {"user": "李梅", "question": "那天聊了什么？", "gold": [], "type": "d"},
    ]
    _file(tmp_path, "gold_cn.jsonl", "\n".join(json.dumps(line) for line in gold) + "\n")

    (haystack,) = memorybank.load(tmp_path).haystacks

    assert [(unit.id, unit.role, unit.text) for unit in haystack.units] == [
        ("1.1", "user", "你好"),
        ("1.1", "assistant", "你好！"),
        ("1.2", "user", "我爱喝茶"),
        ("1.2", "assistant", "好的"),
    ]
    assert [(question.text, question.gold) for question in haystack.questions] == [("我爱喝什么？", {"1.2"})]


def test_madial_asks_with_the_whole_dialogue(tmp_path: Path) -> None:
    """The query is all turns of the context, and notes are events of their day."""
    data = {
        "memories": [{"id": "3", "time": "2024-03-07", "event": "小明得了第一名。"}],
        "queries": [{"context": ["运动会要开始了", "加油！"], "last_turn": "加油！", "gold": [3, 8]}],
    }

    (haystack,) = madial.load(_file(tmp_path, "zh.json", data)).haystacks

    assert [(unit.kind, unit.text) for unit in haystack.units] == [("event", "小明得了第一名。")]
    assert [(question.text, question.gold) for question in haystack.questions] == [("运动会要开始了\n加油！", {"3"})]


def test_custom_reads_messages_notes_and_questions_by_user(tmp_path: Path) -> None:
    """Each user of a file is a haystack with its own units and questions."""
    benchmark = custom.load(_custom(tmp_path))

    assert [haystack.name for haystack in benchmark.haystacks] == ["default", "李梅"]
    assert [unit.id for unit in benchmark.haystacks[0].units] == ["m1", "m2", "n1"]
    assert benchmark.haystacks[0].questions[0].category == "places"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 1"),
        ('{"question": "Who?", "gold": []}', "'gold' must be a list of one or more ids"),
        ('{"question": "Who?", "gold": ["m9"]}', "'m9'"),
        ('{"id": "m1", "content": "Hi.", "created_at": "2024-05-06T09:00:00Z"}', "'role' is missing"),
        ('{"id": "m1", "role": "user", "content": "Hi.", "created_at": "2024-05-06"}', "no time zone"),
        ('{"id": "m1", "role": "user", "content": "Hi.", "created_at": "2024-05-06T09:00:00Z"}', "asks nothing"),
        ("[]", "line 1: is no JSON object"),
        ('{"id": "m1", "role": "user", "content": 5, "created_at": "2024-05-06T09:00:00Z"}', "line 1.* not int"),
        ('{"id": "m1", "role": "user", "content": " ", "created_at": "2024-05-06T09:00:00Z"}', "line 1.* is empty"),
        ('{"id": "m1", "role": "boss", "content": "Hi.", "created_at": "2024-05-06T09:00:00Z"}', "line 1.*'boss'"),
        (
            '{"id": "m1", "role": "user", "content": "Hi.", "name": 5, "created_at": "2024-05-06T09:00:00Z"}',
            "line 1.* name must be a string",
        ),
        (
            '{"id": "m1", "role": "user", "content": "Hi.", "session_id": 5, "created_at": "2024-05-06T09:00:00Z"}',
            "line 1.*session_id",
        ),
        ('{"id": "n1", "text": 5, "created_at": "2024-05-06T09:00:00Z"}', "line 1.* not int"),
        ('{"id": "n1", "text": "Hi.", "kind": "odd", "created_at": "2024-05-06T09:00:00Z"}', "line 1.*'odd'"),
        ('{"question": "", "gold": ["m1"]}', "line 1.* is empty"),
    ],
)
def test_custom_names_what_is_wrong(tmp_path: Path, line: str, reason: str) -> None:
    """A misshapen line is refused with its number and the reason."""
    with pytest.raises(InvalidInputError, match=reason):
        custom.load(_file(tmp_path, "mine.jsonl", line))


def test_files_of_another_shape_are_refused(tmp_path: Path) -> None:
    """A missing file and a file of another data set each get a sentence that names them."""
    with pytest.raises(NotFoundError, match="nowhere"):
        locomo.load(tmp_path / "nowhere.json")
    with pytest.raises(InvalidInputError, match="not a MADial file: 'memories' is missing"):
        madial.load(_file(tmp_path, "other.json", {"queries": []}))
    with pytest.raises(InvalidInputError, match="not a LoCoMo file"):
        locomo.load(_file(tmp_path, "list.json", [1, 2]))


def test_ranks_count_each_unit_once() -> None:
    """A unit that appears twice in a ranking takes one place, its first."""
    judged = judge("h", "c", frozenset({"a", "b", "z"}), ["x", "a", "x", "a", "b"])

    assert judged.ranks == (2, 3)
    assert judged.hit() == 0
    assert judged.recall(5) == pytest.approx(2 / 3)
    assert judge("h", "c", frozenset({"x"}), ["x"]).hit() == 1


def test_recall_stops_at_k() -> None:
    """R@k counts the gold among the first k results only."""
    judged = Judged("h", "c", 4, (1, 5, 6, 20))

    assert [judged.recall(k) for k in (5, 10, 20)] == [0.5, 0.75, 1.0]


def test_intervals_resample_conversations() -> None:
    """The interval spans what other conversations might give, and holds the mean."""
    values = [1.0] * 50 + [0.0] * 50
    groups = ["good"] * 50 + ["bad"] * 50

    apart = interval(values, groups)
    mixed = interval(values, [str(n % 10) for n in range(100)])

    assert (apart.mean, apart.low, apart.high) == (0.5, 0.0, 1.0)
    assert mixed.low == mixed.high == 0.5
    assert interval([1.0, 0.0, 1.0, 0.0], ["one"] * 4).low < 0.5  # one group: questions are resampled


def test_paired_differences_cancel_what_both_runs_share() -> None:
    """A constant gain on hard and easy conversations alike has an interval of no width."""
    theirs = [0.1] * 10 + [0.7] * 10
    groups = ["hard"] * 10 + ["easy"] * 10

    gain = paired([value + 0.1 for value in theirs], theirs, groups)

    assert gain.mean == pytest.approx(0.1)
    assert gain.low == pytest.approx(0.1)
    assert gain.high == pytest.approx(0.1)
    with pytest.raises(InvalidInputError, match="differ in length"):
        paired([1.0], [], [])


def test_a_run_measures_search_adding_and_context(tmp_path: Path) -> None:
    """A run through a folder store finds the gold, keeps users apart, and reports what it cost."""
    benchmark = custom.load(_custom(tmp_path))
    done: list[int] = []

    run = measure(benchmark, tmp_path / "store", embedder=HashEmbedder(), budgets=(60, 500), step=done.append)
    rows = {row.category: row for row in by_category(run)}

    assert sum(done) == steps(benchmark, (60, 500))
    assert rows["all"].questions == 3
    assert rows["all"].figures["hit@1"].mean == 1
    assert rows["places"].figures["R@5"].mean == 1
    assert without(run, "places").questions == 2
    assert cost(run).adds == 5
    assert 0 < cost(run).query_p50 <= cost(run).search_p95
    tight, roomy = by_budget(run)
    assert tight.tokens <= 60
    assert roomy.recall.mean == 1


def test_recall_is_looked_at_where_it_is_asked_for(tmp_path: Path) -> None:
    """Cuts are the run's own, and two runs are compared at those that both have."""
    benchmark = custom.load(_custom(tmp_path))
    few = measure(benchmark, tmp_path / "a", embedder=HashEmbedder(), cuts=(1, 3))
    many = measure(benchmark, tmp_path / "b", embedder=HashEmbedder())

    assert list(by_category(few)[-1].figures) == ["hit@1", "R@1", "R@3"]
    assert max((rank for judged in few.questions for rank in judged.ranks), default=0) <= 3
    assert list(difference(few, many)) == ["hit@1", "R@1", "R@3"]


def test_distractors_are_stored_and_answer_nothing(tmp_path: Path) -> None:
    """Units of the other haystacks stand beside each one's own, in sessions of their own and before the question."""
    benchmark = custom.load(_custom(tmp_path))

    crowded = benchmark.distracted(2)

    first, second = crowded.haystacks
    assert [unit.id for unit in first.distractors] == ["李梅/m1", "李梅/m2"]
    assert first.asked_at == benchmark.haystacks[0].asked_at
    assert all(unit.time <= first.asked_at for unit in first.distractors)
    assert [(session, len(turns)) for session, turns in first.sessions()] == [("may", 2), ("李梅/李梅", 2)]
    assert [unit.id for unit in second.distractors] == ["default/m1", "default/m2"]
    run = measure(crowded, tmp_path / "store", embedder=HashEmbedder())
    assert cost(run).adds == 9
    assert by_category(run)[-1].questions == 3
    with pytest.raises(InvalidInputError, match="have 2 units to distract with, not 3"):
        benchmark.distracted(3)


def test_a_reranker_is_measured_too(tmp_path: Path) -> None:
    """A run with a reranker says so, and its order is the reranker's as much as ours."""
    run = measure(
        custom.load(_custom(tmp_path)), tmp_path / "store", embedder=HashEmbedder(), reranker=OverlapReranker()
    )

    assert run.reranker == OverlapReranker().name
    assert title(run).endswith(f"reranked by {run.reranker}")
    assert by_category(run)[-1].figures["hit@1"].mean == 1


def test_runs_are_drawn(tmp_path: Path) -> None:
    """Each picture is a PNG: depth always, categories and budgets where there are some."""
    pytest.importorskip("matplotlib")
    from siltstone.evaluate.plot import plot

    benchmark = custom.load(_custom(tmp_path))
    run = measure(benchmark, tmp_path / "store", embedder=HashEmbedder(), budgets=(60, 500))
    plain = dataclasses.replace(
        run, questions=tuple(dataclasses.replace(judged, category="") for judged in run.questions), contexts=()
    )

    drawn = plot([run, plain], tmp_path / "pictures" / "new")

    assert [path.name for path in drawn] == ["depth.png", "categories.png", "budget.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)
    assert [path.name for path in plot([plain], tmp_path / "pictures")] == ["depth.png"]


def test_a_run_survives_json_and_compares_with_itself(tmp_path: Path) -> None:
    """What --json prints can be read back, and a run does not differ from itself."""
    run = measure(custom.load(_custom(tmp_path)), tmp_path / "store", embedder=HashEmbedder())

    again = from_json(_file(tmp_path, "run.json", to_json(run)))

    assert again == run
    assert all((change.mean, change.low, change.high) == (0, 0, 0) for change in difference(run, again).values())


def test_vectors_are_reused_by_text_and_model(tmp_path: Path) -> None:
    """A second run takes its vectors from the file; another model does not."""
    first = Remembered(HashEmbedder(), tmp_path)
    rows = first.embed_documents(["tea", "茶"])
    query = first.embed_query("tea")
    first.save()

    second = Remembered(HashEmbedder(), tmp_path)

    assert (second.embed_documents(["茶", "tea"]) == rows[::-1]).all()
    assert (second.embed_query("tea") == query).all()
    assert (first.reused, second.reused) == (0, 3)
    other = Remembered(HashEmbedder(name="other"), tmp_path)
    other.embed_query("tea")
    assert other.reused == 0


def _custom(folder: Path) -> Path:
    at = "2024-05-06T09:00:00Z"
    lines = [
        {"id": "m1", "role": "user", "content": "I moved to Lisbon.", "session_id": "may", "created_at": at},
        {"id": "m2", "role": "assistant", "content": "How is the weather?", "session_id": "may", "created_at": at},
        {"id": "n1", "text": "Alice plays the cello.", "created_at": at},
        {"user": "李梅", "id": "m1", "role": "user", "content": "我养了一只猫。", "created_at": at},
        {"user": "李梅", "id": "m2", "role": "user", "content": "今天去爬山了。", "created_at": at},
        {"question": "Where did I move, to Lisbon?", "gold": ["m1"], "category": "places"},
        {"question": "Who plays the cello?", "gold": ["n1"]},
        {"user": "李梅", "question": "我养了什么？一只猫？", "gold": ["m1"]},
    ]
    return _file(folder, "mine.jsonl", "\n".join(json.dumps(line, ensure_ascii=False) for line in lines))
