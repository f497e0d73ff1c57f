"""Which pieces of an answer state something that documents could support.

Greetings, questions, offers to help, announcements of a list and "the documents do not say" need no source;
counting them dilutes every share.
"""

from __future__ import annotations

import re

from ragtrace.text._phrases import one_of
from ragtrace.text.abstain import is_courtesy, says_not_in_documents
from ragtrace.text.structure import LineKind

_UNWORTHY_KINDS = frozenset({LineKind.CODE, LineKind.HEADING, LineKind.TABLE_HEADER, LineKind.SOURCE})

_EN = (
    r"(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening))\b[^.!?]{0,24}",
    "(?:sure|certainly|of course|absolutely|okay|ok|great|good|excellent|no problem)(?: thing)?",
    "thanks|thank you|you're welcome",
    "(?:that's |what )?(?:an? )?(?:great|good|excellent|interesting) question[^.!?]{0,20}",
    "(?:thanks|thank you) for [^.!?]{0,60}",
    r"i(?: hope|(?:'m| am) (?:glad|happy)|(?:'d| would|'ll) be happy)\b[^.!?]{0,80}",
    "(?:i'm )?(?:always )?(?:happy|glad) to (?:help|assist)[^.!?]{0,40}",
    "hope (?:this|that|it) helps[^.!?]{0,20}",
    "let me (?:know|explain|check|help)[^.!?]{0,80}",
    r"here(?:'s| is| are)[^.!?\d]{0,60}:",
    "in (?:summary|short|conclusion)|to summari[sz]e|overall",
)
_ZH = (
    "你好|您好|当然(?:可以)?|好的|没问题|不客气|谢谢[^。！]{0,10}",
    "感谢您?的?(?:提问|咨询|询问)[^。！]{0,10}",
    "很高兴(?:为您|能)[^。！]{0,16}",
    "希望[^。！]{0,20}(?:帮助|有用)[^。！]{0,6}",
    "(?:如果|如)?您?(?:还|如)?有(?:其他|任何|更多)[^。！]{0,8}(?:问题|疑问|需要|需求)[^。！]{0,30}",
    "欢迎(?:随时|您|你)[^。！]{0,20}",
    r"综上所述|总之|总的来说|总结一下|以下是[^。！\d]{0,30}",
)
_PLEASANTRY = re.compile(rf"\W*{one_of(*_EN, *_ZH)}\W*", re.IGNORECASE)
_ANNOUNCES = re.compile(r"(?:[^\d０-９㐀-鿿]{0,120}|[^\d０-９]{0,40})[:：]\W*")
"""Announces a list: no number before the colon, and not so long that it says something itself."""

_QUESTION_END = re.compile(r"[?？][\"'”’」』）)*]*$")
_LIST_LABEL = re.compile(r"\W*(?:sources?|references?|来源|参考(?:资料|文献)?|引用|出处)\W*", re.IGNORECASE)
_YES_NO = re.compile(
    r"\W*(?:yes|no|yep|nope|correct|right|是的?|不是|否|对的?|不对|可以|不可以|能|不能|会|不会)\W*",
    re.IGNORECASE,
)


def is_check_worthy(text: str, kind: LineKind = LineKind.TEXT) -> bool:
    """Whether the piece ``text``, from a line of ``kind``, makes a factual statement."""
    if kind in _UNWORTHY_KINDS or not any(map(str.isalnum, text)):
        return False
    plain = text.strip()
    if _QUESTION_END.search(plain) or _PLEASANTRY.fullmatch(plain) or _LIST_LABEL.fullmatch(plain):
        return False
    if _ANNOUNCES.fullmatch(plain):
        return False
    return not (is_courtesy(plain) or says_not_in_documents(plain))


def is_yes_or_no(text: str) -> bool:
    """Whether ``text`` is a bare yes or no: a claim when it is all there is, a repetition before an
    explanation."""
    return bool(_YES_NO.fullmatch(text))
