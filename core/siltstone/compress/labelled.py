"""What somebody fills in, as in a form: "Name: Bob", 姓名：李磊. Each line is a fact about the one who writes it."""

from __future__ import annotations

import re
from typing import Final

_VALUE: Final = r"\s*[:：]\s*(?P<value>[^:：\n]{1,60}?)[\s.。]*$"
_NAMED: Final = r"(?-i:[A-ZÀ-Ý])[\w'’.-]+(?: (?-i:[A-ZÀ-Ý])[\w'’.-]+){0,3}|[\u4e00-\u9fff·]{2,8}"
_LINES: Final = tuple(
    (attribute, re.compile(rf"^\W*(?:(?:my|我的?) ?)?(?:{label}){_VALUE}", re.IGNORECASE), re.compile(value))
    for attribute, label, value in (
        ("name", r"(?:full |first |last )?name|姓名|名字", _NAMED),
        ("birthday", r"birthday|date of birth|dob|生日|出生日期", r".*\d"),
        ("email", r"e-?mail(?: address)?|邮箱|电子邮件", r"\S+@\S+\.\w+$"),
        ("phone", r"(?:phone|mobile|cell)(?: number)?|tel|电话|手机号?", r"[+\d][\d ()/-]{5,}$"),
        ("home", r"(?:home )?(?:town|city)|place of residence|居住地|所在城市|现居", _NAMED),
        ("work", r"job|occupation|profession|employer|职业|工作单位", r"\w.*"),
        ("age", r"age|年龄", r"\d{1,3}\b.*"),
    )
)


def labelled(text: str) -> dict[str, str]:
    """Return the attribute of each line of a text that is a form and nothing else, by the line; else nothing."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    found = {line: attribute for line in lines if (attribute := _attribute(line)) is not None}
    return found if lines and len(found) == len(lines) else {}


def _attribute(line: str) -> str | None:
    for attribute, form, value in _LINES:
        if (match := form.match(line)) and value.fullmatch(match["value"]):
            return attribute
    return None
