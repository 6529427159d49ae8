"""How the service bears load: clients that write and ask at once, on loopback, and nothing that was answered is lost.

    python benchmarks/http_load.py                          50 clients, five minutes
    python benchmarks/http_load.py --seconds 60 --kill      killed with SIGKILL half way, and started again

A quarter of the requests write a whole dialogue, a quarter remember something, a quarter search and a quarter ask for a
context; each client is a user of its own. It prints requests a second and times by what was asked for, and exits with 1
on any error, or on a write that was answered and is not there at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from siltstone import TieredMemory
from siltstone.access import make_token

PLACES = ("Lisbon", "Berlin", "深圳", "里斯本", "Porto", "Kyoto")
THINGS = ("cello", "写代码", "climbing", "chess", "做饭", "astronomy")


@dataclass
class Seen:
    """What the clients saw: times by what they asked for, answers by status, and what was acknowledged."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[str] = field(default_factory=Counter)
    remembered: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    dialogues: dict[str, int] = field(default_factory=dict)
    cut: int = 0


class Server:
    """``siltstone serve`` in a process of its own, on a port that stays."""

    def __init__(self, store: Path, tokens: Path) -> None:
        self._options = [
            "--store",
            str(store),
            "--tokens",
            str(tokens),
            *["--log-level", "warning", "--concurrency", "64"],
        ]
        self.port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.port = self.port or _free_port()
        command = [sys.executable, "-m", "siltstone", "serve", "--port", str(self.port), *self._options]
        self._process = subprocess.Popen(command, env=os.environ | {"NO_COLOR": "1"})
        while True:
            try:
                httpx.get(f"{self.url}/readyz").raise_for_status()
                return
            except httpx.HTTPError:
                if self._process.poll() is not None:
                    raise SystemExit("the server did not start") from None
                time.sleep(0.1)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        self._process.terminate()
        return self._process.wait(60)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def client(url: str, user: str, token: str, until: float, seen: Seen) -> None:
    """Write and ask, one request after the other, until the time is over."""
    chance, number = random.Random(user), 0
    headers = {"authorization": f"Bearer {token}"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as service:
        while time.monotonic() < until:
            number += 1
            what, body = chance.choice((_write, _remember, _search, _context))(user, number, chance)
            begun = time.perf_counter()
            try:
                answer = await service.post(f"/memory/{what}", json=body)
            except httpx.TransportError:  # the server was killed: not acknowledged, to be sent again
                seen.cut += 1
                await asyncio.sleep(0.2)
                continue
            seen.seconds[what].append(time.perf_counter() - begun)
            seen.statuses[f"{answer.status_code}"] += 1
            if answer.status_code == 200 and what == "remember":
                seen.remembered[user].add(str(body["text"]))
            elif answer.status_code == 200 and what == "write":
                seen.dialogues[user] = number


def _write(user: str, number: int, chance: random.Random) -> tuple[str, dict[str, object]]:
    lines = [f"User: I was in {chance.choice(PLACES)}, {user} {number}.{line}" for line in range(3)]
    return "write", {"dialogue_id": "talk", "dialogue_text": "\n".join(lines)}


def _remember(user: str, number: int, chance: random.Random) -> tuple[str, dict[str, object]]:
    return "remember", {"text": f"{user} likes {chance.choice(THINGS)}, said {number} times.", "kind": "profile"}


def _search(user: str, number: int, chance: random.Random) -> tuple[str, dict[str, object]]:
    return "search", {"query": f"Who likes {chance.choice(THINGS)}?", "top_k": 5}


def _context(user: str, number: int, chance: random.Random) -> tuple[str, dict[str, object]]:
    return "context", {"query": f"Was I in {chance.choice(PLACES)}?", "session_id": "talk", "max_tokens": 500}


async def load(server: Server, tokens: dict[str, str], seconds: float, kill: bool) -> Seen:
    """Let all clients run; kill the server half way, and start it again, if that is wanted."""
    seen, until = Seen(), time.monotonic() + seconds
    clients = [client(server.url, user, token, until, seen) for user, token in tokens.items()]
    running = asyncio.gather(*clients)
    if kill:
        await asyncio.sleep(seconds / 2)
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
    await running
    return seen


def lost(store: Path, seen: Seen) -> list[str]:
    """Return what was acknowledged and is not there."""
    missing = []
    with TieredMemory.open(store, read_only=True) as memory:
        for user, texts in seen.remembered.items():
            there = {record.text for record in memory.for_user(user).records(kinds="profile")}
            missing += sorted(texts - there)
        for user, number in seen.dialogues.items():
            said = [message.content for message in memory.for_user(user).messages("talk")]
            if len(said) != 3 or int(said[0].split()[-1].partition(".")[0]) < number:
                missing.append(f"the dialogue {number} of {user}: {said}")
    return missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--kill", action="store_true", help="kill the server half way, and start it again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store, file = Path(folder) / "memory", Path(folder) / "tokens.jsonl"
        tokens = {f"user {n}": make_token(file, name=f"user {n}", user_id=f"user {n}") for n in range(options.clients)}
        server = Server(store, file)
        httpx.post(  # the model is loaded by the first question, which is no client's
            f"{server.url}/memory/search", json={"query": "x"}, headers={"authorization": f"Bearer {tokens['user 0']}"},
            timeout=60,
        )  # fmt: skip
        begun = time.monotonic()
        seen = asyncio.run(load(server, tokens, options.seconds, options.kill))
        took = time.monotonic() - begun
        code = server.end()
        missing = lost(store, seen)
    errors = {status: count for status, count in seen.statuses.items() if status != "200"}
    report = {
        "clients": options.clients,
        "seconds": round(took, 1),
        "requests": seen.statuses.total(),
        "requests_per_second": round(seen.statuses.total() / took, 1),
        "errors": errors,
        "cut_by_the_kill": seen.cut,
        "acknowledged_writes": sum(map(len, seen.remembered.values())) + len(seen.seconds["write"]),
        "lost_writes": len(missing),
        "exit_code_of_the_server": code,
        "ms": {what: _quantiles(seconds) for what, seconds in sorted(seen.seconds.items())},
    }
    print(json.dumps(report, indent=1))
    for one in missing[:10]:
        print("lost:", one, file=sys.stderr)
    if errors or missing or code or (seen.cut and not options.kill):
        sys.exit(1)


def _quantiles(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        name: round(ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1_000, 1)
        for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("max", 1.0))
    }


if __name__ == "__main__":
    main()
