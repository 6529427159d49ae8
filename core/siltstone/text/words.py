"""Word lists of the tokenizer: what is too common to search for, and irregular forms that no stemmer knows."""

from __future__ import annotations

from typing import Final

# Function words, auxiliaries and the fillers of chat. "may" is missing on purpose: it is a month.
STOP_WORDS: Final = frozenset(
    """a an the and or but if then else of at by for with about into through to from in on off over under again so
    than too very is am are was were be been being do does did doing done have has had having will would shall should
    can could might must i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his
    himself she her hers herself it its itself they them their theirs themselves this that these those there here
    what which who whom whose when where why how all any both each few more most other some such no nor not only own
    same just also s t d ll m re ve don didn doesn isn wasn weren aren couldn wouldn shouldn won hasn haven hadn ain
    as up down out once while during because until between get got like really well yeah yes oh ok okay hey hi wow
    gonna lot thing things much many""".split()  # noqa: SIM905  a list of 150 quoted words cannot be read
)

# Chinese: single characters that carry grammar only, and bigrams made of such words.
STOP_CHARACTERS: Final = frozenset(
    "的了吗呢吧啊哦嗯呀嘛哈是在和与也都就还又很我你您他她它们这那个有么什哪怎着过得地把被给对从到说要会能不没"
    "一上下来去为以及而之其或请谁几"
    "嗎們這個麼對從說會沒來過還"
)
STOP_BIGRAMS: Final = frozenset(
    """什么 怎么 哪些 哪个 哪里 为什 多少 我们 你们 他们 她们 这个 那个 一个 一些 没有 可以 是否 如何 还有 时候 有没
    你好 觉得 的时 我的 你的 了一 是什 我在 你还 还记 记得 曾经 告诉 诉过 提到 到过 推荐过
    什麼 怎麼 哪裡 為什 我們 你們 他們 她們 這個 那個 一個 沒有 還有 時候 有沒 覺得 的時 還記 記得 曾經 告訴""".split()  # noqa: SIM905  likewise
)

_IRREGULAR: Final = """go went gone|buy bought|see saw seen|eat ate eaten|run ran|take took taken|give gave given|
make made|find found|think thought|tell told|say said|come came|meet met|begin began begun|bring brought|build built|
choose chose chosen|draw drew drawn|drive drove driven|fall fell fallen|feel felt|fly flew flown|
forget forgot forgotten|grow grew grown|hear heard|hold held|keep kept|know knew known|leave|lose lost|pay paid|
ride rode ridden|sell sold|send sent|sing sang sung|sit sat|sleep slept|speak spoke spoken|spend spent|stand stood|
swim swam swum|teach taught|throw threw thrown|understand understood|wear wore worn|win won|write wrote written|
become became|break broke broken|catch caught|drink drank drunk|fight fought|hide hid hidden|lead led|lend lent|
shoot shot|steal stole stolen|wake woke woken|child children|man men|woman women|foot feet|tooth teeth|mouse mice|
person people|wife wives|knife knives"""
IRREGULAR: Final = {form: base for base, *forms in (group.split() for group in _IRREGULAR.split("|")) for form in forms}

# One token per month whatever the language, so that "in May", 5月 and 五月 meet.
MONTHS: Final = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
CHINESE_MONTHS: Final = dict(
    zip(
        ("一月", "二月", "三月", "四月", "五月", "六月", "七月", "八月", "九月", "十月", "十一月", "十二月"),
        MONTHS,
        strict=True,
    )
)
MONTH_ABBREVIATIONS: Final = {month[:3]: month for month in MONTHS if month != "may"} | {"sept": "september"}
