"""English words by what they say about a person. The rules that use them are beside it."""

from __future__ import annotations

import re
from typing import Final

from ..lexicon import words_of
from .predicate import verb_stem


def stems(text: str) -> frozenset[str]:
    """Return the stems of the verbs in a text, by which all their forms are known."""
    return frozenset(verb_stem(word) for word in text.split())


# --- verbs, by stem

LIVE: Final = stems("live reside dwell settle rent")
MOVE: Final = stems("move relocate emigrate immigrate")
STUDY: Final = stems("study major attend enrol enroll")
LEARN: Final = stems("learn train prepare practise practice")
LIKE: Final = stems("like love enjoy adore prefer fancy favour favor dig cherish relish")
DISLIKE: Final = stems("hate dislike detest loathe despise")
CONSUME: Final = stems("eat drink smoke vape")
HOBBY: Final = stems(
    "play collect bake paint draw knit sew garden cycle bike jog run swim hike climb surf ski skate sing dance "
    "photograph fish sail row box lift meditate journal blog code read watch write crochet cook brew camp dive fence"
)
ABLE: Final = stems(
    "drive swim ride cook bake read write ski skate surf dive sail sing dance draw paint knit sew whistle juggle type "
    "code program climb cycle snowboard"
)
OWN: Final = stems("own have drive keep raise")
QUIT: Final = stems("quit stop cut drop ditch")
PLAN: Final = stems(
    "decide plan intend book schedule register sign arrange organise organize reserve enrol enroll apply"
)
WISH: Final = stems("want hope dream wish aim aspire")
TAKE_PART: Final = stems("go attend participate perform compete run host take visit speak camp volunteer help")
MILESTONE: Final = stems(
    "graduate marry divorce adopt quit resign retire pass fail win lose buy sell break start join finish "
    "complete launch "
    "publish promote hire fire move relocate visit travel fly enrol enroll book accept receive apply die bury diagnose "
    "injure crash trade propose deliver give sprain fracture switch change leave sign open close found inherit donate "
    "elope immigrate emigrate enlist"
)
EMPTY: Final = stems(
    "meant be try see think say tell let do get need check look ask make know guess mean hope wonder "
    "believe suppose feel "
    "seem sound appear happen remember forget understand agree appreciate thank mind bet swear promise assume doubt "
    "reckon keep wait hear sleep rest shower nap give show send paste"
)
"""Verbs that plan or tell nothing worth keeping by themselves."""

# --- what a person is

OCCUPATION: Final = re.compile(
    r"(?:hire|employee|staffer|recruit|nurse|chef|cook|pilot|judge|clerk|coach|guide|guard|maid|vet|surgeon|physio|dietician|dietitian"
    r"|midwife|mechanic"
    r"|architect|analyst|accountant|consultant|assistant|attendant|lieutenant|sergeant|captain|actress|waitress|student"
    r"|intern|apprentice|freelancer|entrepreneur|scientist|postdoc|dev|sysadmin|ceo|cto|cfo|pm|sre|tutor"
    r"|priest|monk|nun"
    r"|athlete|model|secretary|librarian|paramedic|agent|officer|diplomat|spy|executive|representative|rep"
    r"|head|lead|boss"
    r"|president|principal|dean|cop|trainee|barista|au pair|nanny|undergrad|undergraduate|postgraduate|phd|researcher"
    r"|\w+(?:ologist|ician|grapher|eer|ier|onomist|ographer|maker|keeper|worker|smith|wright|ster)"
    r"|\w{2,}(?:er|or|ist|ian|man|woman|person))$",
    re.IGNORECASE,
)
NO_OCCUPATION: Final = words_of(
    "mother father sister brother daughter parent lover beginner newcomer member fighter loser winner believer hater ",
    "drinker sleeper eater reader swimmer number matter bother letter weather dinner summer winter "
    "teenager minor senior ",
    "junior stranger foreigner outsider survivor customer user vegetarian christian person people sucker "
    "quitter owner ",
    "disaster monster cancer corner computer paper water order offer error mirror flower humor humour "
    "color colour other ",
    "another either rather never ever over under after perfectionist introvert extrovert optimist "
    "pessimist morning-person ",
    "human woman man cover power answer question timer riser slacker talker starter helper carer doer laptop chapter ",
    "better later counter centre center tower shower river motor doctor's buyer seller partner neighbor "
    "neighbour keeper ",
    "stepfather stepmother grandmother grandfather godmother godfather italian indian persian russian norwegian ",
    "christian canadian australian brazilian hungarian romanian bulgarian ukrainian egyptian librarian's",
) - {"doctor"}
VAGUE: Final = words_of(
    "bit little lot mess wreck while fool idiot moment minute few couple loss joke hurry rush pain chance shame pity ",
    "nightmare dream relief surprise thing way problem question idea good great bad big small huge tad "
    "ton bunch total ",
    "complete disaster pleasure sec second failure success hassle challenge",
)
"""Heads of "I'm a …" that describe a mood, not a person."""

STATE: Final = re.compile(
    r"(?P<family>(?:happily |newly |recently )?(?:married|single|divorced|engaged|widowed|separated"
    r"|pregnant|expecting|a (?:mother|father|parent|mum|mom|dad)\b|twins\b|the (?:oldest|youngest|middle"
    r"|eldest) (?:of|child)))"
    r"|(?P<work>(?:semi-)?retired|unemployed|self-employed|between jobs|on (?:maternity|paternity|parental"
    r"|sick) leave|laid off)"
    r"|(?P<diet>(?:a )?(?:strict |lifelong )?(?:vegetarian|vegan|pescatarian|teetotal|flexitarian)"
    r"|(?:a )?(?:\w+ ){0,2}(?:carnivore|omnivore|herbivore|meat[- ](?:eater|lover))\b"
    r"|gluten[- ]free|kosher|halal)"
    r"|(?P<health>diagnosed with \w|(?:\w+ly )?(?:allergic|diabetic|asthmatic|coeliac|celiac|(?:lactose|gluten)[- "
    r"]intolerant|intolerant|epileptic|anaemic"
    r"|anemic|(?:tone[- ])?deaf|blind|colou?r-?blind|dyslexic|autistic|bipolar|short-sighted|near-?sighted"
    r"|immunocompromised|hard of hearing|disabled)\b)"
    r"|(?P<trait>(?:left|right)-handed|bilingual|trilingual|(?:an )?(?:only child|(?:good|bad|terrible"
    r"|great|hopeless|rubbish|awful|brilliant) (?:at|with) (?!(?:it|that|this)\b)\w|introvert|extrovert"
    r"|insomniac|early bird|night owl|early riser|perfectionist))"
    r"|(?P<religion>(?:a )?(?:jewish|muslim|christian|buddhist|hindu|catholic|atheist|sikh|protestant|mormon)\b)",
    re.IGNORECASE,
)
SECTOR: Final = re.compile(
    r"in (?:the )?(?:navy|army|air force|marines|military|police|merchant navy|civil service|sales"
    r"|marketing|it|finance|tech|hr|advertising|construction"
    r"|insurance|banking|publishing|retail|hospitality|real estate|logistics|pr|consulting|pharma"
    r"|education|law enforcement|film|fashion)\b"
    r"|at (?:an? )?(?:\w+ )?(?:start-?up|company|firm|agency|bank|hospital|school|university|consultancy"
    r"|nonprofit|charity)\b",
    re.IGNORECASE,
)
DEMONYM: Final = re.compile(
    r"(?:half |originally |a )?(?:[A-Z]\w+(?:ian|ean|ish|ese|can|i|er)|French|Dutch|Greek|Thai|Welsh|Swiss"
    r"|Czech|Irish|Scots?|Scottish|"
    r"Korean|German|American|Filipino|Finn(?:ish)?|Dane|Swede|Turk|Brit|Kiwi|Aussie)\b(?! (?:food|music"
    r"|class|lesson|film|movie|restaurant|teacher))"
)
DISPOSITION: Final = re.compile(
    r"(?:not )?(?:(?:so |very |really |super |totally |a bit |pretty |big |quite )*)"
    r"(?:(?P<like>(?:really )?into|keen on|fond of|obsessed with|crazy about|mad about|nuts about|hooked "
    r"on|addicted to|passionate about"
    r"|a (?:\w+ )?(?:fan|lover) of|a (?:big |huge |massive )?\w+ (?:fan|lover|person|enthusiast|nut|addict|devotee"
    r"|aficionado|connoisseur|fanatic|maniac|buff"
    r"|junkie)\b|a (?:big |huge |heavy |keen |avid )?(?!(?:big|heavy|light|social|huge|picky|fussy|messy|early"
    r"|slow|fast|good|bad|poor|meat)\b)\w+ (?:drinker|eater)\b|partial to|a sucker for)"
    r"|(?P<dislike>scared of|afraid of|terrified of|sick of|fed up with|bored of|no fan of|uncomfortable "
    r"with|bad with))",
    re.IGNORECASE,
)

# --- nouns that are said to be something: "my birthday is …"

ATTRIBUTES: Final = re.compile(
    r"(?P<name>(?:full |first |last |real |middle )?(?:name|surname|nickname))"
    r"|(?P<birthday>birthday|date of birth|birth date)"
    r"|(?P<email>e-?mail(?: address)?)|(?P<phone>(?:new )?(?:phone|mobile|cell)(?: number)?|(?:new "
    r")?number)|(?P<address>(?:home )?address)"
    r"|(?P<work>(?:new |current |day |main )?(?:job|workplace|firm|occupation|profession|work|office|company"
    r"|employer|title))"
    r"|(?P<home>(?:new |current )?(?:flat|apartment|house|home|place|studio|cottage|dorm))"
    r"|(?P<origin>hometown|home town|native (?:language|tongue)|mother tongue|nationality)"
    r"|(?P<education>(?:major|degree|thesis|school|university|college))"
    r"|(?P<health>(?:blood (?:type|group|pressure)|(?:\w+ )?allerg(?:y|ies)|(?:left |right |bad )?(?:knee"
    r"|back|eyesight|hearing|asthma|shoulder|ankle)))"
    r"|(?P<hobby>(?:main |biggest )?(?:hobby|hobbies|pastime))|(?P<car>car|bike|motorbike|van)|(?P<pronouns>pronouns)"
    r"|(?P<goal>goal|dream|biggest dream|aim)|(?P<favourite>favou?rite \w+(?: \w+){0,2})",
    re.IGNORECASE,
)

EVENT_NOUN: Final = re.compile(
    r"\b(?:appointment|interview|exam|test|meeting|flight|trip|wedding|party|concert|gig|deadline|surgery"
    r"|operation|check-?up|viewing"
    r"|presentation|recital|race|match|game|tournament|conference|class|lesson|date|reservation|tickets?"
    r"|holiday|vacation|baby shower"
    r"|graduation|festival|museum|exhibition|gallery|workshop|seminar|retreat|parade|support group"
    r"|fundraiser|charity (?:run|race|event)|play|musical|camp(?:ing)?|hike|protest|market|theatre|theater"
    r"|zoo|aquarium|ceremony|audition|rehearsal|scan|marathon|show|reunion|funeral|move)s?\b",
    re.IGNORECASE,
)
NOT_HELD: Final = re.compile(
    r"^(?:(?:a|an|any|some|no|the|this|that|one|two|few|couple|lots?|bit|little|quick|big|huge|weird|silly"
    r"|other|another|more|"
    r"good|great|bad|hard|lovely|nice|rough|long|busy|tough|fun|such|much|enough|all|so|many|of|every|my"
    r"|your|it|to|really|three|four|five|six|seven|eight|nine|ten|\d+|"
    r"follow-?up|related|similar|new|different|strange|few more)\s+)*"
    r"(?:question|idea|problem|feeling|point|look|time|chance|plan|day|night|week|weekend|morning|fun|lot"
    r"|trouble|doubt|issue|thought|go"
    r"|choice|news|clue|luck|say|reason|concern|suggestion|request|try|way|faith|hope|breakfast|lunch"
    r"|dinner|coffee|tea|drink|shower|nap"
    r"|headache|cold|break|seat|sense|crush|laugh|chat|talk|fight|mind|it|that|this|them|you|been|to"
    r"|nothing|everything|anything|something"
    r"|no|blast|ball|thing|stuff|work|half|favou?r|conversation|guest|guests|visitor|heart|guts|energy"
    r"|patience|tip|tips)\w*\b",
    re.IGNORECASE,
)
"""What one can "have" without its being a possession."""
