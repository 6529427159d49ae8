"""The command line: what it prints, how it exits, what it never does unasked."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from shell import Shell
from siltstone import Message, TieredMemory
from siltstone.cli import app
from siltstone.testing import HashEmbedder

GROUPS = [(str(group.name), group.typer_instance) for group in app.registered_groups]
COMMANDS = sorted(
    f"{words} {command.name}".strip() for words, group in [("", app), *GROUPS] for command in group.registered_commands
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(sh: Shell, command: str) -> None:
    """Each command's help says what it does and shows how to call it."""
    shown = sh(*command.split(), "--help")

    assert shown.code == 0
    assert f"siltstone {command}" in shown.out.split("Options")[0].split("Usage:")[1].partition("\n")[2]


def test_a_memory_is_corrected_by_its_id(sh: Shell) -> None:
    """``update`` changes the text and what else is named, prints the version, and history has what it was before."""
    id = sh("remember", "Lives in Berlin.", "--kind", "profile").out.strip()
    assert sh("update", id, "Lives in Lisbon.", "--pinned").out == f"{id} is now version 2\n"
    record = sh("show", id, "--json").json
    assert (record["text"], record["kind"], record["pinned"]) == ("Lives in Lisbon.", "profile", True)
    assert [one["text"] for one in sh("history", id, "--json").json["history"]] == ["Lives in Berlin."]
    assert sh("update", id, "--no-pinned", "--json").json["pinned"] is False
    nothing = sh("update", id)
    assert (nothing.code, "nothing was changed" in nothing.err) == (1, True)
    assert sh("update", "no-such-id", "x").code == 1


def test_what_is_closed_is_seen_to_be_and_can_be_left_out(sh: Shell) -> None:
    """A list says until when a statement held; with ``--current`` only what holds is in it."""
    with TieredMemory.open(sh.store) as memory:
        memory.add([("user", "I live in Berlin.")], session_id="a", created_at="2024-02-01T12:00:00Z")
        memory.add([("user", "I've moved to Lisbon!")], session_id="b", created_at="2024-05-06T12:00:00Z")
        memory.consolidate()
    listed = sh("show", "--kind", "profile").out
    assert "held until" in listed
    (berlin,) = (line for line in listed.splitlines() if "Berlin" in line)
    assert "2024-05-0" in berlin
    current = sh("show", "--kind", "profile", "--current").out
    assert "Lisbon" in current
    assert "Berlin" not in current
    assert "held until" not in current
    assert [one["text"] for one in sh("show", "--kind", "profile", "--current", "--json").json["records"]] == [
        "I've moved to Lisbon"
    ]


def test_what_is_to_be_made_anew_after_forgetting_is_said(sh: Shell) -> None:
    """What rested in part on the forgotten has gone, too: the report counts it, and names the command."""
    with TieredMemory.open(sh.store) as memory:
        kept, gone = memory.add([("user", "I keep bees."), ("user", "I keep goats.")], session_id="a")
        memory.remember("bees and goats", kind="summary", source_ids=[kept, gone])
    ran = sh("forget", gone, "--yes")
    assert ran.out == "deleted 1 message and 1 record\n"
    assert "1 record of these rested also on what stays: siltstone consolidate makes" in ran.err


def test_wrong_usage_is_exit_code_2(sh: Shell) -> None:
    """Unknown commands, unknown options and unreadable times are wrong usage; no store is made."""
    assert sh("nope").code == 2
    assert sh("search", "--no-such-option", "x").code == 2
    assert sh("search", "x", "--since", "yesterday").code == 2
    assert not sh.store.exists()


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("session", ["monday", "chat 会话/with Ann, and a name that is rather long for a table"])
def test_what_was_found_can_be_forgotten_as_it_is_shown(
    sh: Shell, monkeypatch: pytest.MonkeyPatch, width: int, session: str
) -> None:
    """The table of a search has each id in one piece, on a terminal of any width, and ``forget`` takes it."""
    monkeypatch.setenv("COLUMNS", str(width))
    line = json.dumps({"role": "user", "content": "I have a cat called Miez, and she likes fish.", "id": "m1"})
    monkeypatch.setattr("sys.stdin", io.StringIO(line))
    sh("add", "--session", session)
    sh("remember", "Likes green tea, and never drinks coffee in the evening.")
    hits = sh("search", "cat", "--json").json["hits"]
    shown = sh("search", "cat").out
    ids = [str(hit["record"]["id"]).removeprefix("turn:") for hit in hits]

    assert len(ids) == 2
    assert all(id in shown for id in ids)
    assert max(map(cell_len, shown.splitlines())) <= width
    for id in ids:
        assert id in sh("show", id, "--json").out
        assert sh("forget", id, "--yes").code == 0
    assert sh("search", "cat").out == ""


def test_a_refusal_is_one_sentence_and_exit_code_1(sh: Shell) -> None:
    """A known error is printed as one line on stderr, without a traceback; nothing is stored."""
    refused = sh("add", "Hello.", "--role", "robot")

    assert refused.code == 1
    assert refused.out == ""
    assert refused.err.startswith("siltstone: ")
    assert "robot" in refused.err
    assert "Traceback" not in refused.err
    assert refused.err.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        *(("search", "x"), ("context", "x"), ("sessions",), ("show",), ("stats",), ("forget", "--everything")),
        *(("reembed",), ("verify",), ("compact",), ("backup", "copy"), ("audit",), ("rekey",), ("export",)),
    ],
)
def test_only_writing_commands_make_a_store(sh: Shell, command: tuple[str, ...]) -> None:
    """A mistyped folder is an error that says how to find the right one, not a new empty store."""
    missing = sh(*command)

    assert missing.code == 1
    assert str(sh.store) in missing.err
    assert "siltstone doctor" in missing.err
    assert not sh.store.exists()


def test_what_is_added_is_found_in_another_call(sh: Shell) -> None:
    """``add`` makes the store and prints ids; ``search`` finds it, in English and Chinese."""
    added = sh("add", "我叫张三，是深圳的前端工程师。", "--session", "一")
    sh("add", "I play the cello on Sundays.", "--session", "two")

    assert added.code == 0
    assert len(added.out.split()) == 1
    assert "前端工程师" in sh("search", "张三是做什么的？").out
    hits = sh("search", "Which instrument, the cello?", "--json").json["hits"]
    assert hits[0]["record"]["text"] == "I play the cello on Sundays."
    assert hits[0]["why"]


def test_why_prints_the_parts_of_each_score(sh: Shell) -> None:
    """``search --why`` adds a table with a row per part of the score."""
    sh("add", "I play the cello on Sundays.")

    parts = sh("search", "cello", "--json").json["hits"][0]["why"]
    shown = sh("search", "cello", "--why").out

    assert all(part in shown for part in parts)


def test_why_tells_remarks_from_parts(sh: Shell) -> None:
    """What is no part of the sum stands below the score: here the equal text that the hit stands for too."""
    twin = sh("add", "I play the cello.", "--session", "may", "--json").json["ids"][0]
    sh("add", "I play the cello.", "--session", "june")

    shown = sh("search", "cello", "--why").out.rpartition("score")[2]

    assert twin in shown
    assert "yes" in shown


def test_stdin_takes_a_whole_conversation(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """``add`` without a text reads JSON Lines; a bad line is refused with its number and nothing is stored."""
    lines = '{"role": "user", "content": "Hi."}\n\n{"role": "assistant", "content": "Hello!", "id": "a1"}\n'
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    assert sh("add", "--session", "monday", "--json").json["ids"][1] == "a1"
    assert [info["messages"] for info in sh("sessions", "--json").json["sessions"]] == [2]

    monkeypatch.setattr(sys, "stdin", io.StringIO('{"role": "user", "content": "More."}\nnot json\n'))
    refused = sh("add", "--session", "monday")
    assert refused.code == 1
    assert "line 2" in refused.err
    assert sh("stats", "--json").json["messages"] == 2


def test_users_are_kept_apart(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--user`` and ``SILTSTONE_USER`` choose whose memory it is."""
    sh("add", "Alice likes tea.", "--user", "alice")
    sh("add", "Bob likes coffee.", "--user", "bob")

    assert "Bob" not in sh("search", "Who likes tea or coffee?", "--user", "alice").out
    monkeypatch.setenv("SILTSTONE_USER", "bob")
    assert "Bob likes coffee." in sh("search", "Who likes tea or coffee?").out


def test_context_prints_text_and_tokens(sh: Shell) -> None:
    """``context`` prints the text on stdout and the count on stderr; ``--prompt`` adds the question."""
    sh("add", "I play the cello on Sundays.")

    plain = sh("context", "What do I play?", "--max-tokens", "200")
    prompt = sh("context", "What do I play?", "--prompt")
    made = sh("context", "What do I play?", "--json").json

    assert "cello" in plain.out
    assert "of 200 tokens" in plain.err
    assert prompt.out.rstrip().endswith("What do I play?")
    assert 0 < made["tokens"] <= made["max_tokens"]


def test_a_budget_of_nothing_is_refused(sh: Shell) -> None:
    """A budget of 0 tokens is a clear refusal."""
    sh("add", "Hi there.")

    refused = sh("context", "Hi", "--max-tokens", "0")

    assert (refused.code, refused.out) == (1, "")


def test_show_lists_and_opens_memories(sh: Shell) -> None:
    """``show`` lists what matches, or shows one memory with its fields."""
    id = sh("remember", "Prefers short answers.", "--kind", "profile", "--pinned").out.strip()
    sh("add", "Hi there.", "--session", "monday")

    listed = sh("show", "--kind", "profile", "--json").json["records"]
    opened = sh("show", id)

    assert [record["id"] for record in listed] == [id]
    assert "Prefers short answers." in opened.out
    assert "pinned" in opened.out
    assert sh("show", "no-such-id").code == 1


def test_times_without_a_zone_are_local(sh: Shell) -> None:
    """A person types local times; they are stored with the zone of the machine."""
    sh("remember", "Dentist.", "--kind", "event", "--occurred-at", "2031-05-06T09:30")
    record = sh("show", "--json").json["records"][0]

    from siltstone.cli.options import when
    from siltstone.records import to_datetime

    assert to_datetime(record["occurred_at"]) == when("2031-05-06T09:30")
    assert sh("search", "dentist", "--until", "2031-05-05").out == ""
    assert "Dentist." in sh("search", "dentist", "--since", "2031-05-06").out


def test_forget_asks_first(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ``--yes`` nothing goes until a person agrees; no terminal to ask on is a no."""
    sh("add", "A secret.", "--session", "monday")

    assert sh("forget", "--session", "monday", "--dry-run").out.startswith("would delete 1 message")
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    declined = sh("forget", "--session", "monday")
    assert declined.code == 1
    assert "1 message" in declined.err
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert sh("forget", "--session", "monday").code == 1
    assert sh("stats", "--json").json["messages"] == 1

    assert sh("forget", "--session", "monday", "--yes").out.startswith("deleted 1 message")
    assert sh("stats", "--json").json["messages"] == 0


def test_a_dry_run_of_forget_shows_what_would_go(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row for each message and memory, those that only rest on what goes marked; 20 of many, all with ``--json``."""
    lines = "".join(json.dumps({"role": "user", "content": f"Bird {n}:\nheron " + "x " * 60}) + "\n" for n in range(25))
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    ids = sh("add", "--session", "birds", "--json").json["ids"]
    with TieredMemory.open(sh.store) as memory:
        alone = memory.remember("Likes herons.", source_ids=[ids[0]])
        partly = memory.remember("Likes birds.", source_ids=[ids[1], memory.remember("Has a hen.")])

    shown = sh("forget", "--session", "birds", "--dry-run")
    rows = sh("forget", "--session", "birds", "--dry-run", "--json").json["rows"]

    assert shown.out.startswith("would delete 25 messages and 2 records\n")
    assert [row["id"] for row in rows] == [*ids, alone, partly]
    assert [row["rests"] for row in rows[-3:]] == [None, "wholly", "in part"]
    assert rows[0]["text"].startswith("Bird 0:\nheron")
    assert rows[0]["time"] == sh("show", ids[0], "--json").json["created_at"]
    assert all(id in shown.out for id in ids[:20])
    assert ids[20] not in shown.out
    assert "Bird 3: heron" in shown.out
    assert len(shown.out.splitlines()) < 30  # a row is a line
    assert "and 7 more" in shown.err
    assert "2, 1 of them only in part" in shown.err
    assert sh("stats", "--json").json["records"] == 28
    one = sh("forget", ids[0], "--dry-run").out
    assert "↳ fact" in one
    assert "would delete 1 message and 1 record\n" in one


def test_forget_without_a_condition_is_refused(sh: Shell) -> None:
    """``forget`` alone never means everything."""
    sh("add", "Hi there.")

    refused = sh("forget", "--yes")

    assert refused.code == 1
    assert "or --everything: nothing was forgotten" in refused.err
    assert sh("forget", "--everything", "--session", "s", "--yes").code == 1
    assert sh("stats", "--json").json["messages"] == 1


def test_what_matches_nothing_is_no_success(sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistyped id or user, an empty pipe and data without questions end with 1 and a sentence."""
    sh("add", "Hi there.")
    for command in (("forget", "nosuchid"), ("forget", "--everything", "--user", "typo", "--yes")):
        missed = sh(*command)
        assert missed.code == 1
        assert "nothing was deleted" in missed.err
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert sh("add", "--session", "s").code == 1
    for content in ("[]", "{}"):
        data = tmp_path / "data.json"
        data.write_text(content, encoding="utf-8")
        assert sh("bench", "locomo", str(data)).code == 1


def test_chinese_keeps_the_columns_aligned(sh: Shell) -> None:
    """Characters that are two columns wide do not push the next column away."""
    from rich.cells import cell_len

    sh("add", "Hi there.", "--session", "monday")
    sh("add", "你好。", "--session", "星期二的对话")

    header, _, *rows = [line for line in sh("sessions").out.splitlines() if line.strip()]
    ends = {cell_len(row[: row.index("1") + 1]) for row in rows}

    assert ends == {cell_len(header[: header.index("messages") + len("messages")])}


def test_output_has_no_colour_codes_where_none_are_wanted(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``NO_COLOR``, or into a pipe, output is plain text; so are help and refusals."""
    sh("add", "Hi [bold]there[/bold].")

    shown = sh("search", "Hi").out

    assert "\x1b" not in shown
    assert "[bold]there[/bold]" in shown
    monkeypatch.setenv("TERM", "xterm-256color")
    for told in (sh("search", "--help").out, sh("--help").out, sh("search").err, sh("nope").err):
        assert not re.search(r"\x1b\[[\d;]*3\dm", told)


def test_history_shows_what_a_memory_was(sh: Shell) -> None:
    """Earlier versions and replaced statements, newest first; a memory that never changed says so, none is refused."""
    with TieredMemory.open(sh.store, embedder=HashEmbedder(64)) as memory:
        id = memory.remember("Lives in Berlin.", kind="profile")
        memory.update(id, text="Lives in Lisbon.")
        memory.update(id, text="住在里斯本。")
        other = memory.remember("Likes tea.")
        embedder = memory.stats().embedder
    assert embedder == "hash"
    sh("reembed")

    told = sh("history", id)

    assert told.out.index("Lisbon") < told.out.index("Berlin")
    assert "里斯本" not in told.out
    assert [record["text"] for record in sh("history", id, "--json").json["history"]] == [
        "Lives in Lisbon.",
        "Lives in Berlin.",
    ]
    assert "never another" in sh("history", other).err
    assert sh("history", "no-such-id").code == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_and_options_complete(shell: str) -> None:
    """What a shell asks for at a tab is answered, and the script that makes it ask can be shown."""
    line = {"COMP_WORDS": "siltstone rem", "COMP_CWORD": "1", "_TYPER_COMPLETE_ARGS": "siltstone rem"}
    environment = {**os.environ, **line, "_SILTSTONE_COMPLETE": f"complete_{shell}"}
    if shell == "fish":
        environment["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    module = [sys.executable, "-c", "from siltstone.cli import main; main()"]

    asked = subprocess.run(module, env=environment, capture_output=True, text=True, check=False)
    script = subprocess.run(
        module,
        env={**os.environ, "_SILTSTONE_COMPLETE": f"source_{shell}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "remember" in asked.stdout
    assert "_SILTSTONE_COMPLETE" in script.stdout


def test_another_embedder_names_reembed_and_reembed_moves(sh: Shell) -> None:
    """A store of another model is refused with the command that moves it, and that command works."""
    with TieredMemory.open(sh.store, embedder=HashEmbedder(64)) as memory:
        memory.add([Message("user", "I play the cello on Sundays.")], session_id="monday")

    refused = sh("search", "cello")
    assert refused.code == 1
    assert "siltstone reembed" in refused.err

    assert sh("reembed", "--json").json == {"vectors": 1}
    assert "cello" in sh("search", "Which instrument do I play?").out


def test_bench_prints_a_table_and_json(sh: Shell, tmp_path: Path) -> None:
    """``bench custom`` measures a file of one's own, and compares with an earlier run."""
    at = "2024-05-06T09:00:00Z"
    lines = [
        {"id": "m1", "role": "user", "content": "I moved to Lisbon.", "created_at": at},
        {"id": "m2", "role": "user", "content": "我养了一只猫。", "created_at": at},
        {"question": "Where did I move?", "gold": ["m1"], "category": "places"},
        {"question": "我养了什么？", "gold": ["m2"], "category": "pets"},
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")

    ran = sh("bench", "custom", str(file), "--json", "--vectors", str(tmp_path / "vectors"))
    assert ran.code == 0, ran.err
    assert ran.json["figures"]["all"]["questions"] == 2
    (tmp_path / "run.json").write_text(ran.out, encoding="utf-8")
    again = sh(
        "bench",
        "custom",
        str(file),
        "--budget",
        "100,500",
        "--vectors",
        str(tmp_path / "vectors"),
        "--baseline",
        str(tmp_path / "run.json"),
    )
    assert again.code == 0, again.err
    assert all(word in again.out for word in ("hit@1", "R@10", "places", "context()", "+0.000"))
    assert sh("bench", "custom", str(tmp_path / "none.jsonl")).code == 1
    assert sh("bench", "custom", str(file), "--budget", "many").code == 2
    assert sh("bench", "custom", str(file), "--top-k", "0..3").code == 2
    assert sh("bench", "custom", str(file), "--distractors", "1").code == 1
    assert sh("bench", "else", str(file)).code == 2


@pytest.mark.parametrize("option", ["--store", "--vectors", "--plot"])
def test_bench_refuses_what_cannot_be_a_folder(sh: Shell, tmp_path: Path, option: str) -> None:
    """Where files are to go is looked at before anything is measured."""
    if option == "--plot":
        pytest.importorskip("matplotlib")
    file = tmp_path / "mine.jsonl"
    file.write_text("{}")
    refused = sh("bench", "custom", str(file), option, str(file))
    assert refused.code == 2
    assert "cannot be a folder" in refused.told


def test_bench_compares_embedders_in_one_table(sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several embedders stand side by side, each compared with the first, all figures whole."""
    file = tmp_path / "mine.jsonl"
    lines = [
        {"id": "m1", "role": "user", "content": "I moved to Lisbon.", "created_at": "2024-05-06T09:00:00Z"},
        {"question": "Where did I move?", "gold": ["m1"]},
    ]
    file.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    twice = ("bench", "custom", str(file), "--embedder", "default", "--embedder", "default", "--top-k", "3..10")

    ran = sh(*twice)

    assert ran.code == 0, ran.err
    assert all(word in ran.out for word in ("side by side", "R@3", "R@9", "R@10", "against", "+0.000"))
    assert not re.search(r"\d\.\d\d ", ran.out)
    assert len(sh(*twice, "--json").json["runs"]) == 2
    assert sh(*twice, "--store", str(tmp_path / "kept")).code == 2
    monkeypatch.delitem(sys.modules, "siltstone.evaluate.plot", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused = sh(*twice, "--plot", str(tmp_path / "pictures"))
    assert refused.code == 1
    assert 'pip install "siltstone[plot]"' in refused.err


def test_the_module_is_the_command(tmp_path: Path) -> None:
    """``python -m siltstone`` is the same door, in a process of its own."""
    environment = {**os.environ, "SILTSTONE_STORE": str(tmp_path / "none")}
    ran = subprocess.run(
        [sys.executable, "-m", "siltstone", "stats"], env=environment, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 1
    assert "Traceback" not in ran.stderr


# --- moving data


def test_a_memory_moves_through_a_file(sh: Shell, tmp_path: Path) -> None:
    """Exported and imported as another user it is the same; a dry run and a second run change nothing."""
    sh("add", "我叫小林 🌊", "--session", "一", "--user", "alice")
    sh("remember", "Likes tea.", "--user", "alice")
    file = str(tmp_path / "小林.jsonl")
    assert sh("export", file, "--user", "alice", "--json").json == {"file": file, "items": 2}
    for options, outcome in ((["--dry-run"], "added"), ([], "added"), ([], "unchanged")):
        (told,) = sh("import", file, "--user", "bob", "--json", *options).json["files"]
        assert told["report"]["read"] == told["report"][outcome] == 2
    assert "2 unchanged" in sh("import", file, "--user", "bob").out
    assert sh("stats", "--user", "bob", "--json").json["records"] == 2


def test_an_export_asks_before_it_replaces_a_file(sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is there stays unless a person agrees or ``--yes`` is given; where nobody can be asked it stays."""
    sh("add", "Hello.")
    file = tmp_path / "letters.jsonl"
    file.write_text("something else", encoding="utf-8")

    for answer in ("", "n\n"):
        monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
        declined = sh("export", str(file))
        assert declined.code == 1
        assert "--yes" in declined.err
        assert file.read_text(encoding="utf-8") == "something else"
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert sh("export", str(file)).code == 0
    assert '"Hello."' in file.read_text(encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    assert sh("export", str(file), "--yes").code == 0


def test_an_import_says_what_it_could_not_read(sh: Shell, tmp_path: Path) -> None:
    """A torn file is exit code 4, with the line and the reason on stderr; what could be read is stored."""
    sh("add", "Hello.", "--user", "alice")
    sh("remember", "Likes tea.", "--user", "alice")
    file = tmp_path / "torn.jsonl"
    sh("export", str(file), "--user", "alice")
    file.write_bytes(file.read_bytes()[:-30])
    ran = sh("import", str(file), "--user", "bob")
    assert ran.code == 4
    assert "line 3: failed: the file was cut off" in ran.err
    assert "1 added" in ran.out
    assert sh("import", str(tmp_path / "nothing.jsonl")).code == 1


def test_a_source_that_cannot_be_read_keeps_no_other_one_out(sh: Shell, tmp_path: Path) -> None:
    """All sources are tried, the bad ones are named; in part is exit code 4, nothing at all is 1."""
    file, other = tmp_path / "a.jsonl", tmp_path / "photo.jpg"
    sh("remember", "Likes tea.", "--user", "alice")
    sh("export", str(file), "--user", "alice")
    other.write_bytes(b"\xff\xd8\xff")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(file.read_bytes()))
    assert "compressed by gzip" in sh("import", str(tmp_path / "a.jsonl.gz")).err
    missing = str(tmp_path / "nothing.jsonl")
    ran = sh("import", missing, str(other), str(file), "--user", "bob")
    assert ran.code == 4
    assert missing in ran.err
    assert str(other) in ran.err
    assert "1 added" in ran.out
    ran = sh("import", missing, str(file), "--user", "bob", "--json")
    assert ran.code == 4
    assert [("report" in told, "error" in told) for told in ran.json["files"]] == [(True, False), (False, True)]
    assert sh("import", missing, str(other), "--user", "bob").code == 1


def test_a_dry_run_makes_no_store(sh: Shell, tmp_path: Path) -> None:
    """What an import into a new store would do is told without making one."""
    file = tmp_path / "a.jsonl"
    with TieredMemory.open(":memory:", embedder=HashEmbedder()) as memory:
        memory.remember("x")
        memory.export_to(file)
    assert sh("import", str(file), "--dry-run", "--json").json["files"][0]["report"]["added"] == 1
    assert not sh.store.exists()


def test_an_encrypted_store_takes_its_key_from_a_file(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``--key-file`` makes and opens encrypted stores, ``rekey`` gives another key; without one all is refused."""
    pytest.importorskip("cryptography")
    monkeypatch.setenv("SILTSTONE_KEY", "")  # put back afterwards: --key-file sets it
    old, new = tmp_path / "old.key", tmp_path / "new.key"
    old.write_text("open sesame\n", encoding="utf-8")
    new.write_text("hex:" + "07" * 32, encoding="utf-8")
    assert sh("--key-file", str(old), "remember", "The word is heliotrope.").code == 0
    assert not any(b"heliotrope" in path.read_bytes() for path in sh.store.rglob("*") if path.is_file())
    monkeypatch.setenv("SILTSTONE_KEY", "")
    refused = sh("stats")
    assert refused.code == 1
    assert "SILTSTONE_KEY" in refused.err
    changed = sh("--key-file", str(old), "rekey", "--new-key-file", str(new), "--data-keys", "--json")
    assert changed.json["users"] == 1
    assert sh("--key-file", str(old), "stats").code == 1
    assert "heliotrope" in sh("--key-file", str(new), "search", "word").out
    assert sh("rekey", "--same-key").code == 2
    assert sh("--key-file", str(tmp_path / "none"), "stats").code == 1
    (tmp_path / "raw").write_bytes(bytes(range(128, 160)))
    refused = sh("--key-file", str(tmp_path / "raw"), "stats")
    assert refused.code == 1
    assert "write base64:… into the file" in refused.err


def test_rekey_asks_for_nothing_that_does_not_help(sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain store is refused before any key is asked for; without a terminal the option that gives a key is named."""
    pytest.importorskip("cryptography")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    sh("remember", "x")
    refused = sh("rekey")
    assert (refused.code, "is not encrypted" in refused.err) == (1, True)
    monkeypatch.setenv("SILTSTONE_KEY", "open sesame")
    sealed = str(tmp_path / "sealed")
    sh("remember", "x", "--store", sealed)
    refused = sh("rekey", "--store", sealed)
    assert (refused.code, "--new-key-file" in refused.err) == (2, True)
    monkeypatch.setenv("SILTSTONE_KEY", "")
    refused = sh("rekey", "--store", sealed, "--same-key", "--data-keys")
    assert (refused.code, "--key-file" in refused.err) == (2, True)


def test_a_command_that_counts_leaves_no_blank_lines_in_a_pipe(sh: Shell) -> None:
    """Without a terminal there is no bar, and nothing of one."""
    sh("remember", "x")
    assert sh("verify").err == ""
