"""``siltstone experiment``: tables, JSON, pictures and answers over a file of one's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from scripted_server import Answer, Asked, ScriptedServer
from shell import Shell
from siltstone.testing import HashEmbedder
from test_interrupt import interrupted, started

AT = "2024-05-06T09:00:00Z"
LINES = [
    {"id": "m1", "role": "user", "content": "I moved to Lisbon.", "session_id": "may", "created_at": AT},
    {"id": "m2", "role": "assistant", "content": "How is the weather?", "session_id": "may", "created_at": AT},
    {"id": "n1", "text": "Alice plays the cello.", "created_at": AT},
    {"user": "李梅", "id": "m1", "role": "user", "content": "我养了一只猫。", "created_at": AT},
    {"question": "Where did I move?", "gold": ["m1"], "category": "places", "answer": "Lisbon"},
    {"question": "Who plays the cello?", "gold": ["n1"], "category": "people"},
    {"user": "李梅", "question": "我养了什么？", "gold": ["m1"], "category": "pets", "answer": "猫"},
]
BUDGET = ("--budget", "60,200")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file of one's own, in both languages."""
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in LINES), encoding="utf-8")
    return file


def server(asked: Asked) -> Answer:
    """Answer as a server of vectors and of a language model that always says the same."""
    if "input" in asked.body:
        rows = HashEmbedder().embed_documents(asked.body["input"])
        return Answer({"data": [{"index": i, "embedding": row.tolist()} for i, row in enumerate(rows)]})
    judging = "response_format" in asked.body
    said = '{"right": true}' if judging else "Lisbon"
    return Answer({"choices": [{"message": {"content": said}, "finish_reason": "stop"}]})


def test_an_experiment_prints_its_tables(sh: Shell, mine: Path) -> None:
    """All five architectures stand there, with evidence, types of question, growth, cost and what survives."""
    ran = sh("experiment", str(mine), *BUDGET)

    assert ran.code == 0, ran.err
    for word in (
        "full",
        "RAG",
        "rolling",
        "hierarchical",
        "tiered",
        "places",
        "people",
        "pets",
        "tokens of history",
        "tokens embedded",
        "survives",
        "100%",
    ):
        assert word in ran.out
    assert all(len(line) <= 100 for line in ran.out.splitlines())
    assert "best on these very questions" in ran.err


def test_an_experiment_in_json_goes_on_where_it_was(sh: Shell, mine: Path, tmp_path: Path) -> None:
    """The document has every variant; with --work a second run measures nothing again, and says the same."""
    command = ("experiment", str(mine), *BUDGET, "--limit", "2", "--json", "--work", str(tmp_path / "work"))
    first, second = sh(*command), sh(*command)

    assert first.code == 0, first.err
    assert first.out == second.out
    assert first.json["questions"] == 2
    assert {"siltstone", "python", "numpy", "faiss-cpu", "cores"} <= first.json["versions"].keys()
    assert first.json["engine"] in {"onnx", "c"}
    assert {one["family"] for one in first.json["variants"]} == {one["family"] for one in first.json["curve"]}
    assert len(first.json["variants"]) == 13


def test_an_experiment_is_drawn_or_refused_at_once(
    sh: Shell, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pictures are named as they are drawn; without matplotlib nothing is measured first, and the extra is named."""
    monkeypatch.delitem(sys.modules, "siltstone.evaluate.experiment.plot", raising=False)
    with monkeypatch.context() as without:
        without.delitem(sys.modules, "siltstone.evaluate.plot", raising=False)
        without.setitem(sys.modules, "matplotlib", None)
        refused = sh("experiment", str(mine), "--work", str(tmp_path / "work"), "--plot", str(tmp_path / "pictures"))
        assert refused.code == 1
        assert 'pip install "siltstone[plot]"' in refused.err
        assert not (tmp_path / "work").exists()
    pytest.importorskip("matplotlib")
    drawn = sh("experiment", str(mine), *BUDGET, "--plot", str(tmp_path / "pictures"))
    assert drawn.code == 0, drawn.err
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == {"recall.png", "growth.png", "cost.png"}


def test_a_language_model_answers_and_a_judge_is_measured(sh: Shell, mine: Path) -> None:
    """F1 and verdicts per architecture, the judge's prompts, and its error on labelled answers, measured just now."""
    with ScriptedServer(server) as models:
        ran = sh("experiment", str(mine), *BUDGET, "--llm", f"openai:parrot@{models.url}")
        document = sh("experiment", str(mine), *BUDGET, "--llm", f"openai:parrot@{models.url}", "--json").json

    assert ran.code == 0, ran.err
    assert "The judge errs on 50.0% of 40 answers" in ran.out
    assert "You grade answers." in ran.out
    assert "你给答案评分" in ran.out
    assert [(row["questions"], row["f1"], row["right"]) for row in document["answers"]["rows"]] == [(2, 0.5, 1.0)] * 5
    assert document["answers"]["judge"]["labelled"]["accepted"] == 20


def test_models_that_do_not_answer_are_noticed_before_anything_is_measured(
    sh: Shell, mine: Path, tmp_path: Path
) -> None:
    """Whether it is the one that answers or the one that judges: the hours of an experiment are not spent for them."""

    def refusing(name: str) -> Answer | None:
        return Answer({"error": {"message": "no such model"}}, status=404) if name == "gone" else None

    with ScriptedServer(lambda asked: refusing(asked.body["model"]) or server(asked)) as models:
        for asked in (
            ("--llm", "gone"),
            ("--llm", "parrot", "--judge", "gone"),
            ("--llm", "gone", "--judge", "parrot"),
        ):
            named = [f"openai:{word}@{models.url}" if not word.startswith("--") else word for word in asked]
            ran = sh("experiment", str(mine), *BUDGET, "--work", str(tmp_path / "work"), *named)
            assert ran.code == 1
            assert "no such model" in ran.err
            assert ran.out == ""
            assert list((tmp_path / "work").iterdir()) == []


def test_what_was_measured_is_told_where_a_model_fails_later(sh: Shell, mine: Path, tmp_path: Path) -> None:
    """A model that breaks among the answers takes no table, no JSON and no picture along, and the exit code says so."""
    pytest.importorskip("matplotlib")

    def broken(asked: Asked) -> Answer:
        answering = "response_format" not in asked.body
        return Answer({"error": {"message": "out of credit"}}, status=402) if answering else server(asked)

    with ScriptedServer(broken) as models:
        command = ("experiment", str(mine), *BUDGET, "--llm", f"openai:parrot@{models.url}")
        ran = sh(*command, "--plot", str(tmp_path / "pictures"))
        document = sh(*command, "--json")

    assert ran.code == document.code == 1
    assert "out of credit" in ran.err
    assert "tokens of history" in ran.out
    assert len(list((tmp_path / "pictures").iterdir())) == 3
    assert len(document.json["variants"]) == 13
    assert "answers" not in document.json


def test_the_first_table_fits_a_narrow_terminal(sh: Shell, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On 80 columns no name and no figure of it is folded."""
    monkeypatch.setenv("COLUMNS", "80")
    ran = sh("experiment", str(mine), "--budget", "2000,4000")

    first = ran.out.split("evidence by type")[0].splitlines()
    assert sum(line.lstrip().startswith(("full", "RAG", "rolling", "hierarchical", "tiered")) for line in first) == 5
    figures = [line.split() for line in first if line.startswith("  ") and line.strip()]
    assert len(figures) == 11
    assert all("–" in words[-5] and words[-3].endswith("%") for words in figures)


def test_what_cannot_be_asked_is_refused(sh: Shell, mine: Path, tmp_path: Path) -> None:
    """A judge without a model, a model without answers, budgets that are none, and files that are not there."""
    bare = tmp_path / "bare.jsonl"
    bare.write_text("\n".join(json.dumps({k: v for k, v in line.items() if k != "answer"}) for line in LINES))

    assert sh("experiment", str(mine), "--judge", "openai:a@http://localhost:1").code == 2
    assert sh("experiment", str(bare), "--llm", "openai:a@http://localhost:1").code == 2
    assert sh("experiment", str(mine), "--budget", "many").code == 2
    assert sh("experiment", str(mine), "--budget", ",").code == 2
    assert sh("experiment", str(tmp_path / "none.jsonl")).code == 1


@pytest.mark.parametrize("option", ["--work", "--plot"])
def test_what_cannot_be_a_folder_is_refused(sh: Shell, mine: Path, option: str) -> None:
    """Where files are to go is looked at before anything is measured."""
    if option == "--plot":
        pytest.importorskip("matplotlib")
    refused = sh("experiment", str(mine), option, str(mine))
    assert refused.code == 2
    assert "cannot be a folder" in refused.told


def test_an_interrupted_experiment_says_how_it_goes_on(mine: Path, tmp_path: Path) -> None:
    """Ctrl-C ends it with 130; what was finished is in the folder, and the same command takes it over."""
    work = tmp_path / "work"

    def slow(asked: Asked) -> Answer:
        return Answer(server(asked).body, delay=0.2)

    with ScriptedServer(slow) as models:
        command = ("experiment", str(mine), *BUDGET, "--work", str(work), "--embedder", f"openai:hash@{models.url}")
        told = interrupted(started(*command), lambda: len(list(work.glob("*.json"))) > 1)
        assert "with --work, what was finished is kept" in told
        finished = {path.name: path.read_bytes() for path in work.glob("*.json")}
        again = started(*command, "--json")
        out, told = again.communicate(timeout=120)

    assert again.returncode == 0, told
    assert len(json.loads(out)["variants"]) == 13
    assert len(list(work.glob("*.json"))) == 13  # none was made under another name
    assert all((work / name).read_bytes() == before for name, before in finished.items())
