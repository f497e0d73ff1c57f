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
_OFFER = (
    r"(?:how|what) (?:can|may|could) (?:i|we) (?:help|assist|do for)\b[^.!?]{0,40}",
    r"(?:is there |do you have |have you )?any(?:thing|(?: other)? questions?)\b[^.!?]{0,40}",
    r"(?:can|may|could) (?:i|we) (?:help|assist)\b[^.!?]{0,40}",
    "(?:请问)?(?:您|你)?(?:还)?有(?:什么|任何|其他|哪些)[^。！?]{0,8}(?:帮|问题|需要|效劳)[^。！?]{0,12}",
    "(?:请问)?(?:您|你)?(?:还)?需要(?:我|我们)?(?:为您|为你)?(?:什么|任何|其他)?(?:帮助|帮忙)[^。！?]{0,6}",
    "我(?:能|可以)[^。！?]{0,4}(?:帮|为)(?:您|你)?[^。！?]{0,8}",
)
"""Questions that ask nothing: they offer help."""
_GREETING = (
    "(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening|day))(?: (?:there|all|again|everyone))?",
    "(?:many )?thanks(?: a lot)?|thank you(?: (?:so|very) much)?|bye|goodbye",
    "(?:can|could) you help(?: me)?(?: with something)?",
    "(?:你|您|大家)好呀?|早上好|上午好|下午好|晚上好|早安|哈喽|嗨|在吗|在不在|谢谢(?:你|您)?|多谢|再见",
)
_PLEASANTRY = re.compile(rf"\W*{one_of(*_EN, *_ZH)}\W*", re.IGNORECASE)
_OFFERS_HELP = re.compile(rf"\W*{one_of(*_OFFER)}\W*", re.IGNORECASE)
_GREETINGS = re.compile(rf"\W*(?:{one_of(*_GREETING)}\W*)+", re.IGNORECASE)
_ANNOUNCES = re.compile(r"(?:[^\d０-９㐀-鿿]{0,120}|[^\d０-９]{0,40})[:：]\W*")
"""Announces a list: no number before the colon, and not so long that it says something itself."""

_QUESTION_END = re.compile(r"[?？][\"'”’」』）)*]*$")
_LIST_LABEL = re.compile(r"\W*(?:sources?|references?|来源|参考(?:资料|文献)?|引用|出处)\W*", re.IGNORECASE)
_EN_YES_NO = (
    r"(?:yes|no|yep|yeah|nope|correct|right|indeed|definitely|absolutely|not at all)"
    r"(?:, ?(?:you|it|they|we|that|there|this|i|he|she) "
    r"(?:can|may|do|does|did|is|are|was|will|should|must|has|have)(?:n't| ?not)?)?"
    r"|you (?:can(?:'t|not)?|may(?: not)?)|(?:it|that) (?:is|does)(?:n't| not)?"
)
_ZH_YES_NO = (
    "(?:是的?|对的?|没错|不是的?|否|不对|可以的?|不可以|不能|不会|能的?|会的?|行的?|不行|不支持|支持的?|有的?|没有|不需要|需要的?"
    "|不用|不允许|允许的?|不必|必须)"
)
_YES_NO = re.compile(
    rf"\W*(?:{_EN_YES_NO}|{_ZH_YES_NO}(?:[，,、]\s*(?:您|你)?{_ZH_YES_NO})?)\W*", re.IGNORECASE
)
_EVASIVE = re.compile(
    r"\W*(?:well,? )?(?:(?:it|that|this) (?:really |all )?(?:depends|varies)"
    r"|(?:it is|it's) (?:hard|difficult) to say)"
    r"(?: (?:up)?on [^,;:.\d]{0,60}| (?:from|by|with) [^,;:.\d]{0,40}| a lot| widely)?\W*"
    r"|\W*(?:这|那|这个|具体|一般|通常)?(?:要|得|需要?|都|主要)?(?:看|视|取决于|根据)"
    r"(?:您的|你的|个人|具体|实际|不同)*"
    r"(?:情况|需求|条件|因素|场景|而定|的)*(?:而定|来定|决定|而异|来看|处理)?(?:的|吧|了)?\W*"
    r"|\W*(?:因人而异|不一定|不好说|很难说|说不准|不确定)\W*",
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
    return not (is_courtesy(plain) or says_not_in_documents(plain) or is_evasive(plain))


def is_yes_or_no(text: str) -> bool:
    """Whether ``text`` is a bare yes or no: a claim when it is all there is, a repetition before an
    explanation."""
    return bool(_YES_NO.fullmatch(text))


def is_evasive(text: str) -> bool:
    """Whether the sentence ``text`` says only that one cannot say: "It depends.", "视情况而定。"."""
    return bool(_EVASIVE.fullmatch(text))


def is_greeting(text: str) -> bool:
    """Whether the whole ``text`` only greets, thanks or asks for attention: nothing is asked that could be
    answered."""
    return bool(_GREETINGS.fullmatch(text))


def is_small_talk(sentence: str) -> bool:
    """Whether one sentence of an answer only greets, thanks or offers help. "Could you tell me your order
    number?" does more: it asks."""
    plain = sentence.strip()
    if _QUESTION_END.search(plain):
        return bool(_OFFERS_HELP.fullmatch(plain) or _GREETINGS.fullmatch(plain))
    return bool(_PLEASANTRY.fullmatch(plain)) or is_courtesy(plain)
