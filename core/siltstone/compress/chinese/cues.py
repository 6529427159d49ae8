"""What a Chinese sentence tells by the words in it, where no rule reads it: a town and a key, a firm and a payslip.

What stands beside is the same as in ``compress.english.cues``: a sentence of the speaker's own, of now.
"""

from __future__ import annotations

import re
from typing import Final

from ..relations import CHINESE_PATTERN
from ..statement import FACTS, PREFERENCES, Finding
from ..when import dated
from . import vocabulary as words

_ELSEWHERE: Final = re.compile(
    r"想|打算|准备|希望|考虑|如果|要是|也许|可能|将来|以后|明年|下个?月|下周|找工作|找房|看房|应聘|面试|投简历|曾经|以前|之前|小时候|从前"
    r"|当年|长大|出生|老家|出差|旅游|旅行|玩|酒店|民宿|宾馆|机票|飞|去过|来过|路过|开会|周末|度假|逛|电影|小说|游戏|新闻|比赛|不在|不住|没|离开(?!了?原)|他|她|你|您"
)
"""What makes a sentence one of another time, another person, or a wish."""
_OF_OTHERS: Final = re.compile(rf"(?:我|我们|咱)(?:家)?的?(?:{CHINESE_PATTERN})(?!们)")
_BESIDE: Final = re.compile(rf"(?:跟|和|与|同|带着?|陪)[^，]{{0,6}}(?:{CHINESE_PATTERN})(?:一起|一块儿?|合)?")
_OWN: Final = re.compile(r"我|咱|俺|本人")
_AT_HOME: Final = re.compile(
    r"房子|公寓|住房|新房|家|住|合租|租|搬|迁|邻居|房东|小区|户口|落户|定居|扎根|安顿|落脚|地址|钥匙|楼上|楼下|生活|换城市|房贷|门牌"
)
_TOWN: Final = re.compile(words.TOWN)
_FIRM: Final = (
    r"(?:(?!(?:我|你|他|她|这|那|家|公司|单位|学校|医院|一|份|好|哪|不|什么|很|更|自己|新|老|原|外|国外|网上|里面|今天|明天|现在|最近|那边|这边|下班|上班|周))"
    r"[\u4e00-\u9fffA-Za-z]{2,10}?)"
)
_HIRING: Final = re.compile(
    rf"在{_FIRM}的?(?:研发|市场|销售|财务|人事|行政|技术|产品|设计|客服|法务|运营|采购|质检|物流|生产|工程|测试|品牌|公关|硬件|软件)(?:部门?|组|团队|中心|岗)"
    rf"|{_FIRM}(?:已经|终于|刚)?(?:录用|聘用|聘请|雇用?|招聘?|挖)了?我|(?:离职|辞职|辞了职|跳槽|换了?(?:个|份)?新?工作)[^。]{{0,3}}[，,]?(?:就|然后|后|现在)?(?:去|到|进|加入)了?{_FIRM}了?[。！!]?$"
    rf"|加入了?{_FIRM}(?:公司|团队|集团)?了?[。！!]?$|(?:换到|转到|跳到|去了?|到了?|进了?|入职了?|报到)了?{_FIRM}(?:上班|工作|任职|报到|入职|打卡)了?"
    rf"|{_FIRM}(?:每月|每个月|现在|一直|按时)?(?:给|替|为)我(?:发|付|开|交|缴)(?:的|了)?(?:工资|薪水|薪资|[Oo]ffer|社保)"
    rf"|(?:拿到了?|接了|收到了?|签了){_FIRM}的?(?:[Oo]ffer|OFFER|录用|合同)[^。]*(?:上班|入职|去了|报到|签|接受)"
    rf"|(?:是|成了?|成为了?|做了){_FIRM}的(?:一?[名个位])?(?:正式)?(?:员工|职员|雇员|职工|一员|人)(?=了|[。！!，]|$)"
    rf"|(?:工牌|工位|东家|雇主|老板|工作单位|单位)(?:上|现在|目前|已经)?(?:写着|印着|换成了?|变成了?|是|在){_FIRM}"
    rf"|在{_FIRM}(?:找到|谋到|得到|有)了?(?:一份|份|个|一个)?(?:新)?(?:工作|差事|职位|岗位)"
)
_NO_FIRM: Final = re.compile(r"俱乐部|球队|战队|会员|群|社团|协会|合唱团|健身|班级|兴趣|学会|志愿|游戏|党|乐队|课")
_TOWN_AND_HOME: Final = re.compile(
    rf"(?:在|到|去|来|进|住|于)了?{words.TOWN}|{words.TOWN}(?:就|已经|现在)?(?:是|成了?|变成了?|当)[^，]{{0,6}}家|{words.TOWN}是我[^，]{{0,4}}住[^，]{{0,6}}(?:地方|城市)|(?:是|换成|选了){words.TOWN}"
)

_OBJECT: Final = (
    r"(?!你|您|它|他|她|我?[男女]朋友|我?[男女]友|我?对象|我?老[公婆]|[小老阿][\u4e00-\u9fff](?:分手|再见)"
    r"|这个|那个|自己)[^，。]{1,8}?"
)
_TASTES: Final = tuple(
    (attribute, re.compile(text))
    for attribute, text in (
        (
            "like",
            rf"(?:就|只|最|偏)好{_OBJECT}这一?口|是我的?(?:最爱|心头好|命根子|快乐源泉|续命)|一天不[喝吃]{_OBJECT}就",
        ),
        ("like", r"(?:没有?|少了)[^，]{1,6}(?:就)?(?:活不了|活不下去|不行|睡不着|没精神|浑身难受|吃不下饭?|不香)"),
        (
            "like",
            rf"馋{_OBJECT}|(?:喝|吃|听|看|玩){_OBJECT}(?:喝|吃|听|看|玩)?(?:上瘾|成瘾|停不下来)|对{_OBJECT}(?:很|特别|非常|十分)?(?:着迷|痴迷|上头|毫无抵抗力)",
        ),
        (
            "like",
            rf"最(?:喜欢|爱)的[^，]{{1,6}}(?:(?:就)?是|换成|改成|变成|成了|变为|改为)了?{_OBJECT}$|(?:每天|天天)(?:都)?(?:要|得|必须)?来(?:一)?[杯瓶罐口]{_OBJECT}",
        ),
        (
            "dislike",
            r"(?:喝|吃|看|听|玩)(?:得|到)?(?:腻|伤|够|怕|烦)了?|[^，我都也]{2,}(?:都|也|我|现在|已经|再也|一口|一点|实在)*(?:喝|吃|看|听)不(?:下去?|进去?|惯)了?$",
        ),
        (
            "dislike",
            r"(?:看|闻|听|想|提|碰)(?:到|见|起|着)[^，]{1,8}就(?:想吐|恶心|反胃|犯恶心|头疼|头大|烦|难受|倒胃口)",
        ),
        ("dislike", r"(?:再也|已经|现在|如今)?(?:不|一点都?不|碰都不|再不)想(?:再)?(?:喝|吃|碰|沾|听|看见|看到)"),
        (
            "dislike",
            rf"(?:跟|和|对|与|向){_OBJECT}(?:说)?(?:再见|拜拜|分手|告别|绝缘|无缘|敬而远之|没(?:什么)?(?:感觉|兴趣|胃口|感情)|无感|不感冒|提不起(?:兴趣|劲))",
        ),
        (
            "dislike",
            rf"{_OBJECT}(?:对我)?(?:已经|现在)?(?:不香|没(?:有)?吸引力|失去(?:了)?吸引力|难以下咽|难喝|难吃)了?$|{_OBJECT}(?:让|令|使)我(?:反感|恶心|反胃|难受|头疼|厌烦)",
        ),
    )
)
_ATE: Final = re.compile(
    r"(?:天天|每天|每顿|餐餐|顿顿|三餐|每餐|一日三餐)(?:都|得|要|必须|必|少不了|离不了|离不开|有|吃){1,4}[^，]{0,4}[肉鱼鸡鸭牛羊猪荤]"
    r"|吃(?:很多|不少|大量|特别多|好多)的?[肉鱼鸡鸭牛羊猪]|(?:是|就是)(?:个|一个|典型的?)*(?:肉食(?:动物|者|主义者)|素食(?:者|主义者)|食肉动物|肉食性)|(?:吃|改吃|转吃)(?:全|纯|长|斋)?素"
    r"|只吃[^，]{0,8}(?:菜|素|豆|植物)|(?:荤|肉|鱼)[^，]{0,4}(?:不碰|不沾|不吃|戒|免了)|远离[肉荤鱼]|告别[肉荤]|肉食?(?:从|已)?[^，]{0,4}(?:餐桌|菜单|食谱)[^，]{0,3}消失"
)
_REACTS: Final = re.compile(
    r"(?:起|长|出)(?:满|了|一身)?(?:疹子|红疹|红点|风团|荨麻疹|包)|浑身(?:发?痒|起)|发痒|过敏|喉咙(?:会)?(?:发?[肿紧痒])|嘴唇?(?:会)?肿|脸(?:会|就)?肿|(?:进|送|去)(?:急诊|医院)|喘不过气|呼吸困难|休克"
)
_CAUSE: Final = re.compile(r"(?:一?(?:吃|碰|沾|闻|喝|摸)(?:到|了|点|口)?)[^，你他她]{1,6}|(?:让|令|使|害)我")
_NOT_EATEN: Final = re.compile(r"想|打算|准备|如果|以前|你|他|她")
_ONCE: Final = re.compile(r"昨|上次|他|她|你|如果")


def find(sentence: str) -> Finding | None:
    """Return what a sentence of the speaker's, which nothing else has read, tells by its words."""
    if not _OWN.search(sentence) or _OF_OTHERS.search(_BESIDE.sub("", sentence)):
        return None
    if _ATE.search(sentence) and not _NOT_EATEN.search(sentence):
        return Finding(FACTS, "diet")
    if _REACTS.search(sentence) and _CAUSE.search(sentence) and not _ONCE.search(sentence):
        return Finding(FACTS, "health")
    if _ELSEWHERE.search(sentence):
        return None
    if _HIRING.search(sentence) and not _NO_FIRM.search(sentence):
        return Finding(FACTS, "work")
    if _AT_HOME.search(sentence) and _TOWN.search(sentence) and _TOWN_AND_HOME.search(sentence):
        return Finding(FACTS, "home")
    return None


def taste(clause: str) -> Finding | None:
    """Return the like or dislike in a clause that puts it without a verb of liking: 我就好啤酒这一口."""
    found = next((attribute for attribute, one in _TASTES if one.search(clause)), None)
    return Finding(PREFERENCES, found) if found and not dated(clause) else None
