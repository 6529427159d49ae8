"""What statements of taste and diet are about, and which side they take. Pure.

"A cold beer is heaven" and "I've gone off beer" leave beer, once what is said of it is taken away.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from ..compress.lexicon import words_of
from ..text.language import script
from ..text.tokenize import terms
from .bilingual import things
from .likeness import abstains, content, same, same_things, words

_REMEMBERED: Final = 8192  # statements: each is compared with every other of its topic
_TASTE_EN: Final = frozenset(
    term
    for word in words_of(
        "addict lover fan junkie buff person taste tastes tasted smell smells sight thought appetite",
        "craving crave interest lost lose losing go gone off over done through sick tired",
        "weary fed bored find found revolting disgusting disgusts gross awful horrible terrible vile foul",
        "part ways company broke break up days behind bear stomach tolerate face food favourite",
        "fond keen crazy mad obsessed hooked passionate passion adore relish cherish savour soft spot",
        "weakness beat beats nothing huge big hopeless great cold hot good evening morning every",
        "cup cups glass a day look forward best most thing pleasure joy comfort enough",
        "fill had bliss heaven pure make makes me sad happy anything does do much",
        "well long all time way more than other without live survive function need must",
        "always ever appeal charm",
    )
    for term in terms(word)
)
_TASTE_ZH: Final = re.compile(
    r"最爱|心头好|喜好|好(?=[^，]{1,6}这一?口)|这一?口|一?口都?|离不|舒服|上瘾|着迷|迷恋|痴迷|成瘾|腻|伤|够|反胃|想吐|恶心|难受|感觉|胃口|感冒|"
    r"提不起|闻到|看到|想到|一想|一看|一闻|碰|沾|每天|天天|来杯|来一?[杯瓶罐]|杯|瓶|罐|饮料|食物|东西|想|再也|已经|告别|拜拜|再见|没|下|是|我的|就|才"
)
_PLANTS: Final = re.compile(
    r"\b(?:vegetarian|vegan|plant[- ]based|veggie|herbivore)\b|吃[全纯长]?素|素食|只吃[^，。]{0,8}(?:菜|豆|植物)"
    r"|\bonly eat (?:\w+ )?(?:plants|vegetables|veg|veggies)\b|\b(?:meat|fish)[- ]free\b",
    re.IGNORECASE,
)
_MEAT: Final = re.compile(
    r"\b(?:meat|beef|pork|chicken|fish|steak|lamb|bacon|sausages?|burgers?|turkey|ham|carnivore)\b"
    r"|[肉荤]|[鱼鸡鸭牛羊猪](?![奶油蛋尾毛]|角包|角尖)",
    re.IGNORECASE,
)
_ALL_MEAT: Final = re.compile(r"(?<!red )\b(?:meat|animals?)\b|(?<![牛猪羊鸡鱼鸭鹅驴狗马兔红肥])肉|荤", re.IGNORECASE)
"""Who denies this eats plants; who eats no fish may well eat beef."""


def same_taste(one: str, other: str) -> bool:
    """Return whether two statements of taste are about the same: what they say of it is left aside."""
    if same_things(one, other):
        return True
    if script(one) != script(other):
        return False
    mine, its = _tasted(one), _tasted(other)
    return (bool(things(one)) and things(one) == things(other)) or (bool(mine) and bool(its) and same(mine, its))


@lru_cache(_REMEMBERED)
def _tasted(text: str) -> frozenset[str]:
    """Return the terms of what a statement of taste is about."""
    if script(text) == "han":
        return content(_TASTE_ZH.sub(" ", text))
    return words(text) - _TASTE_EN


@lru_cache(_REMEMBERED)
def stance(text: str) -> str | None:
    """Return ``"plants"`` or ``"meat"`` for a statement of whether somebody eats animals, ``None`` for another one."""
    denied = abstains(text)
    if _PLANTS.search(text):
        return "meat" if denied else "plants"
    if _MEAT.search(text):
        if not denied:
            return "meat"
        return "plants" if _ALL_MEAT.search(text) else None
    return None
