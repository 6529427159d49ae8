"""How many of the words that answer later questions survive compression: ours against sumy's summarizers.

    python benchmarks/compression/locomo_survival.py PATH/locomo-dev.json [--embedder]

For every LoCoMo session over 2,000 characters, the summary at one fifth and one tenth of its tokens; the share of the
content words of gold answers to questions with evidence in that session that are still in it. Words that the session
itself does not hold (most dates, paraphrases) are not counted: nothing that selects can keep them. All summarizers
get the same sentences and the same budget, by the same counter; ours also pays for the speakers' names, which the
others do not show, and counts in characters too. A ``digest`` is summary and statements together: where the statements
alone exceed the budget, the first of them. LoCoMo is CC BY-NC 4.0: it measures, and nothing of it is kept.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from siltstone.compress.budget import RoughCounter
from siltstone.compress.extractive import ExtractiveSummarizer
from siltstone.records import Message
from siltstone.text.sentences import sentences
from siltstone.text.tokenize import terms
from siltstone.text.words import STOP_WORDS

RATIOS = (5, 10)
COUNTER = RoughCounter()


@dataclass(frozen=True)
class Session:
    conversation: str
    messages: list[Message]
    answers: list[str]

    @property
    def tokens(self) -> int:
        return sum(COUNTER.count(message.content) for message in self.messages)

    def words(self) -> list[set[str]]:
        """Return the answers' words that the session holds, a set per question."""
        held = set(terms(" ".join(f"{message.name} {message.content}" for message in self.messages)))
        return [set(terms(answer)) & held for answer in self.answers]


def load(path: Path) -> list[Session]:
    sessions = []
    for row in json.loads(path.read_text(encoding="utf-8")):
        conversation = row["conversation"]
        for number in range(1, 100):
            turns = conversation.get(f"session_{number}")
            if turns:
                day = datetime.strptime(conversation[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
                messages = list(read_turns(turns, day.replace(tzinfo=timezone.utc)))
                answers = [str(qa["answer"]) for qa in row["qa"] if "answer" in qa and number in evidence(qa)]
                if sum(len(message.content) for message in messages) > 2000 and answers:
                    sessions.append(Session(row["sample_id"], messages, answers))
    return sessions


def evidence(qa: dict[str, Any]) -> set[int]:
    if qa["category"] == 5:
        return set()
    return {int(session) for session in re.findall(r"D(\d+):\d+", " ".join(qa["evidence"]))}


def read_turns(turns: Sequence[dict[str, str]], day: datetime) -> Any:
    for turn in turns:
        caption = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
        role = "user" if turn["speaker"] == turns[0]["speaker"] else "assistant"
        yield Message(role, turn["text"] + caption, name=turn["speaker"], id=turn["dia_id"], created_at=day)


# --- sumy


class OurTokenizer:
    """Gives sumy the sentences and words that everybody else gets; its own needs a download."""

    def to_sentences(self, text: str) -> list[str]:
        return sentences(text)

    def to_words(self, text: str) -> list[str]:
        return re.findall(r"[^\W_]+(?:['’]\w+)?", text)


def ranked_by_sumy(kind: str, session: Session) -> list[str]:
    """Return the session's sentences, best first."""
    from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
    from sumy.nlp.stemmers import Stemmer
    from sumy.summarizers.lex_rank import LexRankSummarizer
    from sumy.summarizers.text_rank import TextRankSummarizer

    tokenizer = OurTokenizer()
    paragraphs = [
        Paragraph([Sentence(sentence, tokenizer) for sentence in sentences(message.content)])
        for message in session.messages
    ]
    document = ObjectDocumentModel(paragraphs)
    if kind == "Lead":
        return [str(sentence) for sentence in document.sentences]
    summarizer = {"LexRank": LexRankSummarizer, "TextRank": TextRankSummarizer}[kind](Stemmer("english"))
    summarizer.stop_words = STOP_WORDS
    # sumy returns chosen sentences in the order of the text; its rank is how early a count lets them in.
    order: dict[str, int] = {}
    scores = ratings(summarizer, document)
    for sentence, _ in sorted(scores.items(), key=lambda pair: -pair[1]):
        order.setdefault(str(sentence), len(order))
    return list(order)


def ratings(summarizer: Any, document: Any) -> dict[Any, float]:
    if hasattr(summarizer, "rate_sentences"):
        return dict(summarizer.rate_sentences(document))
    words = [summarizer._to_words_set(sentence) for sentence in document.sentences]
    frequencies = summarizer._compute_tf(words)
    matrix = summarizer._create_matrix(words, summarizer.threshold, frequencies, summarizer._compute_idf(words))
    return dict(zip(document.sentences, summarizer.power_method(matrix, summarizer.epsilon), strict=True))


def filled(ranked: Sequence[str], budget: int) -> str:
    kept: list[str] = []
    for sentence in ranked:
        cost = COUNTER.count(sentence)
        if cost <= budget:
            kept.append(sentence)
            budget -= cost
    return "\n".join(kept)


# --- ours


def summary_of(summarizer: ExtractiveSummarizer, session: Session, budget: int) -> str:
    """Return the summary alone; at 5× it is what the statements leave of the fifth."""
    return summarizer.summarize(session.messages, max_tokens=budget).summary


def whole_of(summarizer: ExtractiveSummarizer, session: Session, budget: int) -> str:
    """Return the statements, and the summary that fits beside them."""
    digest = summarizer.summarize(session.messages)
    statements = filled(
        [item.text for field in (digest.facts, digest.preferences, digest.events) for item in field], budget
    )
    return f"{summary_of(summarizer, session, budget - COUNTER.count(statements))}\n{statements}"


# --- measuring


def survival(summaries: Sequence[str], sessions: Sequence[Session]) -> list[tuple[int, int]]:
    """Return per session how many answer words survive, of how many."""
    counts = []
    for summary, session in zip(summaries, sessions, strict=True):
        kept = set(terms(summary))
        wanted = session.words()
        counts.append((sum(len(words & kept) for words in wanted), sum(len(words) for words in wanted)))
    return counts


def share(counts: Sequence[tuple[int, int]]) -> float:
    return 100 * sum(kept for kept, _ in counts) / max(sum(total for _, total in counts), 1)


def interval(ours: Sequence[tuple[int, int]], theirs: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return the 95% interval of the difference, by a paired bootstrap over sessions."""
    draw = random.Random(7)
    differences = []
    for _ in range(1000):
        picks = [draw.randrange(len(ours)) for _ in ours]
        differences.append(share([ours[pick] for pick in picks]) - share([theirs[pick] for pick in picks]))
    differences.sort()
    return differences[25], differences[975]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path, help="locomo-dev.json")
    parser.add_argument("--embedder", action="store_true", help="also ours with the embedded embedder")
    parser.add_argument("--json", action="store_true", help="print figures as JSON")
    arguments = parser.parse_args()
    sessions = load(arguments.path)
    systems: dict[str, dict[int, list[tuple[int, int]]]] = {}
    for kind in ("Lead", "LexRank", "TextRank"):
        ranked = [ranked_by_sumy(kind, session) for session in sessions]
        systems[f"sumy {kind}"] = {
            ratio: survival([filled(one, s.tokens // ratio) for one, s in zip(ranked, sessions, strict=True)], sessions)
            for ratio in RATIOS
        }
    ours = {"extractive": ExtractiveSummarizer(counter=COUNTER)}
    if arguments.embedder:
        from siltstone.models.e5 import E5Embedder  # type: ignore[attr-defined]

        ours["extractive, e5"] = ExtractiveSummarizer(E5Embedder(), counter=COUNTER)
    for name, summarizer in ours.items():
        for kind, text_of in (("summary", summary_of), ("digest", whole_of)):
            systems[f"{name}: {kind}"] = {}
            for ratio in RATIOS:
                texts = [text_of(summarizer, one, one.tokens // ratio) for one in sessions]
                assert all(COUNTER.count(text) * ratio <= one.tokens for text, one in zip(texts, sessions, strict=True))
                systems[f"{name}: {kind}"][ratio] = survival(texts, sessions)
    figures = {name: {ratio: round(share(counts), 1) for ratio, counts in by.items()} for name, by in systems.items()}
    if arguments.json:
        print(json.dumps(figures))
        return
    print(f"{len(sessions)} sessions; share of answer words that survive, in %\n")
    print("| summarizer | 5× | 10× |\n|---|---|---|")
    for name, by in figures.items():
        print(f"| {name} | {by[5]} | {by[10]} |")
    for name in [one for one in systems if not one.startswith("sumy")]:
        best = max((other for other in systems if other.startswith("sumy")), key=lambda other: figures[other][10])
        low, high = interval(systems[name][10], systems[best][10])
        lead = figures[name][10] - figures[best][10]
        print(f"\n{name} at 10×: {lead:+.1f} points over {best}, 95% interval {low:+.1f} to {high:+.1f}")


if __name__ == "__main__":
    main()
