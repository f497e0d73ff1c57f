"""How English answers decline, apologise and offer help. Patterns for one clause in lower case."""

from __future__ import annotations

import re

from ragtrace.text._phrases import one_of, words

_NOT = one_of(
    r"do(?:es)?(?:n't| not)",
    r"did(?:n't| not)",
    r"fails? to",
    "never",
    r"can(?:'t|not| not)",
    r"could(?:n't| not)",
    r"is(?:n't| not)",
    r"are(?:n't| not)",
)
_DOCUMENTS = one_of(
    words(
        "documents? documentation docs? contexts? passages? sources? texts? materials? excerpts? snippets?"
    ),
    "knowledge base",
    "search results?",
    words("provided given retrieved available supplied above") + r" (?:\w+ ){0,2}\w+",
)
_BOOKS = words(
    "manual handbook policy policies articles? guide pages? report results? records? files? answer it they"
)
_SAY = words(
    "say mention specify state indicate explain address discuss describe reveal disclose tell detail answer"
    " talk"
)
_HOLD = words("contain include provide cover give list have offer hold show")
_INFORMATION = words(
    "information info details? answers? mention knowledge context data evidence documentation documents?"
)
_TOLD_OF = words("information info details? answers? mention knowledge documentation documents?")
_WE = r"(?:^|\b(?:that|so|and|because|thus|therefore|but) )(?:i|we)(?:'m| am|'re| are|'ve| have| was| were)?"
_I_AM = r"(?:i'm |i am |we are |we're )?"
_ADVERB = r"(?:currently |really |actually |unfortunately |also |still |just |therefore )?"
_CANNOT = (
    _ADVERB
    + one_of(
        "don't|do not|didn't|did not|can't|cannot|can not|couldn't|could not",
        "won't be able to|wasn't able to|weren't able to|not able to|unable to",
    )
    + f" {_ADVERB}"
)
_IS_NOT = r"\b(?:is|are|was|were|been)(?:n't| not) (?:\w+ )?"
_IS_NOT_AT_ONCE = r"(?:is|are|was|were)(?:n't| not) (?:\w+ )?"
_TOLD = words("mentioned specified stated documented addressed indicated disclosed discussed")
_HELD = words("provided given covered included found available listed described present contained")
_THIS_TOPIC = one_of("that", "this", "it", "such", "any information", "the topic", "this topic", "that topic")

_FIRST_PERSON = (
    rf"{_WE} ?{_CANNOT}" + words("know find determine locate answer say tell identify assist help") + r"\b",
    rf"{_WE} ?{_CANNOT}(?:\w+ ){{1,4}}?{_INFORMATION}\b",
    rf"{_WE} ?(?:have|found|see|could find|can find) no {_INFORMATION}\b",
    r"^(?:unable|not able) to (?:answer|find|determine|locate|provide)\b",
    rf"^{_I_AM}(?:idk|dunno|no idea|not sure|unsure|not certain|not aware of)\b",
)
_NOTHING_THERE = (
    r"^(?:n/?a|unknown|unanswerable|(?:none|nothing|not) found|no answer|no results?(?: found)?)\W*$",
    r"\b(?:not enough|insufficient) (?:\w+ )?(?:information|context|details)\b",
    # "There is no evidence of harm" is an answer: evidence must be lacking in the documents.
    rf"\bno (?:\w+ ){{0,3}}{_TOLD_OF} (?:\w+ ){{0,6}}?(?:in|from|within|provided|available|given|found)\b",
    rf"\b(?:no|not enough|insufficient) (?:\w+ ){{0,3}}(?:evidence|data) (?:\w+ ){{0,6}}?"
    rf"(?:(?:in|from|within) (?:\w+ ){{0,3}}?{_DOCUMENTS}|to answer|to determine)\b",
    r"^(?:there is|there's|there are|i see|we have) no (?:\w+ ){0,2}"
    r"(?:information|mention|details?|answer)\b",
)
_DOCUMENTS_LACK_IT = (
    rf"\b{_DOCUMENTS}\b[^.?!]{{0,40}}? {_NOT} (?:\w+ ){{0,2}}?(?:{_SAY}|{_HOLD})\b",
    # "The policy does not cover water damage" is an answer, so books must be silent, not merely exclude.
    rf"\b{_BOOKS}\b[^.?!]{{0,30}}? {_NOT} (?:\w+ )?{_SAY}\b",
    rf"\b(?:handbook|manual|documentation|guide|faq)\b[^.?!]{{0,30}}? {_NOT} (?:\w+ )?"
    rf"(?:cover|contain|include) {_THIS_TOPIC}\b",
    rf"\binformation (?:provided|given|available|supplied)\b[^.?!]{{0,20}}? {_NOT} (?:{_SAY}|{_HOLD})\b",
    rf"\bnone of the (?:\w+ )?{_DOCUMENTS}\b[^.?!]{{0,30}}?(?:{_SAY}|{_HOLD})",
    rf"{_IS_NOT}{_TOLD}(?:\W*$|\b[^.?!]{{0,60}}\b{_DOCUMENTS})",
    rf"{_IS_NOT}{_HELD} (?:in|by|from|within) (?:\w+ ){{0,3}}?{_DOCUMENTS}",
)
_ANY_SOURCE = one_of(
    _DOCUMENTS, _BOOKS, words("faq leaflet brochure page website wiki database book guideline")
)
_SILENT = (
    # "The handbook says nothing about it": affirmative in form.
    rf"\b{_ANY_SOURCE}s?\b[^.?!]{{0,30}}? (?:says?|said|states?|has|have|contains?|mentions?|offers?|gives?) "
    r"nothing (?:about|on|regarding|concerning|of)\b",
    rf"\b{_ANY_SOURCE}s?\b[^.?!]{{0,30}}? "
    r"(?:has|have|contains?|gives?|offers?|provides?|holds?|includes?|makes?) no "
    rf"(?:(?:\w+ ){{0,2}}?{_TOLD_OF}|entry|word|section)\b",
    rf"\bnothing (?:\w+ ){{0,3}}?(?:about|on|regarding|concerning) [^.?!]{{1,60}} (?:in|from|within) "
    rf"(?:\w+ ){{0,3}}?{_ANY_SOURCE}",
    rf"\b{_ANY_SOURCE}s?\b[^.?!]{{0,20}}? (?:is|are|remains?) silent\b",
    rf"^(?:that|this|it|this topic|that topic|your question) {_IS_NOT_AT_ONCE}{_HELD} "
    rf"(?:in|by|from|within) (?:\w+ ){{0,3}}?{_ANY_SOURCE}",
)
_CANNOT_BE_TOLD = (
    r"\b(?:answer|question|information|this|that|it)\b[^.?!]{0,30}?"
    r" (?:cannot|can't|can not|could not|couldn't) be (?:found|determined|answered|located)\b",
    r"\b(?:cannot|can't|can not) be (?:answered|determined) (?:from|based on|with|using)\b",
    r"\b(?:not possible|impossible) to (?:answer|determine|say|tell|know|find)\b",
    r"\b(?:outside|beyond) (?:of )?(?:the scope|my (?:scope|knowledge))\b",
)
DECLINES = re.compile(
    one_of(*_FIRST_PERSON, *_NOTHING_THERE, *_DOCUMENTS_LACK_IT, *_SILENT, *_CANNOT_BE_TOLD)
)
"""Found in a clause that declines."""

SIGNS = (
    *("n't", "not", "no ", "none", "never", "nothing", "fail", "unable", "unsure", "unknown", "unanswerable"),
    *("idk", "dunno", "n/a", "na", "insufficient", "impossible", "outside", "beyond", "silent"),
)
"""One of these is in every text that :data:`DECLINES` finds something in: most have none of them, and looking
for these costs a hundredth."""

_ASK = words("contact check consult ask reach try refer visit look")
_POLITE = (
    rf"{_I_AM}(?:very |so |really )?sorry(?: (?:for|about|to hear)\b.*)?\W*$",
    r"(?:my |i |we )?apolog",
    r"(?:unfortunately|regrettably|i'm afraid|sure|okay|ok)\W*$",
    "i regret",
    "thank",
    r"(?:hi|hello|hey|dear)\b",
)
_OFFERS = (
    "(?:please )?(?:feel free|let me know|do not hesitate|don't hesitate)",
    r"if (?:you|there)\b.*\b(?:any|more|further|other|additional|specific|another)\b.*\b"
    + words("questions? help information details assistance documents? context"),
    "if you (?:can|could|would|are able to)(?: like to)? (?:provide|share|give|rephrase|clarify|specify)",
    r"if you\b.*\b(?:let me know|feel free)",
    "(?:i'm|i am|i'd be|i would be) (?:here|happy|glad)",
    r"(?:could|would|can|do|may) (?:you|i)\b",
    "is there anything",
    "how (?:can|may) i",
)
_ELSEWHERE = (
    "please "
    + one_of(
        words("contact check consult provide refer ask clarify rephrase try share visit reach see look"),
        words("specify upload"),
        "get in touch",
    ),
    "(?:contact|consult|reach out|check with|try asking|ask) ",
    "you (?:may|might|can|could|should|will need to)"
    rf"(?: want to| wish to| also| try to| need to)? {_ASK}",
    "(?:i|we)(?: would|'d)? (?:recommend|suggest|advise)",
    r"(?:for|to get|to find|to obtain) (?:more|further|this|that|additional|an? accurate|accurate)\b"
    r".*\b(?:information|details|help|assistance|answer)\b",
)
_OTHER_TOPIC = (
    rf"(?:the|these|those|they|it|all|both) ?(?:\w+ ){{0,2}}?(?:{_DOCUMENTS}|they|it)?\b ?"
    "(?:only|just|mainly|primarily|instead) "
    + words("mention cover describe discuss contain talk focus address provide state say deal refer")
)
COURTESY = re.compile(f"^{one_of(*_POLITE, *_OFFERS)}")
"""Begins a clause that is an apology or an offer, and states nothing."""

NEUTRAL = re.compile(f"^{one_of(*_POLITE, *_OFFERS, *_ELSEWHERE, _OTHER_TOPIC)}")
"""Begins a clause that is an apology, an offer, a word on where to ask, or on what the documents are of."""

_OPENING_WORDS = one_of(
    rf"{_I_AM}(?:very |so |really )?sorry",
    words("unfortunately apologies regrettably however hmm well actually so"),
    "i'm afraid|i am afraid",
)
_OPENING_PHRASES = one_of(
    "based (?:solely |only )?on [^,]{1,80}",
    "according to [^,]{1,80}",
    "(?:from|given|in|from what) [^,]{1,60}",
    "as far as [^,]{1,40}",
    "after (?:reviewing|checking|searching|reading) [^,]{1,60}",
)
PREFIX = re.compile(rf"^(?:(?:{_OPENING_WORDS}[,:.!]?|{_OPENING_PHRASES},) +(?:(?:but|that) )?)+")
"""What may stand before the clause proper."""

CLAUSE = re.compile(
    r"\s*[;；—]\s*"
    r"|\s*,?\s+\b(?:but|however|though|although|nevertheless|yet|whereas)\b,?\s*"
    r"|,\s+(?:and|so)\s+"
)
"""Between clauses."""

CONDITION = re.compile(r"^(?:if|when|unless|where|should)\b")
"""Begins a clause that tells of a case: "If you cannot find the receipt, …"."""
