"""WhatsApp's chats, in the ways that phones write dates."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest

from siltstone import TieredMemory
from siltstone.importers.source import Source
from siltstone.importers.whatsapp import chat_name
from siltstone.importers.whatsapp_lines import order_of, start_of
from siltstone.testing import HashEmbedder, WordCounter

NINE_PAST = datetime(2023, 12, 31, 21, 9)
LOCALES = {
    "english, android": ("12/31/23, 9:09 PM - Ann: hi", NINE_PAST),
    "english, narrow space": ("12/31/23, 9:09\u202fPM - Ann: hi", NINE_PAST),
    "british": ("31/12/2023, 21:09 - Ann: hi", NINE_PAST),
    "australian": ("31/12/2023, 9:09 pm - Ann: hi", NINE_PAST),
    "english, iphone": ("\u200e[12/31/23, 9:09:00 PM] Ann: hi", NINE_PAST),
    "german, android": ("31.12.23, 21:09 - Ann: hi", NINE_PAST),
    "german, iphone": ("[31.12.23, 21:09:00] Ann: hi", NINE_PAST),
    "german, long": ("31.12.2023 um 21:09 - Ann: hi", NINE_PAST),
    "french": ("31/12/2023 à 21:09 - Ann: hi", NINE_PAST),
    "spanish": ("31/12/23 9:09 p. m. - Ann: hi", NINE_PAST),
    "italian": ("31/12/23, 21:09 - Ann: hi", NINE_PAST),
    "finnish": ("31.12.2023 klo 21.09 - Ann: hi", NINE_PAST),
    "dutch": ("31-12-2023 21:09 - Ann: hi", NINE_PAST),
    "swedish": ("2023-12-31 21:09 - Ann: hi", NINE_PAST),
    "chinese, android": ("2023/12/31 21:09 - Ann: hi", NINE_PAST),
    "chinese, twelve hours": ("2023/12/31 下午9:09 - Ann: hi", NINE_PAST),
    "chinese, evening": ("2023/12/31 晚上9:09 - Ann: hi", NINE_PAST),
    "chinese, iphone": ("[2023/12/31 下午9:09:00] Ann: hi", NINE_PAST),
    "taiwanese": ("2023/12/31 晚上9:09 - Ann: hi", NINE_PAST),
    "japanese": ("2023/12/31 午後9:09 - Ann: hi", NINE_PAST),
    "korean": ("2023. 12. 31. 오후 9:09 - Ann: hi", NINE_PAST),
    "arabic": ("31/12/2023، 9:09 م - Ann: hi", NINE_PAST),
    "midnight": ("12/31/23, 12:00 AM - Ann: hi", datetime(2023, 12, 31)),
    "noon": ("2023/12/31 中午12:30 - Ann: hi", datetime(2023, 12, 31, 12, 30)),
    "before dawn": ("2023/12/31 凌晨12:05 - Ann: hi", datetime(2023, 12, 31, 0, 5)),
}


@pytest.fixture
def memory() -> TieredMemory:
    """An empty memory."""
    return TieredMemory.open(":memory:", embedder=HashEmbedder(), token_counter=WordCounter())


def chat(folder: Path, text: str, name: str = "WhatsApp Chat with Ann.txt") -> Path:
    """Write a chat's file."""
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize("locale", LOCALES)
def test_each_way_of_writing_a_date(memory: TieredMemory, tmp_path: Path, locale: str) -> None:
    """The line begins a message, at its time on this machine's clock, by its author."""
    line, time = LOCALES[locale]
    report = memory.import_from(chat(tmp_path, f"{line}\nand more\n"))
    assert (report.format, report.added, report.failed) == ("whatsapp", 1, 0)
    (message,) = memory.messages("whatsapp:Ann")
    assert (message.name, message.content) == ("Ann", "hi\nand more")
    assert message.created_at == time.astimezone()


@pytest.mark.parametrize(
    ("dates", "order"),
    [
        (["1/2/24", "13/2/24"], "dmy"),
        (["1/2/24", "2/13/24"], "mdy"),
        (["1/2/24", "1/3/24", "1/4/24", "2/1/24"], "mdy"),
        (["1/2/24", "3/2/24", "1/3/24"], "dmy"),
        (["2024/1/2"], "ymd"),
        (["1.2.24"], "dmy"),
        (["5/5/24"], "dmy"),
    ],
)
def test_the_order_of_days_and_months_is_found_out(dates: list[str], order: str) -> None:
    """By a number over 12, by dots, or by the dates not going back."""
    starts = [start for date in dates if (start := start_of(f"{date}, 10:00 - A: x")) is not None]
    assert len(starts) == len(dates)
    assert order_of(starts) == order


def test_a_date_that_only_the_end_of_the_file_explains(memory: TieredMemory, tmp_path: Path) -> None:
    """The whole file is looked at before the first date is read, and the report says how dates were read."""
    lines = [f"1/2/24, 10:{minute:02} - Ann: {'so ' * 400}\n" for minute in range(60)]
    report = memory.import_from(chat(tmp_path, "".join([*lines, "1/31/24, 10:00 - Ann: end\n"])))
    times = [message.created_at for message in memory.messages("whatsapp:Ann")]
    assert times[0] == datetime(2024, 1, 2, 10).astimezone()
    assert any("month, day, year" in note and "TZ" in note for note in report.notes)


def test_what_nobody_said_is_passed_over(memory: TieredMemory, tmp_path: Path) -> None:
    """Notices, media that are left out, and messages taken back are counted as skipped, in any language."""
    said = [
        "Ann created group", "Ann: <Media omitted>", "安: <省略影音内容>", "Ann: \u200eimage omitted",
        "Ann: This message was deleted", "安: 此消息已删除", "Ann: <Medien ausgeschlossen>", "安: \u200e消息已加密。",
    ]  # fmt: skip
    report = memory.import_from(chat(tmp_path, "".join(f"2024/1/2 10:0{n} - {text}\n" for n, text in enumerate(said))))
    assert (report.read, report.skipped, report.added) == (8, 8, 0)


def test_a_later_export_that_begins_later_is_the_same_chat(memory: TieredMemory, tmp_path: Path) -> None:
    """Messages are known by their time and their place in that minute, not by their line."""
    lines = [f"2024/1/2 10:0{n} - Ann: message {n}\n2024/1/2 10:0{n} - Me: answer {n}\n" for n in range(6)]
    memory.import_from(chat(tmp_path, "".join(lines)))
    later = chat(tmp_path, "".join([*lines[2:], "2024/1/3 10:00 - Ann: new\n"]), "WhatsApp Chat with Ann (1).txt")
    report = memory.import_from(later)
    assert (report.added, report.unchanged, report.updated) == (1, 8, 0)


def test_an_edited_message_updates(memory: TieredMemory, tmp_path: Path) -> None:
    """The text that a place has now is the message's next version."""
    memory.import_from(chat(tmp_path, "2024/1/2 10:00 - Ann: at nine\n"))
    report = memory.import_from(chat(tmp_path, "2024/1/2 10:00 - Ann: at ten <This message was edited>\n"))
    assert report.updated == 1
    assert [message.content for message in memory.messages("whatsapp:Ann")] == ["at ten"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("WhatsApp Chat with Ann.txt", "Ann"),
        ("WhatsApp Chat - Ann Lee.txt", "Ann Lee"),
        ("WhatsApp Chat mit Ann.txt", "Ann"),
        ("Chat de WhatsApp con Ann.txt", "Ann"),
        ("Conversa do WhatsApp com Ann.txt", "Ann"),
        ("Discussion WhatsApp avec Ann.txt", "Ann"),
        ("与小林的 WhatsApp 聊天.txt", "小林"),
        ("WhatsApp Chat with Ann (2).txt", "Ann"),
        ("ann.txt", "ann"),
    ],
)
def test_a_chat_is_named_like_its_file(tmp_path: Path, file: str, name: str) -> None:
    """Without what WhatsApp puts around the name."""
    assert chat_name(Source(chat(tmp_path, "x", file))) == name
