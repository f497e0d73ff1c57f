"""What the demo and a long run say, in English and Chinese: tables, no logic."""

from __future__ import annotations

from typing import Final

from ragtrace.model import Language

DEMO: Final[dict[str, dict[Language, str]]] = {
    "starting": {"en": "starting a collector", "zh": "正在启动采集器"},
    "asking": {
        "en": "asking {n} questions, traces to {endpoint}",
        "zh": "正在提 {n} 个问题，trace 发往 {endpoint}",
    },
    "waiting": {"en": "waiting for the judge", "zh": "正在等待评判"},
    "title": {"en": "Where each answer failed", "zh": "每个回答错在哪里"},
    "wrong": {"en": "✗ not {expected}", "zh": "✗ 不是{expected}"},
    "cost": {"en": "{calls} model calls, {tokens} tokens", "zh": "模型调用 {calls} 次，令牌 {tokens}"},
    "free": {
        "en": "no model call, no key, no network: it cost nothing",
        "zh": "没有模型调用、密钥或网络，分文未花",
    },
    "right": {
        "en": "{right} of {total} diagnoses right in {seconds:.1f} s, by the {kind} judge; {cost}.",
        "zh": "{seconds:.1f} 秒内 {total} 个诊断中 {right} 个正确，评判器 {kind}；{cost}。",
    },
    "played": {
        "en": "Handbook, apps, traces and judge are real; only the chat model's replies are played.",
        "zh": "手册、应用、trace 和评判器都是真实的，只有聊天模型的回复是预先写好的。",
    },
    "next_ui": {
        "en": "Next: the same traces in a tracing UI  →  ragtrace demo --ui phoenix",
        "zh": "下一步：在 trace 界面中查看  →  ragtrace demo --ui phoenix",
    },
    "next_app": {
        "en": "      your own app  →  ragtrace collector --export URL, and one line of code",
        "zh": "        接入自己的应用  →  ragtrace collector --export URL，加一行代码",
    },
    "phoenix": {
        "en": "\nPhoenix shows them at [bold]{url}[/]; filter by e.g.",
        "zh": "\n可在 Phoenix 中查看：[bold]{url}[/]，过滤条件例如",
    },
    "stop": {"en": "Ctrl-C stops it.", "zh": "按 Ctrl-C 停止。"},
}
"""What the demo says."""

PROGRESS: Final[dict[str, dict[Language, str]]] = {
    "evaluating": {"en": "evaluating", "zh": "正在评测"},
    "known": {"en": "{n} known before", "zh": "{n} 行先前已评"},
    "finishing": {"en": "finishing …", "zh": "正在收尾 …"},
    "stopping": {
        "en": "ragtrace: finishing the rows at work; interrupt again to leave them",
        "zh": "ragtrace: 正在完成已开始的行；再次中断则放弃它们",
    },
    "interrupted": {
        "en": "interrupted: {done} of {total} rows are done and kept in {journal}; the same command goes on"
        " from there",
        "zh": "已中断：{total} 行中已完成 {done} 行，保存在 {journal}；再次运行同一命令即可继续",
    },
}
"""What a long run says on the way."""
