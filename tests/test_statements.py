"""What people say of themselves and others becomes facts, preferences and events, by rule, in both languages.

Each case gives what must be found as ``field subject attribute``, and nothing else may be.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from siltstone.compress.speech import utterances
from siltstone.compress.statements import items_of
from siltstone.records import DigestItem, Message

AT = datetime(2024, 3, 6, 20, tzinfo=timezone(timedelta(hours=8)))  # a Wednesday


def found(*lines: str) -> list[tuple[str, DigestItem]]:
    """Return the items of a conversation; lines that begin with ``>`` are the assistant's."""
    messages = [
        Message("assistant" if line.startswith(">") else "user", line.lstrip("> "), id=f"m{n}", created_at=AT)
        for n, line in enumerate(lines, 1)
    ]
    return [(field, item) for field, items in items_of(utterances(messages)).items() for item in items]


def names(*lines: str) -> set[str]:
    """Return what is found as ``field subject: attribute``."""
    return {f"{field} {item.subject}: {item.attribute}" for field, item in found(*lines)}


STATED = {
    # name, age, origin
    "My name's Tom, by the way.": {"facts user: name"},
    "Hi there, I'm Alice!": {"facts user: name"},
    "I'm 34.": {"facts user: age"},
    "I'm from a small village near Porto.": {"facts user: origin"},
    "I grew up in Ohio.": {"facts user: origin"},
    "我叫李雷。": {"facts user: name"},
    "我今年28岁。": {"facts user: age"},
    "我是河南人。": {"facts user: origin"},
    "我从小在海边长大。": {"facts user: origin"},
    # home
    "I live in Leeds these days.": {"facts user: home"},
    "We're based in Toronto.": {"facts user: home"},
    "I'm in Chicago now.": {"facts user: home"},
    "I used to live in Rome.": {"facts user: former home"},
    "I don't live in Boston any more.": {"facts user: former home"},
    "我住在成都。": {"facts user: home"},
    "我现在在广州。": {"facts user: home"},
    "我以前住在北京。": {"facts user: former home"},
    "我不住北京了。": {"facts user: former home"},
    # work
    "I'm a nurse.": {"facts user: work"},
    "I work for a small bakery.": {"facts user: work"},
    "I do customer support for an airline.": {"facts user: work"},
    "I drive a truck for a living.": {"facts user: work"},
    "I teach maths at a secondary school.": {"facts user: work"},
    "I'm retired.": {"facts user: work"},
    "我是一名小学老师。": {"facts user: work"},
    "我在腾讯上班。": {"facts user: work"},
    "我就是修手机的。": {"facts user: work"},
    "我自己开了家花店。": {"facts user: work"},
    "我退休了。": {"events user: event", "facts user: work"},
    # family and other people
    "I have two kids.": {"facts user: family"},
    "My wife is a dentist.": {"facts user's wife: work"},
    "My brother's a physio, he has a practice in Bristol.": {"facts user's brother: work"},
    "My mum lives in Cork.": {"facts user's mother: home"},
    "My girlfriend is Malaysian and she doesn't eat pork.": {
        "facts user's girlfriend: origin",
        "facts user's girlfriend: diet",
    },
    "我有两个孩子。": {"facts user: family"},
    "我老婆是护士。": {"facts user's wife: work"},
    "我妈住在西安。": {"facts user's mother: home"},
    "我男朋友是程序员，他不吃羊肉。": {"facts user's boyfriend: work", "facts user's boyfriend: diet"},
    "我女儿叫果果，今年五岁。": {"facts 果果: name", "facts 果果: age"},
    # health and diet
    "I'm allergic to peanuts.": {"facts user: health"},
    "I've been vegan for three years.": {"facts user: diet"},
    "I no longer eat meat.": {"facts user: diet"},
    "I quit smoking.": {"facts user: habit"},
    "My left knee hurts when I run.": {"facts user: health"},
    "My doctor says I have high blood pressure.": {"facts user: health"},
    "我对花生过敏。": {"facts user: health"},
    "我不再吃肉了。": {"facts user: diet"},
    "我戒烟三年了。": {"facts user: diet"},
    "医生说我血压有点高。": {"facts user: health"},
    # likes and dislikes
    "I really love hiking and spicy food, but I hate running.": {"preferences user: like", "preferences user: dislike"},
    "I can't stand loud restaurants.": {"preferences user: dislike"},
    "I've never liked opera.": {"preferences user: dislike"},
    "I used to hate mushrooms but now I love them.": {"preferences user: like"},
    "I'd rather sit by the window.": {"preferences user: like"},
    "I'm a big fan of jazz.": {"preferences user: like"},
    "I'm scared of dogs.": {"preferences user: dislike"},
    "My favourite colour is green.": {"preferences user: like"},
    "I'd love to see Japan one day.": {"preferences user: wish"},
    "我最喜欢吃辣的。": {"preferences user: like"},
    "我特别讨厌香菜。": {"preferences user: dislike"},
    "我不喜欢看恐怖片。": {"preferences user: dislike"},
    "我宁愿走路也不想挤地铁。": {"preferences user: like"},
    "我怕狗。": {"preferences user: dislike"},
    "我想去趟西藏。": {"preferences user: wish"},
    # standing instructions
    "Please always answer in French.": {"preferences user: instruction"},
    "Don't use bullet points.": {"preferences user: instruction"},
    "Keep your answers short, please.": {"preferences user: instruction"},
    "Can you reply in Chinese from now on?": {"preferences user: instruction"},
    "Call me Jo.": {"preferences user: name"},
    "以后请用英文回答我。": {"preferences user: instruction"},
    "别用表情符号。": {"preferences user: instruction"},
    "叫我小王就行。": {"preferences user: name"},
    # plans and happenings
    "I have an appointment with the dentist on Tuesday.": {"events user: plan"},
    "We're getting married in June.": {"events user: plan"},
    "I need to renew my passport before August.": {"events user: plan"},
    "Got promoted last week!": {"events user: event"},
    "The wedding is on the 22nd of June.": {"events user: plan"},
    "Remind me to call mum on Friday.": {"events user: reminder"},
    "We just moved to Berlin last month.": {"facts user: home", "events user: move"},
    "My dad passed away last year.": {"events user's father: event"},
    "下周五我要去大理玩。": {"events user: plan"},
    "我打算年底结婚。": {"events user: plan"},
    "我刚升职了！": {"events user: event"},
    "我爷爷去年去世了。": {"events user's grandfather: event"},
    "提醒我周五交房租。": {"events user: reminder"},
    "上个月我们搬到杭州了。": {"facts user: home", "events user: event"},
}


@pytest.mark.parametrize(("line", "expected"), STATED.items(), ids=STATED.keys())
def test_a_statement_is_found_and_nothing_beside_it(line: str, expected: set[str]) -> None:
    """One sentence gives exactly the statements that it makes."""
    assert names(line) == expected


STATED |= {
    "I can swim.": {"facts user: skill"},
    "I can't swim because the pool is closed.": set(),
    "I can't drive you to the airport.": set(),
    "I do eat meat again.": {"preferences user: diet"},
    "My birthday is May 3.": {"facts user: birthday"},
    "My girlfriend dumped me.": {"facts user: family"},
    "Name: Bob": {"facts user: name"},
    "我会游泳。": {"facts user: skill"},
    "我会开车去接你。": set(),
    "我有女朋友了。": {"facts user: family"},
    "我的邮箱是ann@example.org。": {"facts user: email"},
    "姓名：李磊": {"facts user: name"},
    "I used to smoke.": {"facts user: former diet"},
    "I was a chef for ten years.": {"facts user: former work"},
    "我以前抽烟。": {"facts user: former diet"},
    "我从前台转到市场部了。": {"facts user: work"},
    "以后改叫我老王吧。": {"preferences user: name"},
    "I don't work weekends.": {"facts user: work"},
    "I've just been offered a job at Airbus.": {"events user: event"},
    "I nearly moved to Ghent last year.": {"events user: event"},
    "I was going to move to Ghent in May, but I stayed.": {"events user: event"},
    "I was about to join Airbus.": {"events user: event"},
    "🎉🎉 I moved to Ghent!": {"facts user: home"},
    "• I live in Leeds.": {"facts user: home"},
    "🎉 我住在成都。": {"facts user: home"},
    "I'm not a nurse, I'm a doctor.": {"facts user: former work", "facts user: work"},
}

SILENT = [
    # questions
    "Do you think I should move to Spain?",
    "Do I need a visa for Japan?",
    "What does my sister do?",
    "你觉得我该不该换工作？",
    "我住的地方叫什么来着",
    # hypotheticals and wishes
    "If I lived in Paris I'd eat cheese all day.",
    "I wish I had a dog.",
    "Imagine I was a doctor.",
    "Maybe I'll get a cat.",
    "I might move to Canada.",
    "I could be a teacher.",
    "如果我住在巴黎，我就天天吃面包。",
    "要是我是医生就好了。",
    "也许我会去学画画。",
    # small talk
    "Thanks, that's great!",
    "I'm tired today.",
    "Sorry, I'm late!",
    "I love it!",
    "I'm a bit confused.",
    "I have a question about taxes.",
    "Haha you're right.",
    "Good morning, nice weather!",
    "哈哈哈谢谢你",
    "今天好累啊。",
    "我太爱了",
    "好的，知道了。",
    # what others say and think
    "She said she lives in Oslo.",
    "My manager told me I'm a bad driver.",
    "Everyone says I should be a lawyer.",
    "我妈说我太瘦了。",
    "听说他要离婚了。",
    # sarcasm
    "Oh sure, I just love sitting in traffic.",
    "Yeah right, I'm the queen of England.",
    "呵呵，我可真是太爱加班了。",
    # dreams, roles, pretence
    "In my dream I was a surgeon.",
    "In the game I'm a blacksmith.",
    "I pretend to like oysters.",
    "Everyone says I'm vegetarian but I'm not.",
    "我梦见我是船长。",
    "我假装喜欢牡蛎。",
    "歌词里写着我爱长江。",
    # what only points at something
    "I live there now.",
    "I'm allergic to them.",
    "I like both.",
    "My phone is broken.",
    "My name is a bit unusual.",
    "我住那儿。",
    "我对它过敏。",
    "我一直在那里工作。",
    # a stay, a longing
    "We're in Tromsø for the weekend.",
    "I'm in Ghent on business.",
    "I miss living in Kraków.",
]


@pytest.mark.parametrize("line", SILENT)
def test_what_is_no_statement_leaves_no_memory(line: str) -> None:
    """Questions, suppositions, small talk, hearsay and sarcasm become no facts."""
    assert names(line) == set()


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("I fly to Lisbon next Friday.", "2024-03-15"),
        ("My exam is on the 30th.", "2024-03-30"),
        ("We play a gig on the 8th of June.", "2024-06-08"),
        ("I signed the lease yesterday.", "2024-03-05"),
        ("I start on Monday the 18th.", "2024-03-18"),
        ("The baby is due on October 12th.", "2024-10-12"),
        ("I graduated in 2019.", "2019-01-01"),
        ("My sister is visiting in two weeks.", "2024-03-17"),
        ("I'm flying out the day after tomorrow.", "2024-03-08"),
        ("下周三我有个面试。", "2024-03-13"),
        ("我六月三号入职。", "2024-06-03"),
        ("这个月十九号我爸过生日。", "2024-03-19"),
        ("上周一退休金到账了。", "2024-02-26"),
        ("十二月一号我考试。", "2024-12-01"),
        ("我昨天提离职了。", "2024-03-05"),
        ("三天后我出发去拉萨。", "2024-03-09"),
        ("半个月后我做手术。", "2024-03-17"),
        ("年底我要搬家。", "2024-12-01"),
        ("I bought a house three months ago.", "2023-12-06"),
        ("I started a course two weeks ago.", "2024-02-21"),
        ("I quit my job at the end of last year.", "2023-12-01"),
        ("我三个月前买了房。", "2023-12-06"),
        ("我两周前做了手术。", "2024-02-21"),
        ("半年前我买了车。", "2023-09-06"),
        ("去年年底我摔伤了。", "2023-12-01"),
    ],
)
def test_days_are_resolved_from_the_moment_of_speaking(line: str, day: str) -> None:
    """An event carries an absolute day, in the time zone of its message."""
    days = {
        item.occurred_at.date().isoformat() for field, item in found(line) if field == "events" and item.occurred_at
    }
    assert days == {day}


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("I signed up for the marathon, it's on October 20th.", "2024-10-20"),
        ("我报了十一月三号的马拉松。", "2024-11-03"),
        ("机票订的是十五号的。", "2024-03-15"),
        ("The meeting has been moved to Thursday.", "2024-03-07"),
        ("会议改到周四了。", "2024-03-07"),
        ("Remind me to call the gas company on Tuesday, will you?", "2024-03-12"),
        ("Can you remind me to water the plants on Friday?", "2024-03-08"),
    ],
)
def test_what_is_booked_or_asked_for_lies_ahead(line: str, day: str) -> None:
    """The booking is done, the day is still to come; a reminder may be asked for as a question."""
    ((_, item),) = found(line)
    assert item.occurred_at is not None
    assert item.occurred_at.date().isoformat() == day


@pytest.mark.parametrize(
    ("line", "attribute"),
    [
        ("I'm going to Rome this month.", "plan"),
        ("I'm flying to Rome at the end of the month.", "plan"),
        ("我这个月要去北京。", "plan"),
        ("我月底去北京。", "plan"),
        ("We're going to Spain this summer.", "plan"),
    ],
)
@pytest.mark.parametrize("days", [22, 25])
def test_a_plan_for_the_time_that_runs_is_a_plan_to_its_end(line: str, attribute: str, days: int) -> None:
    """That a month, or a summer, began weeks ago makes no happening of what is planned for it."""
    said = utterances([Message("user", line, id="m", created_at=AT.replace(month=8) + timedelta(days=days))])
    assert {item.attribute for item in items_of(said)["events"]} == {attribute}


def test_a_leap_day_is_never_read_as_another_day() -> None:
    """Of 二月二十九号, in a year without one, 十九号 is not what is left."""
    for year in (2025, 2026):
        said = utterances([Message("user", "我二月二十九号去北京。", id="m", created_at=AT.replace(year=year))])
        (item,) = items_of(said)["events"]
        assert item.occurred_at is None or (item.occurred_at.month, item.occurred_at.day) == (2, 29)


def test_traditional_characters_are_read_and_kept() -> None:
    """The rules know one script, the items keep the one that was written."""
    items = {item.attribute: item for _, item in found("我叫陳怡君，住在臺北。", "我老公是醫生，他討厭下雨天。")}
    assert items["name"].text == "我叫陳怡君"
    assert items["home"].text == "住在臺北"
    assert (items["work"].subject, items["dislike"].text) == ("user's husband", "我老公討厭下雨天")


def test_a_day_needs_to_know_when_it_was_said() -> None:
    """Without a time of speaking an event has no day, rather than today's."""
    items = items_of(utterances([Message("user", "I fly to Lisbon next Friday.", id="a")]))
    assert [item.occurred_at for item in items["events"]] == [None]


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("I live in Berlin and work at Bosch.", ["I live in Berlin", "I work at Bosch"]),
        ("My sister lives in Oslo, and works at Equinor.", ["My sister lives in Oslo", "My sister works at Equinor"]),
        ("I'm vegetarian and allergic to peanuts.", ["I'm vegetarian", "I'm allergic to peanuts"]),
        ("I have a dog and live in Porto but work in Braga.", ["I have a dog", "I live in Porto", "I work in Braga"]),
        ("我住在北京并且在字节跳动工作。", ["我住在北京", "在字节跳动工作"]),
        ("I want to move to Rome and work at a museum.", ["I want to move to Rome and work at a museum"]),
        ("I used to live in Rome and work at Fiat.", ["I used to live in Rome and work at Fiat"]),
        ("I will live in Rome and work from home.", []),
        ("If I lived in Paris and worked at Chanel I'd be happy.", []),
    ],
)
def test_two_predicates_of_one_subject_are_two_statements(line: str, texts: list[str]) -> None:
    """Each of them can be replaced without the other, unless the second may hang on the first one's mood."""
    assert sorted(item.text for _, item in found(line)) == sorted(texts)


def test_name_work_and_home_of_one_sentence_can_be_replaced_apart() -> None:
    """ "I'm Alice, a front-end engineer in Shenzhen" gives three items, none of which holds another's value."""
    texts = {item.attribute: item.text for _, item in found("I'm Alice, a front-end engineer in Shenzhen.")}
    assert texts == {"name": "I'm Alice", "work": "I'm a front-end engineer", "home": "I'm in Shenzhen"}
    texts = {item.attribute: item.text for _, item in found("我叫张三，是深圳的前端工程师。")}
    assert texts == {"name": "我叫张三", "work": "是前端工程师", "home": "是深圳的"}


@pytest.mark.parametrize(
    ("lines", "subject"),
    [
        (["My sister Noor is a vet.", "> Where does she live?", "She lives in Monterey."], "Noor"),
        (["> How is Peter?", "He moved to Leeds."], "Peter"),
        (["My brother called. My sister too. She lives in Rome."], "user's sister"),
        (["My sister's husband lives in Oslo."], "user's sister's husband"),
        (["我妹妹诗雨在青岛。", "> 她住哪儿？", "她住在青岛。"], "user's younger sister"),
        (["我同事小李病了。", "他住在浦东。"], "小李"),
        (["新郎叫陈默。我哥也来了，他住在镇江。"], "user's older brother"),
    ],
)
def test_pronouns_find_their_person(lines: list[str], subject: str) -> None:
    """He and she, 他 and 她, mean whom the conversation last mentioned, across messages."""
    assert subject in {item.subject for _, item in found(*lines) if item.attribute == "home"}


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("我女儿叫小雨，她六岁了。", "小雨六岁了"),
        ("我有个女儿叫小雨。她六岁了。", "小雨六岁了"),
        ("我爸退休了，他今年65岁。", "我爸今年65岁"),
        ("我家猫叫年糕，它三岁了。", "年糕三岁了"),
        ("我女儿，五岁，喜欢画画。", "我女儿五岁"),
        ("我爸妈来了，我妈很累。她六十岁了。", "我妈六十岁了"),
        ("My daughter is called Wren, she's six.", "My daughter's six"),
        ("Luna is my cat. She's three years old.", "Luna's three years old"),
        ("My mum called. Today she is seventy.", "Today my mum is seventy"),
        ("My brother came along with my sister. He is forty.", "My brother is forty"),
        ("我妈和我姐都来了，她五十岁了。", "她五十岁了"),
        ("My sister met Noor, my niece. She is forty.", "She is forty"),
    ],
)
def test_a_statement_names_whom_it_is_about(line: str, text: str) -> None:
    """A pronoun gives way to the words of the message for its person, and stays where there are two it may mean."""
    assert text in {item.text for _, item in found(line) if item.attribute == "age"}


def test_whom_another_message_named_is_not_put_in_the_words_of_this_one() -> None:
    """A statement holds only words of the messages that it rests on; its subject says who is meant."""
    ((_, item),) = [pair for pair in found("My sister Noor called.", "She is forty.") if pair[1].attribute == "age"]
    assert (item.subject, item.text) == ("Noor", "She is forty")


def test_two_people_keep_their_own_facts() -> None:
    """In a conversation between two people each one's statements go under their own name."""
    talk = [
        Message("user", "I live in Bath. Is your daughter well?", name="Ruth", id="a", created_at=AT),
        Message("assistant", "She moved to York. I live in Hull.", name="Bev", id="b", created_at=AT),
    ]
    homes = {item.subject: item.text for item in items_of(utterances(talk))["facts"]}
    assert homes == {"Ruth": "I live in Bath", "Bev's daughter": "She moved to York", "Bev": "I live in Hull"}


def test_an_assistant_states_nothing_about_itself_or_the_user() -> None:
    """What a nameless assistant says is no fact about anybody."""
    assert (
        names("> I live in the cloud and I love helping. You live in Rome.", "> 我住在云端，我喜欢帮助别人。") == set()
    )


def test_a_short_answer_is_kept_with_its_question() -> None:
    """ "Nine." means something only after "How old is she?": the item holds both and rests on both messages."""
    ((_, item),) = [
        pair for pair in found("My kid is called Wren.", "> How old is she?", "Nine.") if pair[1].attribute == "age"
    ]
    assert (item.text, item.source_ids) == ("How old is she? Nine", ("m2", "m3"))
    ((_, item),) = found("> 您住在哪里？", "西安。")
    assert (item.attribute, item.text, item.subject) == ("home", "您住在哪里？ 西安", "user")


def test_what_leads_up_to_a_question_is_still_said() -> None:
    """ "I'm off to Kyoto in April, do I need a visa?" tells of a trip; so does 我四月去京都，签证好办吗？"""
    assert names("I'm moving to Kyoto in April, do I need a visa?") == {"events user: move"}
    assert names("我四月五号去京都，签证好办吗？") == {"events user: plan"}


def test_saying_it_twice_makes_one_item_with_both_sources() -> None:
    """A repetition adds a source, not an item."""
    ((_, item),) = found("I live in Leeds.", "> Nice!", "As I said: I live in Leeds!")
    assert item.source_ids == ("m1", "m3")


def test_pasted_code_and_injected_memories_are_not_statements() -> None:
    """Code blocks and what siltstone put into the prompt are nobody's words."""
    from siltstone.text.guard import fence

    assert (
        names("```\nI live in Leeds.\n```\nWhy does this fail?", fence("I live in Oslo.") + " Where do I live?")
        == set()
    )


@pytest.mark.parametrize("line", ["I no longer live in Leeds. I moved to York.", "我不住南京了，搬到了苏州。"])
def test_an_update_ends_the_old_value_and_gives_the_new(line: str) -> None:
    """A denial is marked as former, so that it never counts as the present value."""
    attributes = [item.attribute for _, item in found(line)]
    assert attributes == ["former home", "home"]
