"""The words of ``ragtrace doctor``, in English and Chinese: one table, no logic."""

from __future__ import annotations

from typing import Final

from ragtrace.model import Language

RELEASE: Final[dict[str, dict[Language, str]]] = {
    "entry": {"en": "its entry span came", "zh": "入口 span 已到达"},
    "idle": {
        "en": "no entry span came; nothing more for the idle time",
        "zh": "入口 span 未到达，空闲时间内也没有新的 span",
    },
    "age": {"en": "it was held for the longest time allowed", "zh": "已达到最长等待时间"},
    "memory": {"en": "memory was full", "zh": "内存已满"},
    "stitched": {
        "en": "put together with other traces; nothing more came of them",
        "zh": "已与其他 trace 合并，之后没有新的 span",
    },
    "shutdown": {"en": "the collector stopped", "zh": "采集器已停止"},
}

VERBS: Final[dict[str, dict[Language, str]]] = {
    "judge": {"en": "judged", "zh": "已评判"},
    "screen": {"en": "screened only", "zh": "仅初筛"},
    "forward": {"en": "not judged", "zh": "未评判"},
}

STATES: Final[dict[str, dict[Language, str]]] = {
    "held": {"en": "held", "zh": "等待中"},
    "released": {"en": "released", "zh": "已放行"},
    "forwarded": {"en": "forwarded", "zh": "已转发"},
}

FIELDS: Final[dict[str, dict[Language, str]]] = {
    "question": {"en": "question", "zh": "问题"},
    "documents": {"en": "documents", "zh": "文档"},
    "answer": {"en": "answer", "zh": "回答"},
}

PHRASES: Final[dict[str, dict[Language, str]]] = {
    "trace": {"en": "trace {id}", "zh": "trace {id}"},
    "seen": {"en": "seen · RAG spans: {spans} · {state}", "zh": "已收到 · RAG span：{spans} 个 · {state}"},
    "passed": {
        "en": "seen · forwarded unread: traces with this id are not drawn",
        "zh": "已收到 · 未读取即转发：此 id 的 trace 未被抽中",
    },
    "not_seen": {
        "en": "not seen: it is not among the last traces with RAG spans. Either it did not come here (does"
        " the app export to this collector? look at OTEL_EXPORTER_OTLP_ENDPOINT), or none of its spans has"
        " attributes of RAG",
        "zh": "未收到：不在最近的含 RAG span 的 trace 之中。要么它没有发到这里（应用是否导出到本采集器？"
        "请检查 OTEL_EXPORTER_OTLP_ENDPOINT），要么它的 span 都没有 RAG 属性",
    },
    "early": {
        "en": "not judged: {decision}, decided at its first span",
        "zh": "未评判：{decision}，收到第一个 span 时已决定",
    },
    "still_held": {
        "en": "still held: it leaves two seconds after its entry span, or when nothing more comes",
        "zh": "仍在等待：入口 span 到达两秒后，或不再有新 span 时放行",
    },
    "interaction": {"en": "interaction {id}", "zh": "交互 {id}"},
    "unread": {
        "en": "not read: its spans left before the scoring worker came to them; nothing says that a field"
        " of it is missing",
        "zh": "未读取：评分进程还没轮到它，其 span 已发出；没有迹象表明缺少字段",
    },
    "complete": {"en": "complete after {seconds:.1f} s ({why})", "zh": "{seconds:.1f} 秒后完整（{why}）"},
    "decision": {
        "en": "by {rule}, with probability {probability:g}",
        "zh": "规则 {rule}，概率 {probability:g}",
    },
    "diagnosis": {"en": "diagnosis: {cause}", "zh": "诊断：{cause}"},
    "colon": {"en": ": ", "zh": "："},
    "comma": {"en": ", ", "zh": "、"},
    "no_reason": {"en": "no reason", "zh": "无原因"},
    "no_interaction": {
        "en": "no interaction in it: no span holds a question with documents or an answer (an evaluation, an"
        " index being built, a single embedding)",
        "zh": "其中没有交互：没有 span 同时包含问题和文档或回答（可能是评测、建索引或单次向量化）",
    },
    "no_rag": {
        "en": "none of its spans carries attributes of RAG; is your app instrumented? A mapping reads spans"
        " of your own naming (--mapping)",
        "zh": "它的 span 都没有 RAG 属性；应用是否已接入埋点？自定义命名的 span 可用映射读取（--mapping）",
    },
    "spans": {"en": "spans: {spans}, of RAG: {rag}", "zh": "span：{spans} 个，其中 RAG：{rag} 个"},
    "empty_file": {
        "en": "no spans in this file; `ragtrace collector --out FILE` writes one that has",
        "zh": "文件中没有 span；可用 `ragtrace collector --out FILE` 生成",
    },
    "no_file": {
        "en": "no such file: {subject}. Give a file of spans (`ragtrace collector --out FILE` writes one) or"
        " a trace id of 32 hex digits",
        "zh": "文件不存在：{subject}。请给出 span 文件（可用 `ragtrace collector --out FILE` 生成）或 32 位"
        "十六进制 trace id",
    },
    "folder": {
        "en": "{subject} is a folder; give one file of spans in it",
        "zh": "{subject} 是文件夹；请给出其中的一个 span 文件",
    },
    "span_id": {
        "en": "{subject} has 16 hex digits: that is a span id. A trace id has 32; backends show it at the top"
        " of a trace",
        "zh": "{subject} 是 16 位十六进制，应为 span id。trace id 有 32 位，后端在 trace 顶部显示",
    },
    "no_id": {
        "en": "{subject} is neither a file nor a trace id: a trace id has 32 hex digits, this has {length}"
        " characters",
        "zh": "{subject} 既不是文件也不是 trace id：trace id 为 32 位十六进制，而这里有 {length} 个字符",
    },
    "no_collector": {
        "en": "no collector answers at {url} ({reason}). Is one running (`ragtrace collector`), with its"
        " admin endpoint on? --admin HOST:PORT names another address",
        "zh": "{url} 没有采集器响应（{reason}）。采集器是否在运行（`ragtrace collector`）且已开启管理端点？"
        "--admin HOST:PORT 可指定其他地址",
    },
    "refused": {"en": "connection refused", "zh": "连接被拒绝"},
    "bad_answer": {
        "en": "{url} answers, but not as a collector does ({reason}); is --admin its admin endpoint?",
        "zh": "{url} 有响应，但不像采集器（{reason}）；--admin 是否为其管理端点？",
    },
}
