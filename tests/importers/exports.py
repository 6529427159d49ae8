"""A small export in each format, written for these tests, and what an import is to make of it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Export:
    """A file as a program leaves it: name, bytes, format, and the messages in it as (session, role, name, text)."""

    file: str
    data: bytes
    format: str
    messages: list[tuple[str, str, str | None, str]] = field(default_factory=list)
    skipped: int = 0
    documents: int = 0


def lines(*values: Any) -> bytes:
    """Return JSON Lines."""
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values).encode()


def dumped(value: Any) -> bytes:
    """Return JSON."""
    return json.dumps(value, ensure_ascii=False).encode()


def node(
    id: str, parent: str | None, role: str, *parts: Any, time: float | None = None, **content: Any
) -> dict[str, Any]:
    """Return a node of ChatGPT's tree."""
    kind = content.pop("content_type", "text")
    held = {"content_type": kind, **({"parts": list(parts)} if parts else {}), **content}
    message = {"id": id, "author": {"role": role}, "create_time": time, "content": held}
    return {"id": id, "parent": parent, "children": [], "message": message}


def linked(*nodes: dict[str, Any]) -> dict[str, Any]:
    """Return a mapping of nodes with their children, under an empty root."""
    mapping: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    mapping.update({one["id"]: one for one in nodes})
    for one in nodes:
        mapping[one["parent"]]["children"].append(one["id"])
    return mapping


CHATGPT = Export(
    "conversations.json",
    dumped(
        [
            {
                "title": "搬家 🚚",
                "create_time": 1_700_000_000.25,
                "conversation_id": "c-1",
                "current_node": "n5",
                "mapping": linked(
                    node("n0", "root", "system", ""),
                    node("n1", "n0", "user", "我下个月搬到杭州。", time=1_700_000_001),
                    node("n2", "n1", "assistant", "An answer that was not liked.", time=1_700_000_002),
                    node("n3", "n1", "assistant", content_type="thoughts", thoughts=[{"summary": "hm"}]),
                    node("n4", "n3", "assistant", "好的，恭喜！", time=1_700_000_004),
                    node("n5", "n4", "user", "Thanks.", {"content_type": "image_asset_pointer", "asset_pointer": "x"}),
                ),
            },
            {
                "title": "No links",
                "id": "c-2",
                "mapping": {
                    "b": {"id": "b", "message": node("b", None, "assistant", "second", time=20)["message"]},
                    "a": {"id": "a", "message": node("a", None, "user", "first", time=10)["message"]},
                },
            },
        ]
    ),
    "chatgpt",
    [
        ("c-1", "user", None, "我下个月搬到杭州。"),
        ("c-1", "assistant", None, "好的，恭喜！"),
        ("c-1", "user", None, "Thanks."),
        ("c-2", "user", None, "first"),
        ("c-2", "assistant", None, "second"),
    ],
    skipped=3,
)

CLAUDE = Export(
    "claude.json",
    dumped(
        [
            {
                "uuid": "u-1",
                "name": "Tea",
                "created_at": "2024-03-01T08:00:00.123456Z",
                "chat_messages": [
                    {
                        "uuid": "m-1",
                        "sender": "human",
                        "text": "我喜欢龙井茶。",
                        "content": [{"type": "text", "text": "我喜欢龙井茶。"}],
                        "created_at": "2024-03-01T08:00:01.5Z",
                    },
                    {
                        "uuid": "m-2",
                        "sender": "assistant",
                        "text": "",
                        "content": [
                            {"type": "thinking", "thinking": "hm"},
                            {"type": "text", "text": "Noted."},
                            {"type": "tool_use", "name": "search", "input": {}},
                        ],
                        "created_at": "2024-03-01T08:00:02Z",
                    },
                    {"uuid": "m-3", "sender": "human", "text": "", "content": []},
                ],
            }
        ]
    ),
    "claude",
    [("u-1", "user", None, "我喜欢龙井茶。"), ("u-1", "assistant", None, "Noted.")],
    skipped=1,
)

SHAREGPT = Export(
    "sharegpt.json",
    dumped(
        [
            {
                "id": "s-1",
                "conversations": [
                    {"from": "system", "value": "Be brief."},
                    {"from": "human", "value": "你好"},
                    {"from": "gpt", "value": "Hello."},
                ],
            },
            {"conversations": [{"from": "human", "value": "Anyone?"}, {"from": "gpt", "value": ""}]},
        ]
    ),
    "sharegpt",
    [
        ("s-1", "system", None, "Be brief."),
        ("s-1", "user", None, "你好"),
        ("s-1", "assistant", None, "Hello."),
        ("sharegpt#2", "user", None, "Anyone?"),
    ],
    skipped=1,
)

OPENAI = Export(
    "openai.jsonl",
    lines(
        {
            "messages": [
                {"role": "developer", "content": "Be kind."},
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "天气怎么样？"}, {"type": "image_url", "image_url": {}}],
                },
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "t1",
                            "type": "function",
                            "function": {"name": "weather", "arguments": '{"city": "杭州"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "t1", "content": "sunny"},
            ]
        },
        {"id": "o-2", "messages": [{"role": "user", "content": "Bye", "name": "Ann"}]},
    ),
    "openai",
    [
        ("openai#1", "system", None, "Be kind."),
        ("openai#1", "user", None, "天气怎么样？"),
        ("openai#1", "assistant", None, ""),
        ("openai#1", "tool", None, "sunny"),
        ("o-2", "user", "Ann", "Bye"),
    ],
)

LANGCHAIN = Export(
    "monday.json",
    dumped([{"type": "human", "data": {"content": "我叫小林"}}, {"type": "ai", "data": {"content": "Hi", "id": "l2"}}]),
    "langchain",
    [("monday", "user", None, "我叫小林"), ("monday", "assistant", None, "Hi")],
)

DUMPD = Export(
    "tuesday.json",
    dumped(
        [
            {
                "lc": 1,
                "type": "constructor",
                "id": ["langchain", "schema", "messages", f"{kind}Message"],
                "kwargs": {"content": text, "type": kind.lower()},
            }
            for kind, text in (("System", "Be brief."), ("Human", "住在上海"), ("AI", "Noted."))
        ]
    ),
    "langchain",
    [
        ("tuesday", "system", None, "Be brief."),
        ("tuesday", "user", None, "住在上海"),
        ("tuesday", "assistant", None, "Noted."),
    ],
)

LLAMA_INDEX = Export(
    "chat_store.json",
    dumped(
        {
            "store": {
                "wednesday": [
                    {
                        "role": "user",
                        "additional_kwargs": {},
                        "blocks": [{"block_type": "text", "text": "我养了一只猫"}],
                    },
                    {
                        "role": "assistant",
                        "additional_kwargs": {},
                        "blocks": [{"block_type": "text", "text": "Its name?"}],
                    },
                ]
            },
            "class_name": "SimpleChatStore",
        }
    ),
    "llama-index",
    [("wednesday", "user", None, "我养了一只猫"), ("wednesday", "assistant", None, "Its name?")],
)

_ANN = {
    "name": "Ann",
    "type": "personal_chat",
    "id": 77,
    "messages": [
        {"id": 1, "type": "service", "date": "2024-01-01T10:00:00", "action": "phone_call"},
        {
            "id": 2,
            "type": "message",
            "date": "2024-01-01T10:01:00",
            "date_unixtime": "1704099660",
            "from": "Ann",
            "from_id": "user77",
            "text": ["See ", {"type": "bold", "text": "you"}, " at nine"],
        },
        {"id": 3, "type": "message", "date_unixtime": "1704099700", "from": "我", "from_id": "user5", "text": "好"},
        {
            "id": 4,
            "type": "message",
            "date_unixtime": "1704099800",
            "from": "我",
            "from_id": "user5",
            "text": "",
            "photo": "p",
        },
    ],
}
_ANN_SAID = [("telegram:77", "assistant", "Ann", "See you at nine"), ("telegram:77", "user", "我", "好")]
TELEGRAM = Export("result.json", dumped(_ANN), "telegram", _ANN_SAID, skipped=2)

TELEGRAM_ACCOUNT = Export(
    "account.json",
    dumped(
        {
            "personal_information": {"user_id": 5, "first_name": "Me"},
            "contacts": {"list": [{"first_name": "Ann"}]},
            "chats": {
                "about": "…",
                "list": [
                    _ANN,
                    {
                        "name": "周末爬山",
                        "type": "private_group",
                        "id": 88,
                        "messages": [
                            {
                                "id": 2,
                                "type": "message",
                                "date_unixtime": "1704100000",
                                "from": "李雷",
                                "from_id": "user9",
                                "text": "几点出发？",
                            },
                            {
                                "id": 3,
                                "type": "message",
                                "date_unixtime": "1704100060",
                                "from": "Me",
                                "from_id": "user5",
                                "text": "Eight.",
                            },
                        ],
                    },
                ],
            },
        }
    ),
    "telegram",
    [*_ANN_SAID, ("telegram:88", "assistant", "李雷", "几点出发？"), ("telegram:88", "user", "Me", "Eight.")],
    skipped=2,
)

WHATSAPP = Export(
    "WhatsApp Chat with Ann.txt",
    (
        "12/31/23, 9:58\u202fPM - Messages and calls are end-to-end encrypted.\n"
        "12/31/23, 9:58\u202fPM - Ann: Happy new year!\nSee you: at nine\n\nor later\n"
        "12/31/23, 11:59\u202fPM - Me: <Media omitted>\n"
        "1/1/24, 12:01\u202fAM - Me: 新年快乐 🎉\n"
    ).encode(),
    "whatsapp",
    [
        ("whatsapp:Ann", "assistant", "Ann", "Happy new year!\nSee you: at nine\n\nor later"),
        ("whatsapp:Ann", "user", "Me", "新年快乐 🎉"),
    ],
    skipped=2,
)

WECHAT = Export(
    "wechat.csv",
    (
        "localId,TalkerId,Type,SubType,IsSender,CreateTime,Status,StrContent,StrTime,Remark,NickName,Sender\n"
        '1,3,1,0,1,1700000000,,"明天九点见，带伞",2023-11-15 06:13:20,小林,林一,wxid_me\n'
        '2,3,1,0,0,1700000060,,"好的，\n""那我""带上身份证",2023-11-15 06:14:20,小林,林一,wxid_lin\n'
        "3,3,3,0,0,1700000120,,<msg><img /></msg>,2023-11-15 06:15:20,小林,林一,wxid_lin\n"
        "4,3,49,57,0,1700000130,,<msg><appmsg><title>On my way &amp; late</title></appmsg></msg>,x,小林,林一,wxid_lin\n"
        '5,3,10000,0,0,1700000180,,"""小林"" 撤回了一条消息",2023-11-15 06:16:20,小林,林一,\n'
    ).encode("utf-8-sig"),
    "wechat",
    [
        ("wechat:3", "user", None, "明天九点见，带伞"),
        ("wechat:3", "assistant", "小林", '好的，\n"那我"带上身份证'),
        ("wechat:3", "assistant", "小林", "On my way & late"),
    ],
    skipped=2,
)

WECHAT_JSON = Export(
    "weflow.json",
    dumped(
        {
            "weflow": {"version": "1.0"},
            "session": {"wxid": "wxid_lin", "displayName": "小林", "type": "私聊"},
            "messages": [
                {"localId": 1, "createTime": 1700000000, "localType": 1, "content": "在吗", "isSend": 1},
                {"localId": 2, "createTime": 1700000060, "localType": 49, "content": "Yes", "isSend": 0},
                {"localId": 3, "createTime": 1700000070, "localType": 10000, "content": "撤回", "isSend": None},
            ],
        }
    ),
    "wechat",
    [("wechat:wxid_lin", "user", None, "在吗"), ("wechat:wxid_lin", "assistant", "小林", "Yes")],
    skipped=1,
)

CHATLAB = Export(
    "chatlab.json",
    dumped(
        {
            "chatlab": {"version": "0.0.2"},
            "meta": {"name": "读书会", "platform": "qq", "type": "group"},
            "messages": [
                {"sender": "1", "accountName": "张三", "timestamp": 1703001600, "type": 0, "content": "大家好！"},
                {"sender": "2", "accountName": "Li", "timestamp": 1703001600, "type": 0, "content": "Hi all"},
                {"sender": "2", "accountName": "Li", "timestamp": 1703001601, "type": 1, "content": "[图片]"},
            ],
        }
    ),
    "chatlab",
    [("qq:读书会", "user", "张三", "大家好！"), ("qq:读书会", "user", "Li", "Hi all")],
    skipped=1,
)

GENERIC = Export(
    "historical_dialogues.json",
    dumped(
        [
            {"id": "session_001", "text": "用户：我喜欢用 Python 写自动化脚本。\n助手：已记录。"},
            {
                "id": "session_002",
                "text": "User: I moved\nto Lisbon.\n\nAssistant: Noted.",
                "date": "2024-05-06T09:00:00+08:00",
            },
            {"id": "session_003", "text": "No speakers here."},
        ]
    ),
    "generic",
    [
        ("session_001", "user", None, "我喜欢用 Python 写自动化脚本。"),
        ("session_001", "assistant", None, "已记录。"),
        ("session_002", "user", None, "I moved\nto Lisbon."),
        ("session_002", "assistant", None, "Noted."),
        ("session_003", "user", None, "No speakers here."),
    ],
)

MARKDOWN = Export(
    "notes.md",
    "# 笔记\n\n小林住在杭州。\n\n## Plans\n\n- cello\n- 周末爬山\n\n```py\n# no heading\n\nx = 1\n```\n".encode(),
    "markdown",
    documents=2,
)
TEXT = Export("diary.txt", "Monday: rain.\n\n星期二：晴。\n".encode("gb18030"), "text", documents=1)

EXPORTS = (
    CHATGPT, CLAUDE, SHAREGPT, OPENAI, LANGCHAIN, DUMPD, LLAMA_INDEX, TELEGRAM, TELEGRAM_ACCOUNT, WHATSAPP, WECHAT,
    WECHAT_JSON, CHATLAB, GENERIC, MARKDOWN, TEXT,
)  # fmt: skip
