"""Does an answer decline to answer?

A sentence is read clause by clause. A clause *declines* ("I cannot find that", "资料中没有相关信息"), is
*neutral* (an apology, an offer to help, where to ask instead), or says something. A sentence declines
when one of its clauses does and none says something; an answer abstains when one of its sentences
declines and the rest are neutral. So "The documents do not give the fee, but refunds take 3 days" is an
answer.
"""

from __future__ import annotations

import re

from ragtrace.model import Language
from ragtrace.text.language import detect_language
from ragtrace.text.sentences import sentences

_NOT = r"(?:do(?:es)?(?:n't| not)|did(?:n't| not)|fails? to|never|can(?:'t|not| not)|could(?:n't| not)|is(?:n't| not)|are(?:n't| not))"
_DOCUMENTS = (
    r"(?:documents?|documentation|docs?|context|contexts|passages?|sources?|texts?|materials?|excerpts?|snippets?"
    r"|knowledge base|search results?|(?:provided|given|retrieved|available|supplied|above) (?:\w+ ){0,2}\w+)"
)
_ARTICLES = r"(?:manual|handbook|policy|policies|article|articles|guide|page|pages|report|results|records?|file|files|answer|it|they)"
_SAY = r"(?:say|mention|specify|state|indicate|explain|address|discuss|describe|reveal|disclose|tell|detail|answer|talk)"
_HOLD = r"(?:contain|include|provide|cover|give|list|have|offer|hold|show)"
_INFORMATION = (
    r"(?:information|info|details?|answers?|mention|knowledge|context|data|evidence|documentation|documents?)"
)
_SUBJECT = (
    r"(?:^|\b(?:that|so|and|because|thus|therefore|but) )(?:i|we)(?:'m| am|'re| are|'ve| have| was| were)?"
)
_ADVERB = r"(?:currently |really |actually |unfortunately |also |still |just |therefore )?"
_UNABLE = (
    rf"(?:{_ADVERB}(?:don't|do not|didn't|did not|can't|cannot|can not|couldn't|could not|won't be able to"
    rf"|wasn't able to|weren't able to|not able to|unable to)) {_ADVERB}"
)

_DECLINES_EN = re.compile(
    "|".join(
        (
            rf"{_SUBJECT} ?{_UNABLE}(?:know|find|determine|locate|answer|say|tell|see any|identify|assist|help)\b",
            rf"{_SUBJECT} ?{_UNABLE}(?:\w+ ){{1,4}}?{_INFORMATION}\b",
            rf"{_SUBJECT} ?(?:have|found|see|could find|can find) no {_INFORMATION}\b",
            r"^(?:unable|not able) to (?:answer|find|determine|locate|provide)\b",
            r"^(?:i'm |i am |we are |we're )?(?:idk|dunno|no idea|not sure|unsure|not certain|not aware of)\b",
            r"^(?:n/?a|unknown|unanswerable|none found|nothing found|not found|no answer|no results?(?: found)?)\W*$",
            r"\b(?:not enough|insufficient) (?:\w+ )?(?:information|context|details|evidence|data)\b",
            rf"\bno (?:\w+ ){{0,3}}{_INFORMATION} (?:\w+ ){{0,6}}?(?:in|from|within|provided|available|given|found)\b",
            r"^(?:there is|there's|there are|i see|we have) no (?:\w+ ){0,2}(?:information|mention|details?|answer)\b",
            rf"\b{_DOCUMENTS}\b[^.?!]{{0,40}}? {_NOT} (?:\w+ ){{0,2}}?(?:{_SAY}|{_HOLD})\b",
            rf"\b{_ARTICLES}\b[^.?!]{{0,30}}? {_NOT} (?:\w+ ){{0,1}}?{_SAY}\b",
            r"\bnone of the (?:\w+ )?" + _DOCUMENTS + rf"\b[^.?!]{{0,30}}?(?:{_SAY}|{_HOLD})",
            r"\b(?:is|are|was|were|been)(?:n't| not) (?:\w+ )?(?:mentioned|specified|stated|documented|addressed|indicated"
            r"|disclosed|discussed)(?:\W*$|\b[^.?!]{0,60}\b" + _DOCUMENTS + ")",
            r"\b(?:is|are|was|were|been)(?:n't| not) (?:\w+ )?(?:provided|given|covered|included|found|available|listed"
            r"|described|present|contained) (?:in|by|from|within) (?:\w+ ){0,3}?" + _DOCUMENTS,
            r"\b(?:answer|question|information|this|that|it)\b[^.?!]{0,30}? (?:cannot|can't|can not|could not|couldn't) be"
            r" (?:found|determined|answered|located)\b",
            r"\b(?:cannot|can't|can not) be (?:answered|determined) (?:from|based on|with|using)\b",
            r"\b(?:not possible|impossible) to (?:answer|determine|say|tell|know|find)\b",
            r"\b(?:handbook|manual|documentation|guide|faq)\b[^.?!]{0,30}? "
            + _NOT
            + r" (?:\w+ )?(?:cover|contain|include) (?:that|this|it|any information|such|the topic|this topic|that topic)\b",
            r"\binformation (?:provided|given|available|supplied)\b[^.?!]{0,20}? "
            + _NOT
            + rf" (?:{_SAY}|{_HOLD})\b",
            r"\b(?:outside|beyond) (?:of )?(?:the scope|my (?:scope|knowledge))\b",
        )
    )
)
_NEUTRAL_EN = re.compile(
    r"^(?:(?:i'?m |i am |we are |we're )?(?:very |so |really )?sorry(?: (?:for|about|to hear)\b.*)?\W*$|(?:my |i |we )?apolog|unfortunately\W*$|regrettably\W*$"
    r"|i regret|i'm afraid\W*$|thank|hi\b|hello\b|hey\b|dear\b|sure\W*$|okay\W*$|ok\W*$"
    r"|(?:please )?(?:feel free|let me know|do not hesitate|don't hesitate)"
    r"|please (?:contact|check|consult|provide|refer|ask|clarify|rephrase|try|share|visit|reach|see|get in touch|look|specify|upload)"
    r"|(?:contact|consult|reach out|check with|try asking|ask) "
    r"|if (?:you|there)\b.*\b(?:question|help|information|details|assist|document|provide|share|rephrase|let me know|contact|need)"
    r"|you (?:may|might|can|could|should|will need to)(?: want to| wish to| also| try to| need to)? (?:contact|check|consult|ask|reach|try|refer|visit|look)"
    r"|(?:i|we)(?: would|'d)? (?:recommend|suggest|advise)|(?:i'm|i am|i'd be|i would be) (?:here|happy|glad)"
    r"|(?:could|would|can|do|may) (?:you|i)\b|is there anything|how (?:can|may) i"
    r"|(?:for|to get|to find|to obtain) (?:more|further|this|that|additional|an? accurate|accurate)\b.*\b(?:information|details|help|assistance|answer)\b"
    rf"|(?:the|these|those|they|it|all|both) ?(?:\w+ ){{0,2}}?(?:{_DOCUMENTS}|they|it)?\b ?(?:only|just|mainly|primarily|instead) "
    r"(?:mention|cover|describe|discuss|contain|talk|focus|address|provide|state|say|deal|refer|include|explain|concern|relate))"
)
_PREFIX_EN = re.compile(
    r"^(?:(?:(?:i'm |i am |we are |we're )?(?:very |so |really )?sorry|unfortunately|apologies|regrettably|however|hmm|well|actually|so|i'm afraid|i am afraid"
    r"|based (?:solely |only )?on [^,]{1,80}|according to [^,]{1,80}|from [^,]{1,60}|given [^,]{1,60}|as far as [^,]{1,40}"
    r"|after (?:reviewing|checking|searching|reading) [^,]{1,60}|in [^,]{1,60}|from what [^,]{1,60})[,:.!]? +(?:(?:but|that) )?)+"
)
_CLAUSE_EN = re.compile(
    r"\s*[;；—]\s*|\s*,?\s+(?:but|however|though|although|nevertheless|yet|whereas)\b,?\s*|,\s+(?:and|so)\s+"
)
_CONDITIONAL_EN = re.compile(r"^(?:if|when|unless|where|should)\b")

_DOCUMENTS_ZH = r"(?:资料|資料|文档|文檔|文件|文本|材料|上下文|知识库|知識庫|手册|手冊|原文|文中|内容|信息|资讯|参考|检索结果|搜索结果|段落|文章|片段|数据库|网页)"
_NO_ZH = r"(?:没有|沒有|并没有|未能|并未|並未|均未|都未|也未|未|并无|暂无|无|不包含|不包括|不涉及|找不到|没|不含|缺乏|缺少|不足以)"
_SAY_ZH = r"(?:提及|提到|说明|說明|包含|涉及|给出|給出|提供|记载|記載|介绍|描述|指出|写明|规定|列出|显示|明确|找到|回答|说|讲|谈到|覆盖|写)"
_INFORMATION_ZH = (
    r"(?:信息|資訊|资讯|内容|內容|资料|資料|说明|說明|描述|记载|答案|规定|数据|依据|介绍|记录|线索|文档|结果)"
)
_LEAD_ZH = (
    r"^(?:(?:非常|很|十分|真的|实在)?(?:抱歉|对不起|遗憾)|因此|所以|故|因而|目前|暂时|暂|也|就|我们?|本助手|小助手|但|那么|对此|恐怕"
    r"|(?:根据|依据|基于|按照|从|在|仅凭|通过)[^，,。]{1,30}?(?:中|里|内|上|来看|来说)?|(?:对于)?(?:这个|该|此|您的|你的)?问题|还|仍|真的|确实|这|这个)*"
)
_DECLINES_ZH = re.compile(
    "|".join(
        (
            rf"{_DOCUMENTS_ZH}[^，,。；]{{0,16}}?{_NO_ZH}[^，,。；]{{0,24}}?(?:{_SAY_ZH}|{_INFORMATION_ZH})",
            r"(?:没有|未能?|没能?|无法|找不到|查不到|并未|暂未)(?:在[^，,。]{1,20})?(?:找到|查到|检索到|搜索到|查询到|检索)"
            rf"[^，,。；]{{0,24}}?(?:{_INFORMATION_ZH}|相关|有关|关于|$)",
            rf"(?:找不到|查不到)[^，,。；]{{0,24}}?(?:{_INFORMATION_ZH}|相关|有关|关于|$)",
            rf"{_LEAD_ZH}(?:不知道|不清楚|不太清楚|不确定|不太确定|不了解|无从得知|不得而知|无可奉告|不晓得)",
            rf"{_LEAD_ZH}(?:无法|不能|没法|難以|难以|無法|未能|没办法)(?:准确|直接|为您|给您|为你|给你|确切|具体|就此|对此|据此|做出|作出|明确|完整|"
            r"(?:从|根据|依据)[^，,。]{1,20}?)*(?:回答|回复|作答|解答|答复|得知|获知|得出|判断|确定|知道|确认)",
            rf"{_LEAD_ZH}(?:无法|不能|没法|未能)[^，,。；]{{0,10}}?(?:提供|给出|告知|帮助|协助)[^，,。；]{{0,12}}?(?:{_INFORMATION_ZH}|回答|答复|帮助|您|你|$)",
            r"(?:信息|资料|依据|内容|证据|数据)(?:不足|不够|有限)",
            rf"(?:没有|缺乏|缺少|暂无|无|沒有)(?:足够|相关|有关|任何|对应|具体|可用|更多)的?{_INFORMATION_ZH}",
            rf"(?:没有|暂无|无)关于[^，,。；]{{1,30}}?{_INFORMATION_ZH}",
            r"(?:未|没有|并未|尚未)(?:明确)?(?:提及|提到|说明|给出|写明|记载)(?:[^，,。；]{0,16})$",
            r"超出[^，,。；]{0,16}?(?:范围|知识)",
        )
    )
)
_NEUTRAL_ZH = re.compile(
    r"^(?:(?:非常|很|十分|真的|实在|我)?(?:抱歉|对不起|遗憾|不好意思)|您好|你好|感谢|谢谢|请您?(?:您|你)?(?:联系|咨询|查阅|查看|参考|提供|补充|换|重新|访问|告诉|向|您|直接|核实|稍)"
    r"|建议(?:您|你|咨询|联系|查阅|查看|参考|直接|向|进一步|通过|访问)|您?(?:您|你)?(?:可以|可|不妨)(?:联系|咨询|查阅|查看|参考|提供|尝试|试试|通过|访问|向|直接|换)"
    r"|如(?:果|有|需|您)|若(?:您|你|有|需)|欢迎|希望|需要(?:我|更多)|以便|以获取|以获得|或(?:者)?(?:联系|咨询|查阅|查看|提供|访问|换)|我(?:会|将|很乐意|可以)"
    r"|(?:根据|依据|基于|按照|从|就|在)[^。]{0,25}(?:资料|文档|文件|文本|材料|上下文|知识库|手册|内容|信息|描述|结果|段落|文章|问题)(?:中|里|内|来看)?$|(?:关于|对于|至于|针对)[^。]{0,40}$|(?:您|你)(?:的问题|所?(?:问|询问|提到|提问|咨询|说))[^。]{0,30}$|这个问题$|因此$|所以$|好的$"
    rf"|(?:(?:现有|提供|给定|以上|这些|其中|检索到)*的?{_DOCUMENTS_ZH}?(?:中|里)?)(?:只|仅|主要|都是|均为)[^。]{{0,4}}?(?:提到|提及|介绍|说明|涉及|包含|描述|讨论|关于|讲))"
)
_CLAUSE_ZH = re.compile(r"[，,；;：:]\s*|(?=但是|不过|然而|但(?!愿))")


def is_abstention(answer: str, language: Language | None = None) -> bool:
    """Whether the whole ``answer`` declines to answer; false for an empty one and for one that goes on to
    answer."""
    declines = False
    for start, end in sentences(answer, language):
        sentence = answer[start:end]
        if says_not_in_documents(sentence):
            declines = True
        elif not is_neutral(sentence):
            return False
    return declines


def says_not_in_documents(sentence: str) -> bool:
    """Whether one sentence only says that there is no answer ("the documents do not say"), and nothing else."""
    kinds = _clauses(sentence)
    return True in kinds and False not in kinds


def is_neutral(sentence: str) -> bool:
    """Whether one sentence is an apology, a greeting, an offer to help, or says whom to ask instead."""
    kinds = _clauses(sentence)
    return bool(kinds) and all(kind is None for kind in kinds)


def _clauses(sentence: str) -> list[bool | None]:
    """What each clause does: True it declines, None it is neutral, False it says something."""
    if detect_language(sentence) == "zh":
        clauses = (clause.strip(" \t\n。！？!?.…~～“”\"'、*") for clause in _CLAUSE_ZH.split(sentence))
        return [_kind_zh(re.sub(r"^(?:但是?|不过|然而)", "", clause)) for clause in clauses if clause]
    plain = sentence.lower().replace("’", "'").replace("**", "").strip(" \t\n\"'“”*_-")
    clauses = (clause.strip(" \t\n.!?…,\"'") for clause in _CLAUSE_EN.split(plain))
    return [_kind_en(clause) for clause in clauses if any(map(str.isalnum, clause))]


def _kind_en(clause: str) -> bool | None:
    body = _PREFIX_EN.sub("", clause)
    if _NEUTRAL_EN.match(body) and not _DECLINES_EN.search(body):
        return None
    if _CONDITIONAL_EN.match(body):
        return False
    if _DECLINES_EN.search(body):
        return True
    return False if body else None


def _kind_zh(clause: str) -> bool | None:
    if re.match(r"如果|若|倘若|假如", clause) and not _NEUTRAL_ZH.match(clause):
        return False
    if _DECLINES_ZH.search(clause):
        return True
    return None if _NEUTRAL_ZH.match(clause) else False
