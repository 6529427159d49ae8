"""The table of a run: medians over the rounds, ratios to siltstone within each round, and how far the rounds spread."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Any

OURS = "siltstone"
LIMIT = "limit: append + bare FAISS"
OTHERS = ("opens, s (CPU)", "library, s of CPU", "MB", "evidence in 300 / 600 words", "after SIGKILL", "what else")
STEPS = ("add", "add to a full store", "add, embedding included", "search", "update", "delete")


def table(found: dict[str, Any]) -> str:
    """Return the Markdown of a run's raw results."""
    rounds = [one["stores"] for one in found["rounds"]]
    names = list(dict.fromkeys(name for each in rounds for name in each))
    titles = {name: _title(name, rounds) for name in names}
    return "\n".join(
        [
            *_about(found),
            "",
            "Per second of the clock (CPU milliseconds each, with what a process does after its answers); "
            "× is siltstone's rate over this one's, in CPU: above 1, siltstone is ahead; "
            "in brackets the least and the most of the rounds.",
            "",
            *_rows(STEPS, {titles[name]: [_step(rounds, name, step, found) for step in STEPS] for name in names}),
            "",
            "Siltstone's rate over this one's, by the clock, waiting for the disk included:",
            "",
            *_rows(
                (*STEPS, "opening"),
                {
                    titles[name]: [
                        *(_times(_ratios(rounds, OURS, name, step, cpu=False)) for step in STEPS),
                        _times(_opening_ratios(rounds, name, cpu=False)),
                    ]
                    for name in names
                    if name != OURS
                },
            ),
            "",
            "What each takes of the limit's CPU:",
            "",
            *_rows(
                STEPS,
                {
                    titles[name]: [_times(_ratios(rounds, LIMIT, name, step, cpu=True)) for step in STEPS]
                    for name in names
                    if name != LIMIT
                },
            ),
            "",
            *_rows(OTHERS, {titles[name]: _others(rounds, name) for name in names}),
            "",
            *_settings(rounds, names),
        ]
    )


def _about(found: dict[str, Any]) -> list[str]:
    machine, embedder = found["machine"], found["embedder"]
    loads = ", ".join(f"{one['load']:.0f}" for one in found["rounds"])
    alone = ", ".join(f"{kind} {1e3 * one['cpu']:.2g} ({1e3 * one['wall']:.2g})" for kind, one in embedder.items())
    return [
        f"{found['turns']:,} turns, {found['users']} users, {found['searches']:,} searches, "
        f"{len(found['rounds'])} rounds, {found['cap_s']:g} s of CPU a step.",
        f"{found['date']}, {machine['cores']} cores ({machine['cpu']}), load {loads} at the starts of the rounds, "
        f"{' '.join(machine['file system'])}, {machine['system']}"
        + (f", commit {machine['commit']}" if "commit" in machine else "")
        + ".",
        f"The embedder alone takes, in ms of CPU (of the clock): {alone}.",
        *([f"Left out, as no interpreter had them: {', '.join(found['left out'])}."] if found["left out"] else []),
    ]


def _rows(columns: Sequence[str], rows: dict[str, list[str]]) -> list[str]:
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    return lines + [f"| {title} | " + " | ".join(cells) + " |" for title, cells in rows.items()]


def _settings(rounds: list[dict[str, Any]], names: list[str]) -> list[str]:
    """Return how each store was used: its versions, and the address of what its documentation says."""
    lines = []
    for name in names:
        about = next((each[name]["about"] for each in rounds if "about" in each.get(name, {})), None)
        if about is not None:
            versions = ", ".join(f"{package} {version}" for package, version in about["versions"].items())
            where = about["documentation"]
            link = f"[documentation]({where})" if where.startswith("http") else where
            lines.append(f"- {name} ({versions}; {link}): {' '.join(about['setting'].split())}")
    return lines


def rate(store: dict[str, Any], step: str, *, cpu: bool) -> float:
    """Return how many were done per second, of the clock or of CPU; the embedder's time counts where it is the step's.

    CPU has what the store's threads did after the answers, too.
    """
    blocks = store[step]["blocks"]
    model = step == "add, embedding included"
    done = sum(block[0] for block in blocks)
    spent = sum(block[2 if cpu else 1] - (0 if model else block[4 if cpu else 3]) for block in blocks)
    if cpu:
        spent += store.get("after the answers", {}).get(step, 0)
    return done / spent if spent else 0.0


def _title(name: str, rounds: list[dict[str, Any]]) -> str:
    had = sum(name in each for each in rounds)
    return name if had == len(rounds) else f"{name} ({had} round{'s' if had > 1 else ''})"


def _step(rounds: list[dict[str, Any]], name: str, step: str, found: dict[str, Any]) -> str:
    seen = [each[name] for each in rounds if name in each]
    for one in seen:
        mine = one.get(step, {})
        if "cannot" in mine:
            return "cannot"
        if "error" in mine or not mine.get("blocks"):
            return "fails" if "error" in mine else "–"
    walls, cpus = ([rate(one, step, cpu=cpu) for one in seen] for cpu in (False, True))
    text = f"{_short(median(walls))} ({_short(1e3 / median(cpus))} ms)"
    whole = {"add": found["turns"], "search": found["searches"]}.get(step)
    if whole is not None and (least := min(one[step]["done"] for one in seen)) < whole:
        text += f", {least:,} in time"
    ratios = _ratios(rounds, OURS, name, step, cpu=True)
    return f"{text} {_times(ratios)}" if ratios and name != OURS else text


def _ratios(rounds: list[dict[str, Any]], one: str, other: str, step: str, *, cpu: bool) -> list[float]:
    """Return by how much the rate of one store is that of another, in each round that has both."""
    return [
        rate(each[one], step, cpu=cpu) / rate(each[other], step, cpu=cpu)
        for each in rounds
        if all(each.get(name, {}).get(step, {}).get("blocks") for name in (one, other))
        and not {"cannot", "error"} & each[other][step].keys()
    ]


def _opening_ratios(rounds: list[dict[str, Any]], name: str, *, cpu: bool) -> list[float]:
    """Return how many times as long as ours it takes to open and to answer a first search, in each round."""
    seen = [(_opening(each.get(name, {}), cpu=cpu), _opening(each.get(OURS, {}), cpu=cpu)) for each in rounds]
    return [theirs / ours for theirs, ours in seen if theirs and ours]


def _opening(store: dict[str, Any], *, cpu: bool) -> float | None:
    """Return the seconds from opening to the first search's answer, or to the open store where it is not searched."""
    told, kind = store.get("reopen", {}), "cpu" if cpu else "wall"
    return told[kind] + told.get(f"search_{kind}", 0) if kind in told else None


def _times(ratios: list[float]) -> str:
    """Return the median of ratios, and the least and the most of several."""
    if not ratios:
        return "–"
    spread = f" [{_short(min(ratios))}–{_short(max(ratios))}]" if len(ratios) > 1 else ""
    return f"×{_short(median(ratios))}{spread}"


def _others(rounds: list[dict[str, Any]], name: str) -> list[str]:
    one = [each[name] for each in rounds if name in each]
    reopen = _reopen(one)
    if name != OURS and (ratios := _opening_ratios(rounds, name, cpu=True)):
        reopen += f" {_times(ratios)}"
    return [reopen, _library(one), _bytes(one), _recall(one), _killed(one), _failures(one)]


def _reopen(one: list[dict[str, Any]]) -> str:
    if "cannot" in one[0].get("reopen", {}):
        return "cannot"
    walls, cpus = ([_opening(each, cpu=cpu) for each in one] for cpu in (False, True))
    if None in walls:
        return "fails"
    return f"{median(map(float, walls)):.2g} ({median(map(float, cpus)):.2g})"


def _library(one: list[dict[str, Any]]) -> str:
    seen = [each["reopen"]["import_cpu"] for each in one if "import_cpu" in each.get("reopen", {})]
    return f"{median(seen):.2g}" if seen else "–"


def _bytes(one: list[dict[str, Any]]) -> str:
    sizes = [each["bytes"] / 1e6 for each in one if "bytes" in each]
    return f"{median(sizes):.3g}" if sizes else "–"


def _recall(one: list[dict[str, Any]]) -> str:
    seen = [each["recall"] for each in one if "recall" in each]
    if not seen:
        return "cannot" if "cannot" in one[0].get("search", {}) else "–"
    text = " / ".join(f"{median([each['evidence'][budget] for each in seen]):.3f}" for budget in seen[0]["evidence"])
    if foreign := sum(each["results of other users"] for each in seen):
        text += f", {foreign} results of other users"
    return text


def _killed(one: list[dict[str, Any]]) -> str:
    kills = [kill for each in one for kill in each.get("kill", ())]
    outcomes = Counter(kill["outcome"] for kill in kills)
    lost = sum(kill.get("lost", 0) for kill in kills)
    text = ", ".join(f"{count} {what}" for what, count in outcomes.most_common())
    return f"{text} ({lost:,} rows)" if lost else text or "–"


def _failures(one: list[dict[str, Any]]) -> str:
    """Return what it cannot do and what went wrong without a kill, each once."""
    said: list[str] = []
    for each in one:
        for step, what in each.items():
            if isinstance(what, dict):
                said += [f"{step}: {what['error'][:120]}"] if "error" in what else []
                said += [f"{step}: {what['cannot']}"] if what.get("cannot") and step != "first search" else []
        if each.get("reopen", {}).get("lost"):
            said.append(f"opened: {each['reopen']['lost']:,} of {each['reopen']['acknowledged']:,} rows are not there")
        if each.get("reopen", {}).get("doubled"):
            said.append(f"opened: {each['reopen']['doubled']:,} rows doubled")
        said += [f"{count} {what}" for what, count in each.get("check", {}).items() if isinstance(count, int) and count]
    return "; ".join(dict.fromkeys(said)).replace("|", "/").replace("\n", " ")


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.2g}"


if __name__ == "__main__":
    import json
    from pathlib import Path

    print(table(json.loads(Path(sys.argv[1]).read_text())))
