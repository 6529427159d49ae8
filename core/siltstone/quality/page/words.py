"""The words of the report, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Words:
    """The texts of one language; ``{…}`` is filled in."""

    lang: str
    title: str
    skip: str
    about: str
    drawn: str
    plain: str
    how: str
    save: str
    status: str
    no_script: str
    digest: str
    queued: str
    sampled: str
    nothing: str
    no_items: str
    item: str
    sources: str
    no_sources: str
    support: str
    words: str
    meaning: str
    judge: str
    agrees: str
    disagrees: str
    failure: str
    verdict: str
    not_said: str
    date: str
    verdicts: Mapping[str, str]
    flags: Mapping[str, str]
    kinds: Mapping[str, str]


ENGLISH: Final = Words(
    lang="en",
    title="Audit of digests",
    skip="Skip to the digests",
    about="User {user}, {location}, {day}. Checked with {models}.",
    drawn="{count} of {total} digests are shown. {waiting} more wait for a review.",
    plain="This file holds memories in plain text. It is yours to keep safe and to delete: forget does not reach it.",
    how="Compare each item with its sources: words that both have are marked, words that were not said are underlined. "
    "Say whether it is right, save your verdicts, and give the file to: siltstone audit --verdicts FILE",
    save="Save verdicts",
    status="{n} of {all} items have a verdict",
    no_script="Without scripts the verdicts cannot be saved.",
    digest="Digest {n}: session {session}",
    queued="waited for review",
    sampled="drawn at random",
    nothing="There is no digest to look at.",
    no_items="Nothing is left of this digest.",
    item="Item {n}",
    sources="Sources",
    no_sources="None of its sources is there any more.",
    support="support {score}",
    words="words {share}",
    meaning="meaning {share}",
    judge="{model}:",
    agrees="supported",
    disagrees="not supported",
    failure="The language model did not judge this digest: {why}",
    verdict="Is item {n} right?",
    not_said="not said: {words}",
    date="on {day}",
    verdicts={"right": "Right", "wrong": "Wrong", "unsure": "Unsure"},
    flags={
        "no source": "no source is left",
        "unsupported": "not supported by its sources",
        "date": "date does not match",
        "number": "number was not said",
        "name": "name was not said",
        "language": "language changed",
        "negation": "yes and no differ",
        "asked": "only asked, not said",
        "supposed": "only supposed",
        "judge": "the language model disagrees",
    },
    kinds={"summary": "Summary", "profile": "Profile", "event": "Event", "fact": "Fact"},
)
CHINESE: Final = Words(
    lang="zh",
    title="摘要抽查",
    skip="跳到摘要",
    about="用户 {user}，{location}，{day}。检查所用模型：{models}。",
    drawn="共 {total} 份摘要，这里显示 {count} 份，另有 {waiting} 份等待复核。",
    plain="本文件以明文保存记忆，请自行妥善保管和删除：forget 不会删除它。",
    how="请把每一条与它的来源对照：两边都有的词已标出，没有说过的词加了下划线。选择对错，保存结果，"
    "再运行：siltstone audit --verdicts 文件",
    save="保存结果",
    status="{all} 条中已判断 {n} 条",
    no_script="浏览器没有启用脚本，无法保存结果。",
    digest="摘要 {n}：会话 {session}",
    queued="等待复核",
    sampled="随机抽取",
    nothing="没有可以查看的摘要。",
    no_items="这份摘要已没有内容。",
    item="第 {n} 条",
    sources="来源",
    no_sources="来源都已不在。",
    support="支持度 {score}",
    words="用词 {share}",
    meaning="语义 {share}",
    judge="{model}：",
    agrees="有依据",
    disagrees="没有依据",
    failure="语言模型没有判断这份摘要：{why}",
    verdict="第 {n} 条对吗？",
    not_said="没有说过：{words}",
    date="日期 {day}",
    verdicts={"right": "对", "wrong": "错", "unsure": "不确定"},
    flags={
        "no source": "来源已不在",
        "unsupported": "来源不支持",
        "date": "日期不符",
        "number": "数字没有说过",
        "name": "名字没有说过",
        "language": "语言变了",
        "negation": "肯定与否定相反",
        "asked": "只是提问",
        "supposed": "只是假设",
        "judge": "语言模型不同意",
    },
    kinds={"summary": "总结", "profile": "档案", "event": "事件", "fact": "事实"},
)
