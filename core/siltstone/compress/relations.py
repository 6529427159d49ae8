"""Words for the people in someone's life, English and Chinese, under one name for both languages.

The names are part of an item's subject (``user's sister``), by which a later statement is matched with an earlier one.
"""

from __future__ import annotations

import re
from typing import Final

# canonical name: (gender, English forms, Chinese forms)
_RELATIONS: Final[tuple[tuple[str, str, str, str], ...]] = (
    ("mother", "f", "mother|mom|mum|mommy|mummy|mama|ma", "妈妈|妈|母亲|老妈|我娘|娘"),
    ("father", "m", "father|dad|daddy|papa|pa", "爸爸|爸|父亲|老爸|爹"),
    ("parents", "p", "parents|folks", "父母|爸妈|爹妈|家长"),
    ("older sister", "f", "older sister|big sister|elder sister", "姐姐|大姐|二姐|姐"),
    ("younger sister", "f", "younger sister|little sister|baby sister|kid sister", "妹妹|小妹|妹"),
    ("older brother", "m", "older brother|big brother|elder brother", "哥哥|大哥|二哥|哥"),
    ("younger brother", "m", "younger brother|little brother|baby brother|kid brother", "弟弟|小弟|弟"),
    ("sister", "f", "sister|sis", ""),
    ("brother", "m", "brother|bro", ""),
    ("twin", "n", "twin|twin sister|twin brother", "双胞胎"),
    ("siblings", "p", "siblings|brothers|sisters", "兄弟姐妹"),
    ("daughter", "f", "daughter|little girl|baby girl", "女儿|闺女|姑娘|大女儿|小女儿"),
    ("son", "m", "son|little boy|baby boy", "儿子|大儿子|小儿子"),
    ("child", "n", "child|kid|baby|toddler|eldest|youngest|oldest", "孩子|小孩|娃|宝宝|老大|老二|小朋友"),
    ("children", "p", "children|kids|twins|daughters|sons|boys|girls", "孩子们|娃们"),
    ("wife", "f", "wife|missus", "老婆|妻子|太太|媳妇儿|媳妇|爱人"),
    ("husband", "m", "husband|hubby", "老公|丈夫|先生"),
    ("partner", "n", "partner|spouse|better half|other half|significant other", "对象|另一半|伴侣"),
    ("girlfriend", "f", "girlfriend|gf", "女朋友|女友"),
    ("boyfriend", "m", "boyfriend|bf", "男朋友|男友"),
    ("fiancée", "f", "fiancée|fiancee", "未婚妻"),
    ("fiancé", "m", "fiancé|fiance", "未婚夫"),
    ("ex", "n", "ex|ex-wife|ex-husband|ex-girlfriend|ex-boyfriend", "前任|前女友|前男友|前妻|前夫"),
    ("mother-in-law", "f", "mother-in-law", "婆婆|岳母|丈母娘"),
    ("father-in-law", "m", "father-in-law", "公公|岳父|老丈人"),
    ("sister-in-law", "f", "sister-in-law", "嫂子|弟妹|小姑子|大姑子|小姨子"),
    ("brother-in-law", "m", "brother-in-law", "姐夫|妹夫|小舅子|大舅子|小叔子"),
    ("in-laws", "p", "in-laws", "公婆|岳父母"),
    ("grandmother", "f", "grandmother|grandma|gran|granny|nana|nan", "奶奶|外婆|姥姥|祖母"),
    ("grandfather", "m", "grandfather|grandpa|grandad|granddad|gramps", "爷爷|外公|姥爷|祖父"),
    ("grandparents", "p", "grandparents", "爷爷奶奶|外公外婆"),
    ("grandson", "m", "grandson", "孙子|外孙"),
    ("granddaughter", "f", "granddaughter", "孙女|外孙女"),
    ("grandchildren", "p", "grandchildren|grandkids", "孙辈"),
    ("aunt", "f", "aunt|auntie|aunty", "阿姨|姑姑|姨妈|小姨|大姨|舅妈|婶婶|姑妈|伯母"),
    ("uncle", "m", "uncle", "叔叔|舅舅|伯伯|姑父|姨父|大伯|舅|叔"),
    ("niece", "f", "niece", "侄女|外甥女"),
    ("nephew", "m", "nephew", "侄子|外甥"),
    ("cousin", "n", "cousin", "表哥|表弟|表姐|表妹|堂哥|堂弟|堂姐|堂妹"),
    ("family", "p", "family|relatives", "家人|家里人|亲戚"),
    ("friend", "n", "friend|best friend|bestie|mate|buddy|pal", "朋友|闺蜜|好友|哥们|哥们儿|发小|死党|老友|兄弟"),
    ("friends", "p", "friends", "朋友们"),
    ("roommate", "n", "roommate|flatmate|housemate|room mate", "室友|舍友"),
    ("neighbour", "n", "neighbor|neighbour|neighbors|neighbours", "邻居"),
    ("colleague", "n", "colleague|coworker|co-worker|workmate|teammate", "同事|搭档"),
    ("boss", "n", "boss|manager|supervisor|line manager|team lead", "老板|领导|上司|经理|主管|组长|总监"),
    ("teacher", "n", "teacher|professor|tutor|advisor|mentor|coach|instructor", "老师|导师|教练|外教|班主任"),
    ("student", "n", "student|pupil|students|pupils", "学生"),
    ("classmate", "n", "classmate|schoolmate", "同学|校友|同桌"),
    ("doctor", "n", "doctor|dentist|therapist|gp", "医生|大夫|牙医"),
    ("apprentice", "n", "apprentice|trainee|intern", "学徒|徒弟|实习生"),
    ("client", "n", "client|clients|customer|customers", "客户|顾客"),
    ("landlord", "n", "landlord|landlady", "房东"),
    ("dog", "a", "dog|puppy|pup|beagle|labrador|poodle|corgi|retriever", "狗|狗狗|小狗|柯基|金毛|泰迪|哈士奇"),
    ("cat", "a", "cat|kitten|kitty|tabby", "猫|猫咪|小猫|布偶|橘猫"),
    ("pet", "a", "pet|hamster|rabbit|bunny|parrot|turtle|tortoise|horse|pony|guinea pig", "宠物|仓鼠|兔子|鹦鹉|乌龟"),
)

GENDER: Final = {name: gender for name, gender, _, _ in _RELATIONS}
"""``f``, ``m``, ``n`` (either), ``p`` (several), ``a`` (an animal)."""

ENGLISH: Final = {
    form: name for name, _, forms, _ in _RELATIONS for one in forms.split("|") for form in {one, one.replace("-", " ")}
}
CHINESE: Final = {form: name for name, _, _, forms in _RELATIONS for form in forms.split("|") if form}


def _alternatives(forms: list[str]) -> str:
    return "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True))


ENGLISH_PATTERN: Final = _alternatives(list(ENGLISH))
CHINESE_PATTERN: Final = _alternatives(list(CHINESE))
"""Alternatives for a regular expression, the longest first."""
