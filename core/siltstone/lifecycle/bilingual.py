"""What goes by a name in English and another in Chinese: food, pastimes, animals, places, employers. A table.

Rules compare words, and two languages share none: by this table "I like coffee" and 我不再喝咖啡了 are about one thing.
What is not in it is not known to be the same; a model can be asked (``Settings.judge``).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from ..text.tokenize import terms

_TABLE: Final = """
coffee 咖啡|green tea 绿茶|black tea 红茶|milk tea 奶茶|bubble tea 奶茶|tea 茶|milk 牛奶|beer 啤酒|red wine 红酒
wine 葡萄酒|alcohol 酒|juice 果汁|coke 可乐|cola 可乐|soda 汽水|water 水|meat 肉|beef 牛肉|pork 猪肉|lamb 羊肉
chicken 鸡肉|fish 鱼|seafood 海鲜|shellfish 贝类|shrimp 虾|crab 螃蟹|egg 鸡蛋|tofu 豆腐|rice 米饭|noodles 面条
dumplings 饺子|bread 面包|cheese 奶酪|butter 黄油|chocolate 巧克力|ice cream 冰淇淋|cake 蛋糕|candy 糖果|sweets 甜食
dessert 甜点|sugar 糖|honey 蜂蜜|spicy food 辣|hot pot 火锅|hotpot 火锅|pizza 披萨|sushi 寿司|steak 牛排|soup 汤
salad 沙拉|vegetables 蔬菜|fruit 水果|apples 苹果|bananas 香蕉|oranges 橙子|mango 芒果|strawberries 草莓|grapes 葡萄
watermelon 西瓜|durian 榴莲|peanuts 花生|nuts 坚果|mushrooms 蘑菇|tomatoes 番茄|potatoes 土豆|onions 洋葱
garlic 大蒜|ginger 姜|coriander 香菜|cilantro 香菜|olives 橄榄|smoking 抽烟|smoking 吸烟|cigarettes 烟|running 跑步
jogging 慢跑|swimming 游泳|hiking 徒步|climbing 攀岩|cycling 骑车|cycling 骑行|skiing 滑雪|skating 滑冰|surfing 冲浪
yoga 瑜伽|basketball 篮球|football 足球|soccer 足球|volleyball 排球|tennis 网球|badminton 羽毛球|table tennis 乒乓球
golf 高尔夫|chess 国际象棋|fishing 钓鱼|camping 露营|gardening 园艺|cooking 做饭|baking 烘焙|painting 画画
drawing 画画|photography 摄影|pottery 陶艺|knitting 编织|dancing 跳舞|singing 唱歌|travelling 旅行|traveling 旅行
reading 看书|reading 阅读|movies 电影|films 电影|horror films 恐怖片|horror movies 恐怖片|jazz 爵士乐
classical music 古典音乐|rock music 摇滚乐|opera 歌剧|music 音乐|piano 钢琴|violin 小提琴|guitar 吉他
video games 游戏|dog 狗|cat 猫|rabbit 兔子|hamster 仓鼠|parrot 鹦鹉|tortoise 乌龟|spiders 蜘蛛|snakes 蛇
bicycle 自行车|bike 自行车|car 车|motorbike 摩托车|pollen 花粉|penicillin 青霉素|dust 灰尘|lactose 乳糖|gluten 麸质
beijing 北京|shanghai 上海|tianjin 天津|chongqing 重庆|shenzhen 深圳|guangzhou 广州|hangzhou 杭州|nanjing 南京
suzhou 苏州|wuxi 无锡|ningbo 宁波|hefei 合肥|fuzhou 福州|xiamen 厦门|nanchang 南昌|jinan 济南|qingdao 青岛
zhengzhou 郑州|wuhan 武汉|changsha 长沙|dongguan 东莞|foshan 佛山|zhuhai 珠海|nanning 南宁|guilin 桂林|haikou 海口
sanya 三亚|chengdu 成都|guiyang 贵阳|kunming 昆明|lhasa 拉萨|xi'an 西安|xian 西安|lanzhou 兰州|urumqi 乌鲁木齐
shenyang 沈阳|dalian 大连|changchun 长春|harbin 哈尔滨|taiyuan 太原|hong kong 香港|macau 澳门|taipei 台北|tokyo 东京
osaka 大阪|kyoto 京都|seoul 首尔|singapore 新加坡|kuala lumpur 吉隆坡|bangkok 曼谷|new york 纽约
san francisco 旧金山|los angeles 洛杉矶|seattle 西雅图|boston 波士顿|chicago 芝加哥|toronto 多伦多|vancouver 温哥华
london 伦敦|manchester 曼彻斯特|paris 巴黎|lyon 里昂|berlin 柏林|munich 慕尼黑|hamburg 汉堡|frankfurt 法兰克福
vienna 维也纳|zurich 苏黎世|geneva 日内瓦|amsterdam 阿姆斯特丹|brussels 布鲁塞尔|copenhagen 哥本哈根
stockholm 斯德哥尔摩|oslo 奥斯陆|helsinki 赫尔辛基|madrid 马德里|barcelona 巴塞罗那|lisbon 里斯本|porto 波尔图
rome 罗马|milan 米兰|venice 威尼斯|florence 佛罗伦萨|athens 雅典|prague 布拉格|warsaw 华沙|budapest 布达佩斯
moscow 莫斯科|dublin 都柏林|edinburgh 爱丁堡|sydney 悉尼|melbourne 墨尔本|auckland 奥克兰|dubai 迪拜
istanbul 伊斯坦布尔|cairo 开罗|china 中国|japan 日本|korea 韩国|germany 德国|france 法国|england 英国|america 美国
canada 加拿大|australia 澳大利亚|italy 意大利|spain 西班牙|siemens 西门子|bosch 博世|huawei 华为|google 谷歌
microsoft 微软|apple 苹果公司|amazon 亚马逊|tencent 腾讯|alibaba 阿里巴巴|alibaba 阿里|baidu 百度|bytedance 字节跳动
bytedance 字节|xiaomi 小米|meituan 美团|volkswagen 大众|toyota 丰田|tesla 特斯拉|samsung 三星|intel 英特尔
deloitte 德勤|nurse 护士|doctor 医生|teacher 老师|teacher 教师|engineer 工程师|lawyer 律师|accountant 会计
designer 设计师|programmer 程序员|chef 厨师|driver 司机
"""


def _known() -> tuple[dict[str, frozenset[str]], dict[tuple[str, ...], frozenset[str]]]:
    chinese: dict[str, set[str]] = {}
    english: dict[tuple[str, ...], frozenset[str]] = {}
    for entry in re.split(r"[|\n]", _TABLE.strip()):
        name, _, written = entry.rpartition(" ")
        stems = tuple(terms(name))
        chinese.setdefault(written, set()).add(" ".join(stems))
        english[stems] = frozenset([written])
    return {written: frozenset(names) for written, names in chinese.items()}, english


_CHINESE, _ENGLISH = _known()
_WRITTEN: Final = re.compile("|".join(sorted(map(re.escape, _CHINESE), key=len, reverse=True)))
_LONGEST: Final = max(map(len, _ENGLISH))


@lru_cache(8192)
def things(text: str) -> frozenset[str]:
    """Return what a text names that the table knows, in Chinese words; of names within names the longest."""
    found = set(_WRITTEN.findall(text))
    stems = terms(text)
    at = 0
    while at < len(stems):
        size = next((n for n in range(_LONGEST, 0, -1) if tuple(stems[at : at + n]) in _ENGLISH), 0)
        if size:
            found |= _ENGLISH[tuple(stems[at : at + size])]
        at += size or 1
    return frozenset(found)
