"""An embedder that is asked in a language it does not understand: measured once per script, and said once.

Many models read English only. They give a vector to Chinese too, and nobody notices that it means nothing. So the
first text in another script has four questions of that script matched with four answers that share no word with
them. A model that does this in English, and not there, does not understand the script.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from ..errors import for_log
from ..protocols import Embedder, Floats
from ..text.language import script

logger = logging.getLogger("siltstone")

Pairs = tuple[tuple[str, str], ...]

_MULTILINGUAL: Final = re.compile(r"multilingual|bge-m3", re.IGNORECASE)
"""Names that promise many languages: they are not put to the test."""
_ENOUGH: Final = 3
"""Right matches of four. multilingual-e5-small has 3 or 4 in every script below, all-MiniLM-L6-v2 at most 2."""

ENGLISH: Final[Pairs] = (
    ("I have a cat.", "Which pet is at home?"),
    ("I am a nurse in a hospital.", "What is your profession?"),
    ("He runs every morning.", "Who likes sport?"),
    ("Mum's dumplings are tasty.", "Which dish is good?"),
)
OTHERS: Final[dict[str, tuple[str, Pairs]]] = {  # by script: the language, and the same four pairs in it
    "han": (
        "Chinese",
        (
            ("我养了一只猫。", "家里有什么宠物？"),
            ("我在医院当护士。", "你的职业是什么？"),
            ("他每天早上跑步。", "谁喜欢锻炼身体？"),
            ("妈妈包的饺子很香。", "哪道菜好吃？"),
        ),
    ),
    "kana": (
        "Japanese",
        (
            ("うちに猫がいます。", "どんなペットを飼っていますか？"),
            ("病院で看護師をしています。", "お仕事は何ですか？"),
            ("彼は毎朝走っている。", "運動が好きな人は誰？"),
            ("母の餃子はうまい。", "おいしい料理はどれ？"),
        ),
    ),
    "hangul": (
        "Korean",
        (
            ("우리 집에 고양이가 있어요.", "어떤 반려동물을 키우나요?"),
            ("저는 병원에서 일하는 간호사예요.", "직업이 무엇입니까?"),
            ("그는 매일 아침 달린다.", "누가 운동을 좋아해?"),
            ("엄마의 만두는 맛있다.", "어떤 음식이 좋아?"),
        ),
    ),
    "cyrillic": (
        "Russian",
        (
            ("У меня живёт кошка.", "Какое у вас домашнее животное?"),
            ("Я работаю медсестрой в больнице.", "Кто вы по профессии?"),
            ("Он бегает каждое утро.", "Кто любит спорт?"),
            ("Мамины пельмени очень вкусные.", "Какое блюдо лучше всего есть?"),
        ),
    ),
    "greek": (
        "Greek",
        (
            ("Έχω μια γάτα.", "Ποιο κατοικίδιο ζει στο σπίτι;"),
            ("Είμαι νοσοκόμα στο νοσοκομείο.", "Τι επάγγελμα κάνεις;"),
            ("Τρέχει κάθε πρωί.", "Ποιος αγαπά τον αθλητισμό;"),
            ("Οι πίτες της μαμάς είναι νόστιμες.", "Ποιο φαγητό είναι καλό;"),
        ),
    ),
    "arabic": (
        "Arabic",
        (
            ("لدي قطة في البيت.", "ما هو حيوانك الأليف؟"),
            ("أعمل ممرضة في المستشفى.", "ما هي مهنتك؟"),
            ("هو يركض كل صباح.", "من يحب الرياضة؟"),
            ("فطائر أمي لذيذة.", "أي طعام جيد؟"),
        ),
    ),
    "devanagari": (
        "Hindi",
        (
            ("मेरे पास एक बिल्ली है।", "घर में कौन सा पालतू जानवर है?"),
            ("मैं अस्पताल में नर्स हूँ।", "आपका पेशा क्या है?"),
            ("वह हर सुबह दौड़ता है।", "व्यायाम किसे पसंद है?"),
            ("माँ के पकौड़े स्वादिष्ट हैं।", "कौन सा खाना अच्छा है?"),
        ),
    ),
    "thai": (
        "Thai",
        (
            ("ฉันเลี้ยงแมวหนึ่งตัว", "มีสัตว์เลี้ยงอะไรที่บ้าน"),
            ("ฉันเป็นพยาบาลในโรงพยาบาล", "คุณประกอบอาชีพอะไร"),
            ("เขาวิ่งทุกเช้า", "ใครชอบออกกำลังกาย"),
            ("เกี๊ยวของแม่อร่อยมาก", "อาหารจานไหนน่ากิน"),
        ),
    ),
}


class LanguageWatch:
    """Any ``Embedder``; a warning is logged, once, for each script of its documents that it does not understand.

    The first text in a script costs one call with 16 short sentences, unless the model's name says that it is
    multilingual. A test that fails is taken up again with the next such text. Thread-safe.
    """

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self._tried: set[str] = set()
        self._trusted = _MULTILINGUAL.search(inner.name) is not None

    @property
    def name(self) -> str:
        """Identity of the model."""
        return self._inner.name

    @property
    def dim(self) -> int:
        """Width of a vector."""
        return self._inner.dim

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return one row per text, ``(n, dim)``."""
        rows = self._inner.embed_documents(texts)
        if not self._trusted:
            for text in texts:
                if not text.isascii() and (found := script(text)) in OTHERS and found not in self._tried:
                    self._try(found)
        return rows

    def embed_query(self, text: str) -> Floats:
        """Return the vector of a question, ``(dim,)``."""
        return self._inner.embed_query(text)

    def _try(self, found: str) -> None:
        language, pairs = OTHERS[found]
        self._tried.add(found)
        try:
            right, in_english = matched(self._inner, pairs, ENGLISH)
        except Exception as exc:  # the texts have their vectors; only the test is missing
            self._tried.discard(found)
            logger.info("whether %r understands %s is not known: %s", self.name, language, for_log(exc))
            return
        if right < _ENOUGH and in_english == len(ENGLISH):
            logger.warning(
                "the embedder %r does not understand %s: it finds %d of 4 answers in a test, and all 4 in English. "
                "Such texts are stored, and found by their words but hardly by their meaning. Take a multilingual "
                "model: 'siltstone reembed --store FOLDER' moves a store to the embedded one",
                self.name,
                language,
                right,
            )


def understands(embedder: Embedder, found: str) -> bool:
    """Return whether a model understands a script of ``OTHERS``, or promises to, or fails in English too."""
    if _MULTILINGUAL.search(embedder.name):
        return True
    right, in_english = matched(embedder, OTHERS[found][1], ENGLISH)
    return right >= _ENOUGH or in_english < len(ENGLISH)


def matched(embedder: Embedder, *tests: Pairs) -> list[int]:
    """Return, for each test, how many of its questions are nearest to their own answer, in one call.

    What a text has in common with all others is taken out first, as some are near to everything.
    """
    rows = embedder.embed_documents([text for pairs in tests for pair in pairs for text in pair])
    found, start = [], 0
    for pairs in tests:
        answers, questions = rows[start : start + 2 * len(pairs) : 2], rows[start + 1 : start + 2 * len(pairs) : 2]
        near = questions @ answers.T
        near = near - near.mean(axis=0) - near.mean(axis=1, keepdims=True)
        best = near.argmax(axis=1) == np.arange(len(pairs))
        found.append(int(np.count_nonzero(best & (np.ptp(near, axis=1) > 1e-4))))
        start += 2 * len(pairs)
    return found
