"""How citation markers are written: one pattern a form, for text whose full-width digits are folded.

Groups: ``n`` a list of numbers, ``name`` a label, ``url`` an address. All repeats are bounded, because
answers may be hostile.
"""

from __future__ import annotations

import re

from ragtrace.text._phrases import one_of, words


def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.IGNORECASE)


OPEN, CLOSE = r"[\[［【〔]", r"[\]］】〕]"
WORD = one_of(
    words("sources? citations? cites? refs? references? docs? documents? passages? contexts? chunks?"),
    words("来源 资料 文档 文件 引用 参考(?:资料|文献)? 出处 文献 片段 段落"),
)
"""Says that what follows is a document."""
SEPARATOR = r"\s*[,;、，；&]\s*"
_NUMBER = r"\d{1,3}"
_RANGE = r"\s*(?:[-–—~～至到]|\.\.)\s*"
_ITEM = rf"(?:{WORD}\s*[:：#]?\s*)?\^?#?{_NUMBER}(?:{_RANGE}\^?{_NUMBER})?"
NUMBERS = rf"{_ITEM}(?:{SEPARATOR}{_ITEM})*"
"""``1``, ``1, 3-4``, ``Doc 1, Doc 2``."""
_SQUARE = rf"{OPEN}\s*{NUMBERS}\s*{CLOSE}"
_LEAD = (
    r"(?:\*{0,2}(?:\b(?:sources?|references?|citations?)|来源|出处|参考资料|引用)"
    r"\*{0,2}\s*[:：]\s*\*{0,2}\s*)"
)
_SEE = r"(?:see\s+|参见|见)?"
_TAG = "(?:cite|ref|citation|source)"
_CIRCLED = "①-⑳㉑-㉟❶-❿⓵-⓾"
SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_ADDRESS = r"[^()\s<>]{1,500}(?:\([^()\s<>]{0,80}\)[^()\s<>]{0,80})?"

PROVIDER = _pattern(rf"【(?P<n>{_NUMBER})(?::(?P<sub>{_NUMBER}))?†[^】\n]{{0,80}}】")
"""``【1†source】``, ``【4:0†source】``."""
WRAPPED = _pattern(rf"[(（]\s*(?:see\s+)?{_LEAD}?(?P<n>{_SQUARE}(?:\s*[,;、，；]?\s*{_SQUARE})*)\s*[)）]")
"""``([1], [2])``, ``(Source: [1])``."""
DOUBLE = _pattern(rf"\[\[\s*\^?(?P<n>{NUMBERS})\s*\]\](?:\([^)\n]{{0,500}}\))?")
"""``[[1]]``, ``[[1]](https://…)``."""
LINK = _pattern(
    r"\[(?P<name>[^\[\]\n]{1,200}|\[[^\[\]\n]{1,40}\])\]"
    rf"\(\s{{0,4}}<?(?P<url>{_ADDRESS})>?(?:\s{{1,4}}\"[^\"\n]{{0,200}}\")?\s{{0,4}}\)"
)
"""``[title](https://…)``."""
SQUARE = _pattern(rf"{_LEAD}?{OPEN}\s*(?P<n>{NUMBERS})\s*{CLOSE}")
"""``[1]``, ``[1, 3-4]``, ``【1】``, ``［1］``, ``[^1]``, ``[Document 1]``, ``[citation:1]``,
``来源：[1]``."""
TAG = _pattern(rf"<{_TAG}\b[^<>\n]{{0,200}}>\s*\[?\s*(?P<name>[^<>\n]{{1,120}}?)\s*\]?\s*</{_TAG}\s*>")
"""``<cite>1</cite>``, ``<ref>doc-1</ref>``."""
EMPTY_TAG = _pattern(
    rf"<{_TAG}\s+(?:id|doc|ref|source|n|index)\s*=\s*[\"']?(?P<name>[^\"'<>/\s]{{1,120}})[\"']?\s*/\s*>"
)
"""``<ref id="1"/>``."""
NAMED = _pattern(rf"[(（\[【]\s*{_SEE}{WORD}\s*[:：]\s*(?P<name>[^()（）\[\]【】\n]{{1,200}}?)\s*[)）\]】]")
"""``(Source: Refund policy)``, ``（来源：退款政策）``."""
ROUND_WITH_WORD = _pattern(rf"[(（]\s*{_SEE}{WORD}\s*#?(?P<n>{NUMBERS})\s*[)）]")
"""``(doc 1)``."""
BRACKETED = _pattern(rf"{OPEN}(?P<name>[^\[\]［］【】〔〕\n]{{1,120}}){CLOSE}")
"""``[doc-1]``, and anything else in square brackets."""
RAISED_TAG = _pattern(rf"<sup>\s*\[?(?P<n>{NUMBERS})\]?\s*</sup>")
"""``<sup>1</sup>``."""
CARET = _pattern(
    rf"\^\[?(?P<n>{NUMBERS})\]?\^|(?:(?<=[^\W\d_]{{2}})|(?<=[㐀-鿿]))\^(?P<m>{_NUMBER})(?![\w^])"
)
"""``^1^``, ``^1``."""
CIRCLES = _pattern(rf"[{_CIRCLED}](?:\s{{0,4}}[{_CIRCLED}])*")
"""``①②``."""
RAISED = _pattern(rf"[{SUPERSCRIPT}]+(?:[,˒⸴ʼ’·][{SUPERSCRIPT}]+)*")
"""``¹``, ``¹,²``."""
ROUND = _pattern(rf"[(（]\s*(?P<n>{NUMBERS})\s*[)）]")
"""``(1)``."""

# --- what stands around a marker --------------------------------------------------------------------------

UNIT_BEFORE_POWER = _pattern(r"(?:^|[^A-Za-z])(?:[kcmdnµμ]?m|ft|in|yd|mi|sec|mc|[A-Za-z])$")
YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d$")
COUNTED = _pattern(
    r"(?:\b(?:sections?|step|item|option|article|clause|paragraph|part|rule|point|figure|table|equation"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|twelve)|[第条款步项])\s*$"
)
"""Before a round bracket: it holds a count or the number of something else."""
CALLED = re.compile(r"[A-Za-z0-9_(\-+*/=,]$")
"""Directly before a round bracket: a function call or a formula."""
CLAUSE_END = re.compile(r"\s*(?:$|[.,;:!?。，；：！？、)）\n\]|]|[(（]\s*\d)")
CIRCLE = re.compile(f"[{_CIRCLED}]")
