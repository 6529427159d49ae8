"""What the two people of ``siltstone demo`` talk about. Written for this purpose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Talk:
    """One person's conversations: ``(session, days ago, exchanges)``, and what is asked of the memory later."""

    user_id: str
    sessions: tuple[tuple[str, int, tuple[tuple[str, str], ...]], ...]
    questions: tuple[str, ...]


ZHANG: Final = Talk(
    "zhangsan",
    (
        (
            "初次见面",
            21,
            (
                ("你好！", "你好，很高兴认识你。有什么可以帮你的吗？"),
                ("我叫张三，是深圳的前端工程师。", "你好，张三！在深圳做前端，平时主要用什么框架？"),
                ("主要写 React，最近在把老项目迁移到 TypeScript。", "迁移时可以先打开 allowJs，一个模块一个模块地改。"),
                ("好主意。测试你推荐用什么？", "单元测试可以用 Vitest，端到端测试可以用 Playwright。"),
                ("我们组里五个人，只有我一个人写测试。", "可以先从最常出错的模块写起，让大家看到好处。"),
                ("嗯，登录模块最容易出错。", "那就从登录模块开始，先覆盖正常流程，再补异常情况。"),
                ("对了，回答请尽量简短一点。", "好的，以后我会简短回答。"),
            ),
        ),
        (
            "周末计划",
            9,
            (
                ("这个周末想带家人去爬山，有推荐吗？", "深圳的梧桐山不错，早上六点出发人比较少。"),
                ("我女儿小雨今年六岁，爬得动吗？", "可以走缓坡的大路，半山腰有休息的地方。"),
                ("她对花生过敏，路上带什么零食好？", "可以带水果、酸奶和玉米，避开含坚果的饼干。"),
                ("天气怎么样？", "我查不到实时天气，出发前请看一下天气预报。"),
                ("如果下雨就去博物馆吧。", "深圳博物馆周一闭馆，周末要提前预约。"),
                ("好的，我先预约上。", "预约需要身份证，孩子也要登记。"),
                ("晚上想做一道菜，家里有鸡蛋和西红柿。", "西红柿炒鸡蛋最合适，先炒鸡蛋再放西红柿。"),
            ),
        ),
        (
            "工作烦恼",
            2,
            (
                ("今天上线出了个故障，首页白屏了十分钟。", "辛苦了。原因找到了吗？"),
                ("是一个第三方脚本加载失败，把渲染卡住了。", "可以给第三方脚本加上 async，再设一个超时。"),
                ("老板让我周五之前写一份复盘。", "复盘可以分三段：经过、原因、改进措施。"),
                ("改进措施我想加一条监控。", "可以监控首屏时间，超过三秒就报警。"),
                ("下个月我要去杭州参加前端大会，讲的就是这次迁移。", "恭喜！演讲可以用这次故障做开场。"),
                ("好，先准备提纲。我习惯用 Markdown 写。", "提纲建议五部分：背景、方案、步骤、踩坑、收获。"),
                ("键盘也坏了，想换一个静音的。", "办公室用可以选静音红轴的机械键盘。"),
            ),
        ),
    ),
    ("我叫什么名字？我是做什么的？", "给孩子买零食要注意什么？"),
)

ALICE: Final = Talk(
    "alice",
    (
        (
            "hello",
            21,
            (
                ("Hi there!", "Hello! What can I do for you?"),
                ("I'm Alice, a marine biologist in Lisbon.", "Nice to meet you, Alice! What do you study?"),
                (
                    "Seagrass meadows, mostly how they recover after storms.",
                    "Do you work from satellite images or dives?",
                ),
                ("Both, but I prefer the dives.", "Then a good dive log will save you a lot of time."),
                (
                    "Which note-taking app would you use for that?",
                    "Any that works offline; Obsidian is a common choice.",
                ),
                ("I'd rather have plain text files.", "Then one file per dive, sorted by date and site."),
                ("Good. Please always give me distances in kilometres.", "Noted: kilometres it is."),
            ),
        ),
        (
            "travel",
            8,
            (
                ("I have to plan a trip to Porto.", "By train it takes about three hours from Lisbon."),
                (
                    "My talk there is on the 14th, at ten in the morning.",
                    "Then the evening train on the 13th is the safe choice.",
                ),
                ("I booked the Hotel Ribeira for two nights.", "It is a short walk from the river."),
                (
                    "My brother Tom will meet me at the station.",
                    "Share the platform with him: trains stop at Campanhã.",
                ),
                (
                    "He is allergic to shellfish, so no seafood place for dinner.",
                    "There are good grill houses near the market.",
                ),
                ("What should I pack for rain?", "A light shell and a dry bag for the laptop."),
                ("Right, the dry bag from the boat will do.", "And a spare adapter for the projector."),
            ),
        ),
        (
            "lab week",
            1,
            (
                ("The microscope broke again this morning.", "Is it the stage or the light source?"),
                ("The light source. The new lamp arrives on Thursday.", "You could borrow one from the teaching lab."),
                ("Good idea, I will ask Maria.", "Mention the mount, there are two sizes."),
                (
                    "We counted 240 shoots per square metre at the Tróia site.",
                    "That is up from the spring count, I think.",
                ),
                ("Yes, in spring it was 180.", "So a rise of a third in one season."),
                ("I need a title for the poster.", "How about: After the Storm, a Meadow Returns?"),
                ("I like it. I'll send it to print tomorrow.", "Check the colour profile before you do."),
            ),
        ),
    ),
    ("What is my name and what do I do?", "What must we mind when we go out for dinner with my brother?"),
)
