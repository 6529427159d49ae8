"""Lasting facts in a Chinese clause: name, work, home, family, health, habits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..modality import negated
from ..statement import FACTS, NOBODY, SELF, Finding
from ..when import dated
from . import vocabulary as words
from .clauses import Clause

NUMBER: Final = r"(?:\d{1,3}|[一二三四五六七八九十两]{1,3})"
_COUNT: Final = rf"(?:{NUMBER}|半|好几|几|快|多)+"
_DOES: Final = r"(?:做|搞|干|教|研究|卖|开|修|写|画|拍|跑|送|种|拉|管|带|弄|玩)"

_RULES: Final[tuple[tuple[str, str], ...]] = (
    (
        "name",
        r"^(?:的?(?:名字|大名|小名|英文名|网名))?(?:就?叫|名叫|叫做|姓)(?!我|你|他|她|外卖|车|醒|苦|做法"
        r"|的)[\u4e00-\u9fffA-Za-z ]{1,12}$"
        r"|(?:名字|小名|大名|英文名)(?:是|叫)",
    ),
    (
        "age",
        rf"(?:今年|都|已经|快|才|刚|刚满|虚岁|马上)*{_COUNT}岁(?!的时候|那年|时|生日)|(?:今年|都|已经|快"
        rf"|才)+(?:才|刚)?{_COUNT}了?$"
        r"|^(?:我都|我)?[二三四五六七八九]十[一二三四五六七八九]?了$|[6-9]\d后|[05]0后|属(?:鼠|牛|虎|兔|龙|蛇"
        r"|马|羊|猴|鸡|狗|猪)",
    ),
    (
        "birthday",
        r"生日(?:是|在)(?=[\d一二三四五六七八九十农阴阳腊正]|每年)|出生(?:于|在)|生于"
        r"|[\d一二三四五六七八九〇零]{2,4}年(?:出)?生(?:的|人|$)",
    ),
    (
        "home",
        rf"(?:^|就|都|还|老|一直|开始|长期|常年|早就|已经|暂时|现在|目前|如今|自己|一个人|租)住(?!(?:下来?|进去?来?|好|满|惯|习惯)?了?$|院|了一?晚|手|嘴|宿费|的地方|得)|住在|(?:在|定居"
        rf"|居住|租房|租在|落户|生活在)[^，]{{0,4}}{words.TOWN}"
        rf"(?:住|生活|定居|这边|那边|租房|租的房|买了?房|安了?家|安顿|落户|落脚|扎根|{_COUNT}年|待了|呆了)|(?<![老大人])(?:家|房子"
        rf"|新家|公寓)(?:就)?(?:在|离)|^家住|我家住|坐标{words.PLACE}"
        rf"|base{words.PLACE}|搬家?(?:到|来|去|回|进)了?(?!一起)[\u4e00-\u9fff]{{2,}}|^人?(?:现在|目前|如今|已经"
        rf"|就)*在{words.TOWN}(?:这边|呢|了)?$"
        rf"|(?:定居|落户|落脚|安家|扎根|移居|迁居|旅居|常住|长住|现住|租住|合租|迁到|迁往|迁至|生活在|居住在)(?:在|于|到|了)*{words.TOWN}"
        rf"|(?:定居|移居|迁居|旅居|常住|长住|现住|迁到|迁往|迁至)(?:在|于|到|了)*(?!这|那|哪|一)[\u4e00-\u9fff]{{2,6}}$"
        rf"|{words.TOWN}的?新?(?:房子|家|公寓)[^，]{{0,4}}(?:住|搬)进|{words.TOWN}[^，]{{0,3}}是我[^，]{{0,4}}(?<!东)(?<!老)家乡?$"
        rf"|不住(?![院校宿])[\u4e00-\u9fff]{{2,6}}(?:了|$)|在{words.PLACE}[^，]{{0,3}}(?:厨房|房子|出租屋|公寓|家里)|(?:房子"
        rf"|家).{{0,8}}在{words.PLACE}|是{words.TOWN}的?(?:居民|市民|住户|常住人口)|(?:我就是|就是|是){words.TOWN}人了",
    ),
    (
        "origin",
        rf"是(?!不是)(?:地道的?|土生土长的?)?(?P<place>[\u4e00-\u9fff]{{2,5}})人$|老家(?:就)?(?:在|是)|来自|籍贯"
        rf"|{words.PLACE}人$|从小在|在[^，]{{2,6}}长大",
    ),
    (
        "work",
        r"我?(?:现在|目前|如今)?的?(?:新|现)?(?:东家|雇主|工作单位|单位|(?<=新)工作)(?:就)?(?:是|叫|在)[\u4e00-\u9fffA-Za-z]{2,}"
        r"|(?:是|成了?|成为了?)[^，]{2,10}的一?[名个位](?:正式)?(?:员工|职员|雇员|职工|一员)$"
        r"|^(?:我们?家?)?的?新?公司(?:就)?(?:是|叫)(?!做|搞|一|个|家|在|不|干|卖|那|这|国企|外企|私企|央企|什么)[\u4e00-\u9fffA-Za-z]{2,10}$"
        rf"|给(?!我|你|他|她|自己)[^，]{{2,8}}(?:打工|干活|卖命|做事)|在(?!家|外|这|那)[^，]{{2,10}}做(?:研究|研发|销售|开发|设计|市场|财务|运营|客服|管理|技术|产品|质检|采购|人事|行政)"
        rf"|在(?!家|外|这|那)[^，]{{2,10}}干(?:了{_COUNT}年)?了?$"
        r"|是我(?:现在|目前|如今)?的?新?(?:东家|雇主|单位|公司)$|是[^，]{2,10}的(?:正式)?(?:员工|职员|雇员|职工)$"
        rf"|不在[^，]{{1,10}}(?:干|做|待|呆|上班|工作)了|(?:职业|本职|工作|岗位)(?:就|也)?是[^，不]{{0,6}}{words.OCCUPATION}"
        r"|(?:就职|任职|供职|受雇)于|(?:辞职|离职|跳槽)[后了就]*(?:去|到|进|加入)了?(?![旅玩休外医])[^，]{2,8}"
        rf"|(?:(?<!应该)是|当(?:了|过)?|做(?:了|过|的是)?|干(?:了|过|的是)?|担任|任|成了|转行做?"
        rf"|从事)[^，不]{{0,10}}{words.OCCUPATION}(?:的|了|{_COUNT}年|工作|$)"
        rf"|(?:做|干)了?{_COUNT}年(?:的?{words.OCCUPATION})?"
        rf"|在[^，]{{0,14}}{words.WORKPLACE}[^，]{{0,3}}(?:上班|工作|干|做|当|教|实习|任职|打工|开车|待|呆|搞"
        rf"|$)"
        rf"|(?:给(?!我|你)|进了?)[^，]{{1,14}}{words.WORKPLACE}[^，]{{0,3}}(?:上班|工作|干|当|开车|打工|$)"
        rf"|在[^，]{{1,10}}(?:上班|工作|实习|任职|打工)|(?:公司|单位|学校|医院)(?:就)?在[\u4e00-\u9fff]{{2,}}"
        rf"|(?:转|调|跳槽|升)到[^，]{{1,8}}(?:部|组|公司|岗|科|处)|从事|自己(?:创业|开店|单干)"
        rf"|(?:开|经营)(?:了|着)?{words.BUSINESS}|跑(?:外卖|滴滴|运输|销售)|带(?:初|高)[一二三]"
        r"|(?<![请别不])教(?:了|着)?[^，你我他]{0,6}(?:语文|数学|英语|物理|化学|历史|地理|体育|音乐|美术|书"
        r"|学生|孩子|年级|初[一二三]|高[一二三]|钢琴|舞蹈|日语|中文|象棋|围棋)"
        rf"|(?:已经|都|前年|去年|今年|刚)?退休|(?:现在|目前|还在)?(?:失业|待业|全职在家|在家带孩子|做自媒体"
        rf"|自由职业)|(?<!应该)(?<!部分)(?<!可能)是{_DOES}(?!什么|啥|我|你)[^，]{{1,10}}的$"
        rf"|在[^，]{{1,8}}(?:卖|修|教|摆摊|开店)[^，]{{0,6}}的?$|研究(?!一下|下"
        rf"|研究)[\u4e00-\u9fff]{{2,8}}的?$|学[\u4e00-\u9fff]{{2,6}}的$|上夜班|三班倒|居家办公|远程(?:办公|上班"
        rf"|工作)",
    ),
    (
        "education",
        rf"在读|读(?:书|研|博|大学|高中|初中|本科|硕士|博士|[大研高初][一二三四])|在[^，]{{2,12}}读(?:书|研|博"
        rf"|博士|硕士|本科)?|[大研高初][一二三四](?:了|$|在)"
        rf"|(?:上|读|念){NUMBER}年级|{NUMBER}年级(?:了|$)|是学[^，]{1, 6}的$|毕业于|毕业的$|本科(?:是|学)|学的是"
        rf"|专业是|专业$"
        rf"|{NUMBER}级(?:过|考过|通过)|(?:四|六|八)级过了|考研|备考",
    ),
    ("learning", r"(?:在|正在|开始|想|最近在|一直在)学(?!校|生|习资料|会了)[\u4e00-\u9fffA-Za-z]{1,8}"),
    (
        "family",
        rf"已婚|没(?:有)?结婚|未婚(?![夫妻])|单身|离异|离了婚|丧偶|独生子|独生女|结婚(?:{_COUNT}年|了)|订婚了"
        rf"|(?:谈|异地"
        rf"|恋爱)了?{_COUNT}年|异地|双胞胎|一儿一女|二胎|怀孕|怀上"
        rf"|有(?:个|了|一个|两个|三个|俩|仨|一对|{NUMBER}个)(?:[\u4e00-\u9fff]{{0,4}})(?:孩子|儿子|女儿|娃|哥哥"
        rf"|姐姐|弟弟|妹妹|对象|女朋友|男朋友|侄子|侄女|孙子|孙女|闺女)"
        r"|排行老?[大二三四五]|家里最[大小]|不想(?:生|要孩子|结婚)|丁克",
    ),
    (
        "health",
        rf"{words.ILLNESS}|^(?:少|多|别|不要|忌)(?:吃|喝|抽|熬夜|运动|碰)|[ABO]{{1,2}}型血|{words.BODY}(?:一直"
        rf"|有点|不太|最近|特别|很|老|总"
        rf"|又)*(?:还)?{words.AILS}",
    ),
    (
        "diet",
        r"(?:不|不再|再也不|从来不|从不|不能|不太能|没法|已经不|早就不|不让|不许|不太|不怎么|不敢|很少|基本不"
        r"|是不)(?:再)?(?:吃|喝|碰|沾|抽)(?!亏|惊|苦|力|紧|不下|下饭|东西)[\u4e00-\u9fff]"
        r"|吃素|素食|戒(?:了)?(?:烟|酒|糖|咖啡|奶茶|肉)|[烟酒糖肉茶]都戒了|戒掉|把[\u4e00-\u9fff]{1,6}戒了"
        r"|(?:又|重新|现在)(?:开始)?(?:能)?(?:吃|喝|抽)(?:上|起)?(?![了多撑饱完饭药早午晚亏到错得不])[\u4e00-\u9fff]{1,4}了$"
        r"|(?:每天|天天|每顿|餐餐|顿顿|每餐|三餐)(?:都|得|要|必须|只|光|爱){0,3}(?:喝|吃|抽)(?!饭|药|早|午|晚|食堂|什么|得|完)|每天[^，]{0,4}(?:喝|吃|抽)|^(?:也|还|以前|一直|偶尔)?抽烟|^[^，]{0,6}戒了$|(?:又|重新)开始(?:吃|喝"
        r"|抽)|忌口|只(?:吃|喝)|清真|不沾"
        r"|酒我?是?不喝"
        r"|[肉鱼海鲜酒烟](?:我)?(?:都)?不(?:吃|喝|抽)",
    ),
    (
        "skill",
        rf"(?<!机)(?<!社)(?:会|学会了?)(?:{words.SKILL})(?![去来过到回送接给的时陪])|不(?:太|大|怎么)?会(?:说|讲|用|喝酒|弹|打|英语|粤语)"
        r"|(?:会|能)(?:说|讲|弹|拉|写)[\u4e00-\u9fff]{2,}|(?:说|讲)(?:一口|一点)[\u4e00-\u9fff]+|考了驾照|没驾照"
        r"|(?:开不了车|游不了泳|做不了饭|骑不了车|唱不了歌|跳不了舞|滑不了[雪冰]|[弹拉吹打说]不了[\u4e00-\u9fff]{2,4})",
    ),
    (
        "trait",
        r"路痴|脸盲|左撇子|社恐|内向|外向|强迫症|选择困难|夜猫子|起床困难|急性子|慢性子|完美主义|恐高|晕车"
        r"|晕血|晕针",
    ),
    (
        "pet",
        r"(?:家里?)?(?:(?:养|收养|领养)(?:了|着|的)?(?:有)?(?:一|两|三|\d)?(?:只|条|个|缸|盆|匹)?|有(?:一|两|三|\d)?(?:只|条|匹))[\u4e00-\u9fff]{0,4}(?:猫|狗|犬|鱼|龟|兔|鸟|鹦鹉|仓鼠|哈士奇|柯基|金毛|布偶|泰迪|宠物|橘)"
        r"|给[^，]{0,6}(?:猫|狗|犬|兔|鹦鹉|仓鼠|龟)咪?[起取]了?个?名|是我们?家?的?(?:小)?(?:猫|狗|犬|兔子|鹦鹉|仓鼠|乌龟|宠物)咪?$|是(?:一?只|一?条)[\u4e00-\u9fff]{0,5}(?:猫|狗|布偶|柯基|金毛|橘|犬|泰迪|哈士奇|兔|边牧)",
    ),
    (
        "hobby",
        r"(?:每天|每周|经常|常常?|平时|周末|一直|没事就?|下班后?)[^，]{0,6}(?:跑步|游泳|健身|打球|打篮球"
        r"|打羽毛球|爬山|钓鱼|画画|看书|练字|跳舞|骑车|骑行|瑜伽|摄影|弹琴|做饭|烘焙|追剧|玩游戏|打游戏|冲浪"
        r"|滑雪)"
        r"|(?:弹|拉|吹|打)(?:\S{0,3})(?:吉他|贝斯|钢琴|小提琴|大提琴|二胡|笛子|鼓|古筝|琵琶|口琴|篮球|羽毛球"
        r"|乒乓球|网球|太极)|是(?:骑|玩|打|练)[^，]{1,6}的$|^练[\u4e00-\u9fff]{1,5}的$",
    ),
    (
        "possession",
        r"(?:开|有|买)(?:的是|了|着)?(?:一)?(?:辆|台|套|部)(?!破)[\u4e00-\u9fffA-Za-z0-9]{1,10}(?:车|房|房子"
        r"|汽车|摩托|电动车|特斯拉|相机|公寓)|(?:一直|都|改)用[^，]{1,8}(?:手机|电脑|平板|相机)|没(?:有)?(?:车|房"
        r"|驾照|孩子|兄弟姐妹)",
    ),
    ("income", r"月薪|年薪|工资(?:是|有|大概)|时薪"),
    ("email", r"(?:邮箱|邮件地址|电子邮件)(?:地址)?(?:现在|已经|就)?(?:是|：|[换改变]成了?)"),
    (
        "phone",
        r"(?:电话|手机|微信)(?:号码?)?(?:现在|已经|就)?(?:是|：|[换改变]成了?)|新号码?(?:是|：)",
    ),
)
_PATTERNS: Final = tuple((attribute, re.compile(pattern)) for attribute, pattern in _RULES)
_SKILL: Final = re.compile(rf"会(?:{words.SKILL})|[开弹拉打]不了")
_SPLIT: Final = re.compile(
    rf"(?P<whose>.*?是)(?P<place>{words.PLACE}的)(?P<what>[\u4e00-\u9fffA-Za-z]*{words.OCCUPATION})$"
)
_NO_ORIGIN: Final = re.compile(r"不欢|是(?:个|一个|位|最|那种|这种|很|挺|比较)")
_HEALTHY: Final = re.compile(r"(?:没有?|不是|不)(?:任何)?(?:过敏|什么病)|养生|专家|医院$")
_HABITUAL_PLACE: Final = re.compile(r"常去|那家|附近|门口|楼下|路过")
_SOUGHT: Final = re.compile(r"(?:想要?|打算|准备|希望|考虑|计划)[^，]{0,2}$")
_WISHED: Final = re.compile(r"(?:不?想|打算|准备|希望|考虑)(?:再)?(?:做|当|转行|干)")
USED: Final = re.compile(r"以前|之前|原来|过去|曾经|小时候|从前(?!台|门|面)")
NOW: Final = re.compile(r"现在|如今|后来|居然|已经|却|反而")


def find(clause: Clause) -> Iterator[Finding]:
    """Yield the facts that a clause tells about a person, one for each attribute."""
    if place := _SPLIT.match(clause.text):
        # One clause, two facts: each is to be replaced without the other.
        yield Finding(FACTS, "work", text=place["whose"] + place["what"])
        yield Finding(FACTS, "home", text=place["whose"] + place["place"])
        return
    for attribute, pattern in _PATTERNS:
        match = pattern.search(clause.rest)
        if match is None or not _sound(attribute, clause, match):
            continue
        if attribute in ("work", "hobby") and _SKILL.search(clause.rest):  # 我会开车 tells of no driver
            continue
        past = USED.search(clause.text) and not NOW.search(clause.text)
        former = (attribute in ("home", "work") and (_denied(clause.rest, match) or past)) or (
            past and attribute in ("diet", "hobby", "education")
        )
        yield Finding(FACTS, f"former {attribute}" if former else attribute)


def _denied(rest: str, match: re.Match[str]) -> bool:
    near = rest[max(match.start() - 3, 0) : match.end()]
    return negated(near) and not re.search(r"不到|不远|不错|不加班", near)


def _sound(attribute: str, clause: Clause, match: re.Match[str]) -> bool:
    if attribute == "origin":
        place = match.groupdict().get("place")
        if place is None:
            return True
        return not any(place.endswith(word) for word in words.NOT_PEOPLE) and not _NO_ORIGIN.search(clause.rest)
    if attribute == "health":
        return "过敏" in clause.rest or not _HEALTHY.search(clause.rest)
    if attribute in ("hobby", "skill"):
        return not dated(clause.text)
    if attribute == "home":
        if _SOUGHT.search(clause.rest[: match.start()]):
            return False
        return clause.kind in (SELF, NOBODY) or not match.group().startswith("在")
    if attribute == "work":
        return not _WISHED.search(clause.rest) and not _HABITUAL_PLACE.search(match.group())
    return True
