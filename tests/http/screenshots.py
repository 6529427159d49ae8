"""Make the pictures of the README: ``python tests/http/screenshots.py docs/inspector``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

from browsing import chromium
from running import Running

from siltstone import TieredMemory
from siltstone.http import create_app
from siltstone.records import Message

NOON = datetime.now(timezone.utc).replace(hour=12, minute=0, second=0, microsecond=0)
SAID: dict[str, tuple[int, Sequence[tuple[str, str]]]] = {
    "moving": (
        40,
        [
            ("user", "I'm Alice, a front-end engineer. I moved from Berlin to Lisbon last month."),
            ("assistant", "Welcome to Lisbon! How do you like it?"),
            ("user", "I love the light. My cat Tofu spends all day on the balcony."),
            ("assistant", "Tofu has good taste."),
        ],
    ),
    "trip to Porto": (
        6,
        [
            ("user", "I'm planning a weekend in Porto with my sister Clara. She is vegetarian."),
            ("assistant", "I'll keep that in mind for restaurants."),
            ("user", "We want to go by train, and I'd rather have window seats."),
        ],
    ),
    "自动化": (
        2,
        [
            ("user", "我平时喜欢用 Python 写自动化脚本。"),
            ("assistant", "已记录。"),
        ],
    ),
}


def fill(memory: TieredMemory) -> None:
    """Store some conversations, and what a summarizer would make of them."""
    ids = {}
    for session, (days, said) in SAID.items():
        messages = [
            Message(role, content, created_at=NOON - timedelta(days=days, minutes=-n))
            for n, (role, content) in enumerate(said)
        ]
        ids[session] = memory.add(messages, session_id=session)
    memory.remember("Alice is a front-end engineer.", kind="profile", source_ids=ids["moving"][:1])
    memory.remember("Alice lives in Lisbon.", kind="profile", source_ids=ids["moving"][:1], id="lisbon", pinned=True)
    memory.remember("Alice 平时用 Python 写自动化脚本。", kind="profile", source_ids=ids["自动化"][:1])
    weekend = NOON + timedelta(days=9)
    trip = ids["trip to Porto"]
    memory.remember("Weekend in Porto with Clara.", kind="event", occurred_at=weekend, source_ids=trip[:1])
    memory.remember("Alice's cat is called Tofu.", source_ids=ids["moving"][2:3])
    memory.remember("Alice's sister Clara is vegetarian.", source_ids=trip[:1])
    memory.remember("Alice prefers window seats on trains.", source_ids=trip[2:])
    memory.flush()


def main(folder: Path) -> None:
    """Write the pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, TieredMemory.open(":memory:", user_id="alice") as memory:
        fill(memory)
        with Running(create_app(memory)) as running:
            for name, path, width, height, dark in (
                ("search", "/inspector/search?q=Who+is+vegetarian%3F", 1100, 760, False),
                ("known-narrow-dark", "/", 380, 1000, True),
            ):
                with chromium(Path(work) / name, width=width, height=height, dark=dark) as driver:
                    driver.get(f"{running.url}{path}")
                    driver.get_screenshot_as_file(str(folder / f"{name}.png"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
