"""What to try, by cause, in the user's language. Most promising first."""

from __future__ import annotations

from collections.abc import Mapping

from ragtrace.model import Cause, Language

_EN: Mapping[Cause, tuple[str, ...]] = {
    Cause.RETRIEVAL_MISSED: (
        "search the knowledge base for the answer: if it is not there, add it",
        "rewrite or expand the question before retrieval (synonyms, earlier turns)",
        "try an embedding model that knows your domain and language, or add keyword search beside it",
    ),
    Cause.RETRIEVAL_MISRANKED: (
        "rerank the retrieved documents with a cross-encoder",
        "cut documents into smaller pieces, so that the answering one is not diluted",
        "pass fewer documents to the model once the order is right",
    ),
    Cause.RETRIEVAL_NOISY: (
        "retrieve fewer documents (a smaller k), or set a score threshold",
        "rerank, and pass only the best to the model",
        "cut documents along their sections, so that each piece is about one thing",
    ),
    Cause.CONTRADICTS_DOCUMENTS: (
        "prompt the model to say only what the documents say, and to copy numbers and names",
        "lower the temperature",
        "use a stronger model, or one fine-tuned to answer from documents",
    ),
    Cause.UNFAITHFUL_ANSWER: (
        "prompt the model to answer from the documents only, and to say when they lack the answer",
        "lower the temperature",
        "use a stronger model, or one fine-tuned to answer from documents",
    ),
    Cause.MISCITED: (
        "number the documents in the prompt, and show an example with one marker behind each claim",
        "ask for a short quote with each marker, and check it before the answer is shown",
        "use a stronger model: small ones often lose track of document numbers",
    ),
    Cause.OFF_QUESTION: (
        "put the question behind the documents in the prompt, and ask for it to be answered first",
        "detect the intent: part of the question may have been overlooked",
        "rewrite follow-up questions so that they can be understood alone",
    ),
    Cause.NEEDLESS_REFUSAL: (
        "soften the refusal rule in the prompt: decline only when no document answers any part",
        "check that the documents reach the prompt whole and in a form that the model can read",
        "use a stronger model: small ones decline when documents are long",
    ),
    Cause.CORRECT_REFUSAL: (
        "nothing to mend in the answer; if people ask this often, add it to the knowledge base",
    ),
}

_ZH: Mapping[Cause, tuple[str, ...]] = {
    Cause.RETRIEVAL_MISSED: (
        "先到知识库里查一查有没有答案：没有就补充进去",
        "检索前改写或扩展问题（同义词、上文指代）",
        "换用更懂本领域、本语言的向量模型，或者加上关键词检索",
    ),
    Cause.RETRIEVAL_MISRANKED: (
        "用交叉编码器对检索结果重排序",
        "把文档切得更小，避免含答案的那一段被冲淡",
        "排序正确以后，再减少送入模型的文档数",
    ),
    Cause.RETRIEVAL_NOISY: (
        "少取几篇文档（调小 k），或设定分数下限",
        "重排序，只把最好的几篇送入模型",
        "按章节切分文档，让每一段只讲一件事",
    ),
    Cause.CONTRADICTS_DOCUMENTS: (
        "在提示词里要求只说文档里写明的内容，数字和名称照抄",
        "调低温度参数",
        "换用更强的模型，或针对“依据文档作答”微调过的模型",
    ),
    Cause.UNFAITHFUL_ANSWER: (
        "在提示词里要求只依据文档回答，文档里没有就直说没有",
        "调低温度参数",
        "换用更强的模型，或针对“依据文档作答”微调过的模型",
    ),
    Cause.MISCITED: (
        "在提示词里给文档编号，并给出每个论断后面带一个引用的示例",
        "要求每个引用附一小段原文，展示答案之前先核对",
        "换用更强的模型：小模型容易记错文档编号",
    ),
    Cause.OFF_QUESTION: (
        "在提示词里把问题放在文档之后，要求先正面回答问题",
        "识别用户意图：问题里可能有一部分被忽略了",
        "改写追问，使它不看上文也能读懂",
    ),
    Cause.NEEDLESS_REFUSAL: (
        "放宽提示词里的拒答规则：所有文档都答不上任何一部分时才拒答",
        "检查文档是否完整地进入了提示词，格式是否便于模型阅读",
        "换用更强的模型：文档一长，小模型容易拒答",
    ),
    Cause.CORRECT_REFUSAL: ("答案本身没有问题；如果经常有人这样问，就把内容补进知识库",),
}


def advice(cause: Cause, language: Language = "en") -> tuple[str, ...]:
    """What to try against ``cause``, in ``language``; empty for ``ok`` and ``undetermined``."""
    return (_ZH if language == "zh" else _EN).get(cause, ())


_GENERATION: Mapping[Language, tuple[str, ...]] = {
    "en": (
        "the documents hold the answer and the answers are still wrong: work on the prompt first (answer from"
        " the documents, completely, with their numbers and names)",
        "lower the temperature",
        "use a stronger model, or one fine-tuned on questions, documents and right answers like yours",
    ),
    "zh": (
        "文档里有答案而回答仍然不对：先改提示词（依据文档、完整作答，数字和名称照抄）",
        "调低温度参数",
        "换用更强的模型，或用自己的问题、文档和正确答案微调模型",
    ),
}


def generation_advice(language: Language = "en") -> tuple[str, ...]:
    """What to try where retrieval is good and the answers are wrong all the same."""
    return _GENERATION[language]
