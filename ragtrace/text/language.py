"""Which of our two languages a text is in."""

from __future__ import annotations

import re

from ragtrace.model import Language

CJK_SHARE = 0.15
"""Above this share of Chinese characters among the letters, a text is Chinese: English names and terms are
common inside Chinese sentences, Chinese characters inside English ones are not."""

_CJK = re.compile("[㐀-鿿豈-\ufaff\U00020000-\U0003134f]")


def is_cjk(char: str) -> bool:
    """Whether ``char`` is a Chinese character."""
    return "㐀" <= char <= "鿿" or "豈" <= char <= "\ufaff" or "\U00020000" <= char <= "\U0003134f"


def detect_language(*texts: str | None) -> Language:
    """The language of ``texts`` taken together: ``zh`` if more than 15 % of their letters are Chinese,
    else ``en``."""
    if all(text is None or text.isascii() for text in texts):
        return "en"
    joined = "".join(filter(None, texts))
    letters = sum(map(str.isalpha, joined))
    chinese = sum(map(str.isalpha, _CJK.findall(joined)))
    return "zh" if chinese > CJK_SHARE * letters else "en"
