"""What WhatsApp writes itself, in its languages: names of files, media that are left out, messages taken back. Pure."""

from __future__ import annotations

import re
from typing import Final

CHAT_FILES: Final = (
    re.compile(r"WhatsApp[ _-]*Chat[ _](?:with|mit|-|–)[ _](?P<name>.+)", re.IGNORECASE),
    re.compile(r"(?:Chat|Conversa|Discussion|Conversación)(?: de| do)? WhatsApp (?:con|com|avec) (?P<name>.+)"),
    re.compile(r"(?:与|與|和)\s*(?P<name>.+?)\s*的\s*WhatsApp\s*(?:聊天记录|聊天記錄|对话|對話|聊天)"),
    re.compile(r"WhatsApp\s*(?:聊天记录|聊天記錄|聊天|对话|對話)\s*[-–—]\s*(?P<name>.+)"),
)
"""Names of exported chats, without the ending, around the chat's own ``name``."""

_OMITTED: Final = (
    "omitted", "省略", "忽略", "weggelassen", "ausgelassen", "ausgeschlossen", "omitido", "omitida", "omis", "absent",
    "absente", "ocultado", "oculta", "oculto",
)  # fmt: skip
LEFT_OUT: Final = re.compile(
    rf"[\u200e\s]*(?:<[^<>\n]{{1,60}}>|\u200e[^\n]{{0,80}}(?:{'|'.join(_OMITTED)})[^\n]{{0,20}})\s*"
)
"""A message that stands for a picture or recording: ``<Media omitted>``, ``‎image omitted``, ``<省略影音内容>``."""

_DELETIONS: Final = (
    "This message was deleted", "You deleted this message",
    "此消息已删除", "您已删除此消息", "你已删除此消息", "此訊息已刪除", "已刪除此訊息", "你已刪除此訊息",
    "Diese Nachricht wurde gelöscht", "Du hast diese Nachricht gelöscht",
    "Se eliminó este mensaje", "Eliminaste este mensaje",
    "Ce message a été supprimé", "Vous avez supprimé ce message",
    "Mensagem apagada", "Essa mensagem foi apagada", "Você apagou esta mensagem",
)  # fmt: skip
DELETED: Final = re.compile(rf"(?:{'|'.join(_DELETIONS)})[.。]?", re.IGNORECASE)
"""What stands for a message that was taken back."""

EDITED: Final = re.compile(r"\s*\u200e?<[^<>\n]*(?:edited|编辑|編輯|bearbeitet|editad[ao]|modifié|editó)[^<>\n]*>\s*$")
"""What WhatsApp adds to a message that was changed."""
