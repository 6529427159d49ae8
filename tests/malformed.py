"""What models answer when they should answer with a digest, as seen in the field, and what they should have said."""

from __future__ import annotations

import json

from scripted_server import Answer

WORK = {"text": "Alice is a front-end engineer in Shenzhen", "sources": ["m1"]}
MEAT = {"text": "Alice no longer eats meat", "sources": ["m3"]}
DIGEST = {
    "topic": "Alice",
    "summary": "Alice is a front-end engineer in Shenzhen.",
    "facts": [WORK],
    "preferences": [MEAT],
    "events": [],
}
GOOD = json.dumps(DIGEST)


def said(text: str | None, finish: str = "stop") -> Answer:
    """Return the response of a chat endpoint with this text."""
    return Answer({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}]})


READABLE = {
    "fences": f"```json\n{GOOD}\n```",
    "prose around": f"Sure, here you go:\n{GOOD}\nHope that helps!",
    "braces in the prose": f"With {{care}} and {{love}}: {GOOD}",
    "trailing commas": GOOD.replace("}]", "},]"),
    "bad escape": GOOD.replace("Shenzhen.", r"Shenzhen. C:\users"),
    "thoughts": f"<think>{{hm}}</think>{GOOD}",
}
IN_PART = {
    "a missing field": json.dumps({name: value for name, value in DIGEST.items() if name != "events"}),
    "a bare list": json.dumps([WORK, MEAT]),
    "cut off": GOOD[: GOOD.index(', "events"')],
}
HOPELESS = {
    "refusal": "I'm sorry, I can't do that.",
    "empty object": "{}",
    "another list": "[1, 2, 3]",
    "wrong language": '{"topic": "工作", "summary": "爱丽丝在深圳。", "facts": [], "preferences": [], "events": []}',
    "cut off at once": GOOD[:30],
    "nothing that was said": GOOD.replace("Alice", "Bob").replace("Shenzhen", "Paris").replace("meat", "fish"),
}
