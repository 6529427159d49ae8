"""Chinese sentences cut into clauses, each with its subject: said, or carried over from the clause before."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from ..fragments import bare
from ..lexicon import words_of
from ..people import People
from ..relations import CHINESE, CHINESE_PATTERN
from ..statement import NOBODY, OTHER, SELF, THING
from .vocabulary import SOUNDED

_BREAK: Final = re.compile(
    r"(?:[，,；;：。！!…~～—()（）]|(?<!\d):(?!\d))+|\s+(?=[\u4e00-\u9fff])|(?<=[\u4e00-\u9fff])\s+"
    r"|(?:并且|而且|同时)(?=[也还又]?(?:在|是|有|会|住|喜欢|爱|讨厌|对))"
)
_LEAD: Final = re.compile(
    r"^(?:(?:其实|对了|而且|但是?|不过|因为|所以|然后|反正|就是|只是|后来|之前|以前|现在|目前|如今|眼下|最近|这几年"
    r"|这两年|今年|去年|前年|明年|平时|平常|本来|原来|当时|那时候|刚好|正好|可能|毕竟|主要是?"
    r"|说起来|老实说|说实话|另外|还有啊?|再说|总之|结果|甚至|哪怕|尤其|特别是|话说|不瞒你说|忘了说"
    r"|补充一下|顺便说一下?|好在|幸好|可惜|没想到|听说|原先|早上|晚上|上午|中午|下午|刚才|刚刚|刚|年底"
    r"|年初|月底|月初|周末|[今明后昨前大]+天|[今明去前后]年|[今昨明]晚|[上下这]+个?(?:月|周|星期"
    r"|礼拜)[一二三四五六日天末]?|(?:周|星期|礼拜)[一二三四五六日天末]|[\d一二三四五六七八九十]{1,3}(?:年"
    r"|月份?|[号日]|点半?)|[\d一二三四五六七八九十几两]{1,3}个?(?:天|周|月|年|星期)[前后]|终于|总算|也|就"
    r"|又|还|可是?|那|啊|哦|嗯+|唉|哎|诶|欸|哈+)[,，\s]*)*"
)
_NAME: Final = (
    r"(?:[小老阿大][\u4e00-\u9fff]"
    r"|[王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严武戴莫孔向汤](?![一二三四五六七八九十日末天年月])[\u4e00-\u9fff]{1,2}?"
    rf"|{SOUNDED})"
)
_VERBAL: Final = (
    r"(?=在|是|不|没|也|就|都|还|又|要|会|能|想|说|做|去|来|有|喜|爱|住|叫|刚|已|现|今|明|下|上|从|最|很"
    r"|特|真|对|因|比|怕|讨|吃|养|考|搬|买|开|教|读|学|帮|跟|和|给|把|被|得|退|当|[一二三四五六七八九十\d]"
    r"|$)"
)
_SELF: Final = re.compile(r"^(?:我们家?|我自己|我本人|咱们?家?|俺们?|本人|我)(?!的(?![话意]))")
_RELATION: Final = re.compile(
    rf"^(?P<whose>我们?家?的?|咱们?家?的?|俺家?|他的?|她的?)(?P<which>那个?|这个?|大|小|二|前|亲|唯一的?|高中|大学"
    rf"|公司|以前的?|最好的)*(?P<relation>{CHINESE_PATTERN})(?P<second>的?(?:{CHINESE_PATTERN}))?(?!们|节"
    rf"|镇|店|号|年)(?P<name>[小老阿](?![区学家师板婆公孩狗猫组时])[\u4e00-\u9fff]|[A-Z][A-Za-z]{{1,12}}|{_NAME}{_VERBAL})?"
)
_KNOWN_AS: Final = re.compile(
    rf"^(?P<name>(?!我|你|他|她|这|那"
    rf"|谁)[\u4e00-\u9fffA-Za-z]{{2,4}}?)是我们?家?的?(?P<relation>{CHINESE_PATTERN})"
)
_BARE_RELATION: Final = re.compile(
    r"^(?P<relation>爸爸|妈妈|爸妈|爸|妈|奶奶|爷爷|外婆|外公|姥姥|姥爷|老公|老婆|媳妇儿?|儿子|女儿|闺女"
    r"|孩子|宝宝|二姐|大姐|二哥|大哥|姐姐|哥哥|弟弟|妹妹|姐|哥|室友|舍友|同事|老板|领导|组长|经理|导师"
    r"|外教|房东|邻居|女朋友|男朋友|对象|新郎|新娘|主唱|岳母|丈母娘|婆婆|公公)"
    r"(?!说|们|节|号|的(?:话|工作|微信))(?P<name>是|叫)?(?P<rest>.*)$"
)
_PRONOUN: Final = re.compile(r"^(?P<pronoun>他们|她们|他|她|ta|TA|它|人家)(?!们|的)")
_THING: Final = re.compile(r"^(?:这|那|有人|大家|别人|人们|你|您|有些|谁|什么|每个|网上|新闻|据说|听人说)")


@dataclass(frozen=True)
class Clause:
    """A clause as written, whom it is about, and what it says of them, leading adverbs and time words included.

    ``kind`` is ``self``, ``other``, ``thing``, or ``nobody``: without a subject of its own. ``whom`` are the words of
    the same message for the one that a pronoun stands for.
    """

    text: str
    kind: str
    subject: str
    rest: str
    whom: str = ""


def clauses(sentence: str, people: People) -> Iterator[Clause]:
    """Yield the clauses of a sentence.

    A clause without a subject keeps that of the one before; the first is about the speaker.
    """
    subject, kind = people.asked or people.speaker, SELF if people.asked is None else OTHER
    for piece in _BREAK.split(sentence):
        text = bare(piece)
        if not text:
            continue
        clause = _read(text, people)
        if clause.kind == NOBODY and kind == OTHER and _HANDLED.search(clause.rest):
            subject, kind = people.speaker, SELF  # 抱他的时候腰疼: he cannot be the one who carries him
        if clause.kind == NOBODY:
            whom = people.words_of(subject) if kind == OTHER else ""
            clause = Clause(text, NOBODY if kind in (SELF, NOBODY) else kind, subject, clause.rest, whom)
        else:
            subject, kind = clause.subject, clause.kind
        note_mentions(text, people)
        yield clause


_HANDLED: Final = re.compile(r"^(?:抱|带|帮|陪|送|接|给|跟|和|找|问|叫|喂|哄|等)(?:着|了)?[他她它]")


def _read(text: str, people: People) -> Clause:
    body = _LEAD.sub("", text) or text
    if match := _KNOWN_AS.match(body):
        return Clause(text, OTHER, people.related(CHINESE[match["relation"]], match["name"]), body[match.end("name") :])
    if match := _RELATION.match(body):
        return Clause(text, OTHER, _relative(match, people), body[match.end() :])
    if match := _SELF.match(body):
        return Clause(text, SELF, people.speaker, body[match.end() :])
    if match := _PRONOUN.match(body):
        pronoun = match["pronoun"]
        gender = {"他": "m", "她": "f"}.get(pronoun, "p" if "们" in pronoun else "m")
        whom = people.words_for("a" if pronoun == "它" else gender) if pronoun != "人家" else ""
        subject = people.pronoun(gender)
        return Clause(text, OTHER if subject else THING, subject or "", body[match.end() :], whom)
    if _THING.match(body):
        return Clause(text, THING, "", body)
    if match := re.match(r"^(?:[大小]的那?个?|老[大二三])(?=[^\W\d])", body):
        return Clause(text, OTHER, people.related("child"), body[match.end() :])
    if match := _BARE_RELATION.match(body):
        relation = CHINESE.get(match["relation"], match["relation"])
        subject = people.related(relation, written=match["relation"])
        return Clause(text, OTHER, subject, (match["name"] or "") + match["rest"])
    for name in sorted(people.genders, key=len, reverse=True):
        if len(name) > 1 and body.startswith(name):
            return Clause(text, OTHER, people.named(name), body[len(name) :])
    if (match := _NICKNAMED.match(body)) and match["nick"] not in _NO_NICKNAMES:
        return Clause(text, OTHER, people.named(match["nick"]), body[match.end() :])
    if (match := _DOER.match(body)) and not _NO_DOER.search(match["name"]):
        return Clause(text, OTHER, people.named(match["name"]), body[match.end() :])
    return Clause(text, NOBODY, "", body)


_DOER: Final = re.compile(
    r"^(?P<name>[\u4e00-\u9fff]{2,3}?)(?=(?:也|都|就|刚|已经|要|快|终于)*(?:升(?:了|职|主管|经理|总监)"
    r"|结婚|离婚|辞职|退休|怀孕|去世|生了|考上|住院|离职|入职|跳槽|出院|病了))"
)
"""Who does what only people do: 丽娜升主管了."""
_NO_DOER: Final = re.compile(
    r"[我你他她它们了的是在有不没就都也还要会想去年月日周天号今明后昨刚才]|后来|终于|已经|马上|准备|打算"
    r"|决定|计划|大学|研究|硕士|博士|高中|本科|公司|正式|顺利|提前|自己|一起|突然|听说|闪电"
)


_NICKNAMED: Final = re.compile(rf"^(?P<nick>[小老阿][\u4e00-\u9fff]|[\u4e00-\u9fff]子(?=不在|在|也)){_VERBAL}(?!说)")
_NO_NICKNAMES: Final = words_of(
    "小时 小学 小心 小区 小说 老是 老家 老板 老师 老实 老公 老婆 小吃 小孩 老人 小事 房子 车子 日子 孩子 "
    "妻子 儿子 肚子 样子 小的 老了 小组 小狗 小猫",
)


def _relative(match: re.Match[str], people: People) -> str:
    relation = CHINESE[match["relation"]]
    of = None
    if match["whose"].startswith(("他", "她")):
        of = people.pronoun("m" if match["whose"].startswith("他") else "f")
    if match["second"]:
        owner = people.related(relation, None, of)
        return people.related(CHINESE[match["second"].lstrip("的")], match["name"], owner)
    written = None if match["name"] or of else match["whose"] + (match["which"] or "") + match["relation"]
    return people.related(relation, match["name"], of, written=written)


ANYWHERE: Final = re.compile(
    rf"(?P<whose>我们?家?的?|他的?|她的?)(?P<which>那个?|大|小|二|前|亲|唯一的?|高中|大学"
    rf"|公司)?(?P<relation>{CHINESE_PATTERN})(?P<second>的?(?:{CHINESE_PATTERN}))?(?!们|节|镇|店|号"
    rf"|年)(?P<name>[小老阿](?![区学家师板婆公孩狗猫组时])[\u4e00-\u9fff]|[A-Z][A-Za-z]{{1,12}}|{_NAME}{_VERBAL})?"
)
_CALLED: Final = re.compile(
    r"(?:(?:名字|小名|大名)?(?:就?叫|名叫|叫做)|(?:[起取](?:了?个)?名|名字)(?:叫|为|是)?)(?P<name>[\u4e00-\u9fffA-Za-z·]{1,6}?)(?=的|了|$|[，,。！!]|在|是)"
)
_ALONG: Final = re.compile(
    r"(?:和|跟|陪|带|给|找|让|叫|问|帮|接|送|把|被|等|替|教|养|是|有)(?:我|着|了|了?一?[个位])?(?:家"
    r"|的)?(?P<relation>爸妈|爸爸|妈妈|爸|妈|奶奶|爷爷|外婆|外公|老公|老婆|太太|媳妇|儿子|女儿|闺女|孩子"
    r"|女朋友|男朋友|对象|姐姐|哥哥|弟弟|妹妹|室友|闺蜜)"
)
_YOURS: Final = re.compile(rf"(?:你|您)(?:们|家)?的?(?P<relation>{CHINESE_PATTERN})")


def note_mentions(text: str, people: People) -> None:
    """Let ``people`` know whom a text mentions, questions included."""
    for match in ANYWHERE.finditer(text):
        _relative(match, people)
    for match in _ALONG.finditer(text):
        people.related(CHINESE[match["relation"]], written=match["relation"])
    for match in _YOURS.finditer(text):
        people.related(CHINESE[match["relation"]], None, people.listener or "user")
    called = _CALLED.search(text)
    if (
        called
        and people.mentioned
        and not re.match(r"^(?:我|本人|咱)(?:就|也|本来)?(?:叫|姓|名)", text)
        and "叫我" not in text
    ):
        # "新郎叫陈默", "她叫美玲": the name of whoever was mentioned last.
        name_last(people, called["name"])


def name_last(people: People, name: str) -> None:
    """Give the person mentioned last a name, under which they are known from now on."""
    last = people.mentioned[-1]
    if "'s " in last and len(name) > 1:
        relation = last.split("'s ")[-1]
        people.names[last] = name
        people.relations[name] = relation
        people.genders[name] = people.genders.get(last, "n")
        people.mentioned[-1] = name
        people.renamed(last, name)
