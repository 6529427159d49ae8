"""What a Chinese clause tells about a person: name, work, home, family, likes, plans, instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from . import vocabulary_zh as words
from .clauses_zh import OTHER, SELF, THING, Clause
from .modality import negated
from .rules_en import Finding
from .statement import EVENTS, FACTS, PREFERENCES
from .when import dated

_NUM: Final = r"(?:\d{1,3}|[一二三四五六七八九十两]{1,3})"
_COUNT: Final = rf"(?:{_NUM}|半|好几|几|快|多)+"

_FACTS: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (attribute, re.compile(pattern))
    for attribute, pattern in (
        (
            "name",
            r"^(?:的?(?:名字|大名|小名|英文名|网名))?(?:就?叫|名叫|叫做|姓)(?!我|你|他|她|外卖|车|醒|苦|做法)[\u4e00-\u9fffA-Za-z ]{1,12}$|(?:名字|小名|大名|英文名)(?:是|叫)",
        ),
        (
            "age",
            rf"(?:今年|都|已经|快|才|刚|刚满|虚岁|马上)*{_COUNT}岁(?!的时候|那年|时|生日)|(?:今年|都|已经|快)+{_COUNT}了?$|[6-9]\d后|[05]0后|属(?:鼠|牛|虎|兔|龙|蛇|马|羊|猴|鸡|狗|猪)",
        ),
        ("birthday", r"生日(?:是|在)|出生(?:于|在)"),
        (
            "home",
            rf"(?:^|就|都|还|一直|现在|目前|自己|一个人|租)住(?!院|了一?晚|手|嘴|宿费|的地方)|住在|(?:在|定居|居住|租房|租在|落户|生活在|搬到了?|搬来了?|搬去了?|搬回了?|搬进了?)[^，]{{0,4}}{words.PLACE}(?:住|生活|定居|这边|那边|租房|租的房|买了?房|安家|读|$|{_COUNT}年|待了|呆了)"
            rf"|(?:(?<![老大人])家|房子|新家|公寓)(?:就)?(?:在|离)|坐标{words.PLACE}|base{words.PLACE}|搬(?:到|来|去|回|进)了?(?!一起)[\u4e00-\u9fff]{{2,}}|^(?:人|现在)?在{words.PLACE}(?:这边|呢|了)?$|不住[\u4e00-\u9fff]{{2,6}}了",
        ),
        (
            "origin",
            rf"是(?!不是)(?:地道的?|土生土长的?)?(?P<place>[\u4e00-\u9fff]{{2,5}})人$|老家(?:在|是)?|来自|籍贯|{words.PLACE}人$|从小在",
        ),
        (
            "work",
            rf"(?:是|当(?:了|过)?|做(?:了|过|的是)?|干(?:了|过|的是)?|担任|任|成了|转行做?|从事)[^，不]{{0,10}}{words.OCCUPATION}(?:的|了|{_COUNT}年|工作|$)|(?:做|干)了?{_COUNT}年(?:的?{words.OCCUPATION})?"
            rf"|(?:在|去|进|给)[^，]{{1,14}}{words.WORKPLACE}[^，]{{0,3}}(?:上班|工作|干|做|当|教|实习|任职|打工|开车|待|呆|搞|$)|在[^，]{{1,10}}(?:上班|工作|实习|任职|打工)|从事|自己(?:创业|开店|单干)|(?:开|经营)(?:了|着)?{words.BUSINESS}"
            rf"|跑(?:外卖|滴滴|运输|销售)|(?<![请别不])教(?:了|着)?[^，你我他]{{0,6}}(?:语文|数学|英语|物理|化学|历史|地理|体育|音乐|美术|书|学生|孩子|年级|初[一二三]|高[一二三]|钢琴|舞蹈|日语|中文)|带(?:初|高)[一二三]|(?:已经|都|前年|去年|今年|刚)?退休|(?:现在|目前|还在)?(?:失业|待业|全职在家|在家带孩子|做自媒体|自由职业)|研究(?!一下|下|研究)[\u4e00-\u9fff]{{2,8}}的?$|学[\u4e00-\u9fff]{{2,6}}的$|上夜班|三班倒|居家办公|远程(?:办公|上班|工作)",
        ),
        (
            "education",
            rf"(?:在读|读(?:书|研|博|大学|高中|初中|本科|硕士|博士|[大研高初][一二三四])|在[^，]{{2,12}}读(?:书|研|博|博士|硕士|本科)?|[大研高初][一二三四](?:了|$|在)|(?:上|读|念){_NUM}年级|{_NUM}年级(?:了|$)|毕业于|毕业的$|本科(?:是|学)|学的是|专业是|专业$|{_NUM}级(?:过|考过|通过)|(?:四|六|八)级过了|考研|备考)",
        ),
        ("learning", r"(?:在|正在|开始|想|最近在|一直在)学(?!校|生|习资料|会了)[\u4e00-\u9fffA-Za-z]{1,8}"),
        (
            "family",
            rf"(?:已婚|未婚|单身|离异|离了婚|丧偶|独生子|独生女|独生子女|结婚(?:{_COUNT}年|了)|订婚了|(?:谈|异地|恋爱)了?{_COUNT}年|异地|有(?:个|了|一个|两个|三个|俩|仨|一对|一儿一女|{_NUM}个)(?:[\u4e00-\u9fff]{{0,4}})(?:孩子|儿子|女儿|娃|哥哥|姐姐|弟弟|妹妹|对象|女朋友|男朋友|双胞胎|侄子|侄女|孙子|孙女|闺女)|一儿一女|二胎|怀孕|怀上|排行老?[大二三四五]|家里最[大小])",
        ),
        (
            "health",
            rf"{words.ILLNESS}|[ABO]{{1,2}}型血|{words.BODY}(?:一直|有点|不太|最近|特别|很|老|总|又)*(?:还)?{words.AILS}",
        ),
        (
            "diet",
            r"(?:不|不再|再也不|从来不|从不|不能|没法|已经不|早就不|不让|不许|不太|不怎么|不敢|很少|基本不)(?:再)?(?:吃|喝|碰|沾|抽)(?!亏|惊|苦|力|紧|不下|下饭)[\u4e00-\u9fff]{1,}|吃素|素食|戒(?:了)?(?:烟|酒|糖|咖啡|奶茶|肉)|戒掉|把[\u4e00-\u9fff]{1,6}戒了|忌口|只(?:吃|喝)|清真|不沾",
        ),
        (
            "skill",
            r"不(?:太|大|怎么)?会(?:开车|游泳|做饭|骑车|说|讲|用|喝酒|弹|打|英语|粤语)|(?:会|能)(?:说|讲|弹|拉|写)[\u4e00-\u9fff]{2,}|(?:说|讲)(?:一口|一点)[\u4e00-\u9fff]+|考了驾照|没驾照",
        ),
        (
            "pet",
            r"(?:家里?)?(?:养|收养|领养)(?:了|着|的)?(?:有)?(?:一|两|三|\d)?(?:只|条|个|缸|盆|匹)?[\u4e00-\u9fff]{0,4}(?:猫|狗|犬|鱼|龟|兔|鸟|鹦鹉|仓鼠|哈士奇|柯基|金毛|布偶|泰迪|宠物|橘)|是(?:一?只|一?条)[\u4e00-\u9fff]{0,5}(?:猫|狗|布偶|柯基|金毛|橘|犬|泰迪|哈士奇|兔|边牧)",
        ),
        (
            "hobby",
            r"(?:每天|每周|经常|常常?|平时|周末|一直|没事就?|下班后?)[^，]{0,6}(?:跑步|游泳|健身|打球|打篮球|打羽毛球|爬山|钓鱼|画画|看书|练字|跳舞|骑车|骑行|瑜伽|摄影|弹琴|做饭|烘焙|追剧|玩游戏|打游戏)|(?:弹|拉|吹|打)(?:了{0,1})(?:\S{0,3})(?:吉他|贝斯|钢琴|小提琴|二胡|笛子|鼓|古筝|琵琶|大提琴|篮球|羽毛球|乒乓球|网球|太极)",
        ),
        (
            "possession",
            r"(?:开|有|买)(?:的是|了|着)?(?:一)?(?:辆|台|套|部)(?!破)[\u4e00-\u9fffA-Za-z0-9]{1,10}(?:车|房|房子|汽车|摩托|电动车|特斯拉|相机|公寓)|没(?:有)?(?:车|房|驾照|孩子|兄弟姐妹)",
        ),
        ("phone", r"(?:电话|手机号?|微信号?|邮箱)(?:是|：)"),
    )
)
_ORIGIN_NOT: Final = re.compile(r"是(?:个|一个|位|最|那种|这种|很|挺|比较)")
_LIKE: Final = re.compile(words.PREDICATES_LIKE)
_DISLIKE: Final = re.compile(words.PREDICATES_DISLIKE)
_NOT_LIKE: Final = re.compile(
    r"(?:不|不太|不怎么|不大|没那么|并不|从来不|一点都?不|不是很|不是特别|不再|已经不|没(?:什么)?)(?:很|太|怎么)?(?:喜欢|爱|感兴趣|兴趣|习惯|乐意|愿意|想)"
)
_EMPTY_OBJECT: Final = re.compile(
    r"(?:喜欢|爱|讨厌|怕|烦|恨|嫌|受不了|害怕)(?:你|您|它|这个|那个|这样|那样|了|的|吗|死|我|人)?$|爱(?:好|人|情|上你|心|护|丽丝|尔兰|马仕)|怕(?:是|你)|可爱|恋爱|亲爱|相爱|做爱|麻烦|烦你|恨不得|不嫌"
)
_USED: Final = re.compile(r"以前|之前|原来|过去|曾经|小时候|从前")
_NOW: Final = re.compile(r"现在|如今|后来|居然|已经|却|反而")

_LISTENER: Final = r"(?:请|麻烦|拜托|以后|今后|往后|从现在开始|从今天起|从今往后|从现在起|下次|记得|记住|务必|尽量|最好|还有啊?|另外|对了|那个|你|您|都|就|能不能|可以|给我|跟我|和我|每次|还是|也|再|千万|一律|统一|全部|先)"
_MANNER: Final = re.compile(
    r"(?:回答|回复|回我|答复|说话|讲话|聊天|称呼|叫我|喊我|表情|中文|英文|英语|日语|法语|普通话|粤语|繁体|简体|语言|简短|简单(?:点|些)|简洁|详细|啰嗦|缩写|术语|格式|列表|列点|分点|表格|字以内|句话|客气|语气|废话|代码|公历|农历|单位|摄氏|链接|来源|出处|举例|例子|标点|感叹号|敬语|您|口语|书面|markdown|Markdown|emoji|道歉|套话|鸡汤|说教)"
)
_ORDER: Final = re.compile(
    rf"^(?:{_LISTENER}[,，\s]*)*(?:请|别|不要|不用|不必|少|多|用|叫我|喊我|称呼我|回答|回复|说|讲|尽量|控制|保持|直接|只|先用|给出|给我|写|改用|按|避免|禁止|不许|跟我说|帮我用)"
)
_STANDING: Final = re.compile(
    r"以后|今后|往后|从现在|从今|每次|一律|统一|永远|总是|下次|都|别|不要|不用|尽量|就行|就好|叫我|喊我|称呼"
)


_NO_EVENT: Final = frozenset({"diet", "health", "age", "family", "birthday", "phone", "name"})
"""Facts whose clause may look like news or a plan, and is not."""


def find(clause: Clause, *, to_machine: bool) -> Iterator[Finding]:
    """Yield what one clause tells. ``to_machine``: the listener is an assistant, who can be instructed."""
    if to_machine and clause.kind != OTHER and (found := _instruction(clause)):
        yield found
        return
    if clause.kind == THING:
        yield from _of_thing(clause)
        return
    taste = _taste(clause)
    event = _event(clause)
    facts = list(_facts(clause))
    if taste is not None:
        yield taste
        facts = [fact for fact in facts if fact.attribute in ("work", "home", "name", "age")]
    if event is not None and not any(fact.attribute in _NO_EVENT for fact in facts):
        # What one is about to become or to move to is not so yet.
        facts = [
            fact
            for fact in facts
            if not event.future
            and fact.attribute in ("home", "work", "origin", "pet")
            or fact.attribute in ("name", "learning")
        ]
        settled = any(fact.attribute == "home" for fact in facts) and not dated(clause.text)
        if taste is None and not settled:
            yield event
    yield from facts


def _instruction(clause: Clause) -> Finding | None:
    text = clause.rest if clause.kind != SELF else clause.text
    if re.search(r"提醒我", text):
        return Finding(EVENTS, "reminder", future=True)
    if (
        re.match(r"^(?:大家|朋友|同事|别人|他们|家里人|只有)", text)
        or clause.kind == SELF
        and not re.match(r"^(?:以后|今后|从现在)", text)
    ):
        return None
    if re.search(r"(?:叫|喊|称呼)我[\u4e00-\u9fffA-Za-z]{1,8}", text) and not re.search(
        r"叫我(?:去|来|做|别|不要|起床|吃)", text
    ):
        return Finding(PREFERENCES, "name")
    if _ORDER.match(text) and _MANNER.search(text) and _STANDING.search(clause.text):
        return Finding(PREFERENCES, "instruction")
    return None


def _facts(clause: Clause) -> Iterator[Finding]:
    if place := re.match(
        rf"(?P<whose>.*?是)(?P<place>{words.PLACE}的)(?P<what>[\u4e00-\u9fffA-Za-z]*{words.OCCUPATION})$", clause.text
    ):
        # One clause, two facts: each is to be replaced without the other.
        yield Finding(FACTS, "work", text=place["whose"] + place["what"])
        yield Finding(FACTS, "home", text=place["whose"] + place["place"])
        return
    for attribute, pattern in _FACTS:
        match = pattern.search(clause.rest)
        if match is None or not _sound(attribute, clause, match):
            continue
        former = attribute in ("home", "work") and (
            _denied(clause.rest, match) or (_USED.search(clause.text) and not _NOW.search(clause.text))
        )
        yield Finding(FACTS, f"former {attribute}" if former else attribute)


def _denied(rest: str, match: re.Match[str]) -> bool:
    near = rest[max(match.start() - 3, 0) : match.end() + 3]
    return negated(near) and not re.search(r"不到|不远|不错", near)


def _sound(attribute: str, clause: Clause, match: re.Match[str]) -> bool:
    if attribute == "origin":
        place = match.groupdict().get("place")
        return not (
            place
            and (
                place in words.NOT_PEOPLE
                or any(place.endswith(word) for word in words.NOT_PEOPLE)
                or _ORIGIN_NOT.search(clause.rest)
            )
        )
    if attribute == "health":
        return (
            not re.search(r"(?:没有?|不是|不)(?:任何)?(?:过敏|什么病)|养生|专家|医院$", clause.rest)
            or "过敏" in clause.rest
        )
    if attribute == "hobby":
        return not dated(clause.text)
    if attribute in ("skill", "learning", "possession"):
        return clause.kind != THING
    return True


def _taste(clause: Clause) -> Finding | None:
    rest = clause.rest
    if _EMPTY_OBJECT.search(rest):
        return None
    if re.search(r"宁愿|宁可|更倾向|首选", rest):
        return Finding(PREFERENCES, "like")
    if match := _NOT_LIKE.search(rest):
        if match.group().endswith("想") or re.match(r"不(?:愿意|想)", match.group()):
            return (
                None
                if len(rest) < 4 or not re.search(r"不想(?:生|要孩子|结婚)", rest)
                else Finding(PREFERENCES, "dislike")
            )
        return Finding(PREFERENCES, "dislike")
    if (match := _DISLIKE.search(rest)) and match.start() <= 8:
        turned = _USED.search(clause.text) and not _NOW.search(clause.text)
        return Finding(
            PREFERENCES, "former dislike" if turned else "like" if _before_negated(rest, match) else "dislike"
        )
    if (match := _LIKE.search(rest)) and match.start() <= 8 and len(rest) > match.end():
        turned = _USED.search(clause.text) and not _NOW.search(clause.text)
        return Finding(PREFERENCES, "former like" if turned else "like")
    if re.search(
        r"有点上瘾|上瘾了|是我的最爱|无辣不欢|只要有[^，]+就行|还是[^，]{1,8}(?:适合|好)$|适合我$", rest
    ) and not re.search(r"挺好$", rest):
        return Finding(PREFERENCES, "like")
    if re.match(
        r"^(?:一直|很|特别|真|好|也|都|还|最)*想(?:去|学|买|养|当|成为|开|看|考|做个?)(?!看|想|到)[\u4e00-\u9fff]{2,}",
        rest,
    ) and not dated(clause.text):
        return Finding(PREFERENCES, "wish")
    return None


def _before_negated(rest: str, match: re.Match[str]) -> bool:
    return re.search(r"(?:不|没那么|不再|不怎么)$", rest[: match.start()]) is not None


def _event(clause: Clause) -> Finding | None:
    rest = clause.rest
    when = dated(clause.text)
    if (
        re.search(r"每(?:天|周|年|个?月|逢)|经常|总是|平时|一般|天天|老是|常常", clause.text)
        or words.TRIFLES.search(rest)
        and not when
    ):
        return None
    if re.search(r"最近|这阵子|近来", clause.text) and not re.search(words.MILESTONE, rest):
        return None
    milestone = re.search(words.MILESTONE, rest)
    planned = re.search(words.PLANNED, rest)
    past = (
        re.search(r"[了过](?!年|头|来)|的$|总算|终于", rest) is not None
        or re.search(r"昨|前天|上(?:个?月|周|星期|礼拜)|去年|前年|刚", clause.text) is not None
    )
    ahead = (
        re.search(
            r"明[天年早晚日]|后天|下(?:个?月|周|星期|礼拜)|打算|准备|计划|马上|快要|即将|要(?!是|不)", clause.text
        )
        is not None
    )
    if negated(rest) and not re.search(r"不干了|不做了|没(?:想到)", rest):
        return None
    if when and (planned or milestone or past):
        return Finding(EVENTS, "plan" if ahead or not past else "event", future=ahead or not past)
    if milestone and past and not ahead:
        return Finding(EVENTS, "event")
    if re.match(r"^[^，]{0,4}(?:打算|准备|计划|决定)(?!好|得|充分)", rest) and len(rest) > 4:
        return Finding(EVENTS, "plan", future=True)
    if milestone and ahead:
        return Finding(EVENTS, "plan", future=True)
    if re.search(r"^(?:还|也)?(?:得|要|需要|必须)(?:去|看|交|办|买|换|还|写|给)", rest) and len(rest) > 4:
        return Finding(EVENTS, "plan", future=True)
    return None


def _of_thing(clause: Clause) -> Iterator[Finding]:
    if (
        dated(clause.text)
        and not negated(clause.text)
        and re.search(words.PLANNED, clause.text)
        and not re.match(r"^(?:你|您|大家|别人|谁)", clause.text)
    ):
        yield Finding(EVENTS, "plan", future=True)


__all__ = ["OTHER", "SELF", "find"]
