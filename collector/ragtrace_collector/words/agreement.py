"""The words of ``ragtrace agree``, in English and Chinese: one table, no logic."""

from __future__ import annotations

from typing import Final

from ragtrace.model import Language

AGREEMENT: Final[dict[str, dict[Language, str]]] = {
    "title": {"en": "Judge against labels", "zh": "评判器与人工标注"},
    "baselines": {"en": "AUROC beside what word overlap reaches", "zh": "AUROC 与词语重合等基线"},
    "decided": {"en": "Decided without the model", "zh": "未经模型即判定"},
    "calibration": {"en": "Calibration (groups weigh the same)", "zh": "校准（各组权重相同）"},
    "n": {"en": "n", "zh": "行数"},
    "auroc": {"en": "AUROC 95 %", "zh": "AUROC 95 %"},
    "balanced_accuracy": {"en": "bal.acc", "zh": "平衡准确率"},
    "balanced_accuracy_best": {"en": "best", "zh": "最佳"},
    "kappa": {"en": "kappa", "zh": "kappa"},
    "ece": {"en": "ECE", "zh": "ECE"},
    "coverage": {"en": "cov.", "zh": "覆盖率"},
    "judge": {"en": "judge", "zh": "评判器"},
    "share": {"en": "share", "zh": "占比"},
    "supported": {"en": "supported", "zh": "有依据"},
    "unsupported": {"en": "unsupported", "zh": "无依据"},
    "rightly": {"en": "rightly", "zh": "其中正确"},
    "mean_of_groups": {"en": "mean of groups", "zh": "各组均值"},
    "probability": {"en": "probability", "zh": "概率"},
    "share_of_rows": {"en": "share of rows", "zh": "行占比"},
    "mean_probability": {"en": "mean probability", "zh": "平均概率"},
    "share_true": {"en": "share true", "zh": "为真占比"},
    "pooled": {"en": "pooled calibration error {ece}", "zh": "合并校准误差 {ece}"},
    "calls": {
        "en": "{calls} judge calls, {read} + {written} tokens",
        "zh": "评判调用 {calls} 次，令牌 {read} + {written}",
    },
    "local": {"en": "{n} claims decided without a model", "zh": "{n} 条论断未经模型即判定"},
    "skipped": {"en": "{n} rows of other kinds skipped", "zh": "略过 {n} 行其他类型"},
}
