"""中文答案怎样拒答、致歉、给出其他途径。 Patterns for one clause, cut at commas."""

from __future__ import annotations

import re

from ragtrace.text._phrases import one_of, words

_REST = "[^，,。；]"
_DOCUMENTS = words(
    "资料 資料 文档 文檔 文件 文本 材料 上下文 知识库 知識庫 手册 手冊 原文 文中 内容 信息 资讯 参考"
    " 检索结果 搜索结果 段落 文章 片段 数据库 网页"
)
_NO = words(
    "没有 沒有 并没有 未能 并未 並未 均未 都未 也未 未 并无 暂无 无 不包含 不包括 不涉及 找不到 没 不含 缺乏"
    " 缺少 不足以"
)
_SAY = words(
    "提及 提到 说明 說明 包含 涉及 给出 給出 提供 记载 記載 介绍 描述 指出 写明 规定 列出 显示 明确 找到 回答"
    " 说 讲 谈到 覆盖 写"
)
_INFORMATION = words(
    "信息 資訊 资讯 内容 內容 资料 資料 说明 說明 描述 记载 答案 规定 数据 依据 介绍 记录 线索 文档 结果"
)
_SORRY = "(?:非常|很|十分|真的|实在|我)?(?:抱歉|对不起|遗憾|不好意思)"
_ACCORDING_TO = "(?:根据|依据|基于|按照|从|在|仅凭|通过)[^，,。]{1,30}?(?:中|里|内|上|来看|来说)?"
_LEAD = (
    "^"
    + one_of(
        _SORRY,
        words(
            "因此 所以 故 因而 目前 暂时 暂 也 就 我们? 本助手 小助手 但 那么 对此 恐怕 还 仍 真的 确实"
            " 这 这个"
        ),
        _ACCORDING_TO,
        "(?:对于)?(?:这个|该|此|您的|你的)?问题",
    )
    + "{0,3}"
)
"""What may stand between the beginning of a clause and its "cannot": with anything else there, a user or a
system cannot, and that is a statement."""

_CANNOT = words("无法 不能 没法 法難以 难以 無法 未能 没办法")
_HOW = one_of(
    words("准确 直接 为您 给您 为你 给你 确切 具体 就此 对此 据此 做出 作出 明确 完整"),
    "(?:从|根据|依据)[^，,。]{1,20}?",
)
_ANSWER = words("回答 回复 作答 解答 答复 得知 获知 得出 判断 确定 知道 确认")

_DOCUMENTS_LACK_IT = (
    f"{_DOCUMENTS}{_REST}{{0,16}}?{_NO}{_REST}{{0,24}}?(?:{_SAY}|{_INFORMATION})",
    f"(?:没有|缺乏|缺少|暂无|无|沒有)(?:足够|相关|有关|任何|对应|具体|可用|更多)的?{_INFORMATION}",
    f"(?:没有|暂无|无)关于{_REST}{{1,30}}?{_INFORMATION}",
    f"{_LEAD}(?:未|没有|并未|尚未)(?:明确)?(?:提及|提到|说明|给出|写明|记载){_REST}{{0,16}}$",
    "(?:信息|资料|依据|内容|证据|数据)(?:不足|不够|有限)",
    "超出[^，,。；]{0,16}?(?:范围|知识)",
)
_NOT_FOUND = (
    "(?:没有|未能?|没能?|无法|并未|暂未)(?:在[^，,。]{1,20})?(?:找到|查到|检索到|搜索到|查询到|检索)"
    f"(?:{_REST}{{0,24}}?(?:{_INFORMATION}|相关|有关|关于)|$)",
    f"(?:找不到|查不到)(?:{_REST}{{0,24}}?(?:{_INFORMATION}|相关|有关|关于)|$)",
)
_CANNOT_ANSWER = (
    _LEAD + words("不知道 不清楚 不太清楚 不确定 不太确定 不了解 无从得知 不得而知 无可奉告 不晓得"),
    f"{_LEAD}{_CANNOT}{_HOW}{{0,3}}{_ANSWER}",
    f"{_LEAD}{_CANNOT}{_REST}{{0,10}}?(?:提供|给出|告知|帮助|协助)"
    f"{_REST}{{0,12}}?(?:{_INFORMATION}|回答|答复|帮助|您|你|$)",
)
DECLINES = re.compile(one_of(*_DOCUMENTS_LACK_IT, *_NOT_FOUND, *_CANNOT_ANSWER))
"""Found in a clause that declines."""

_POLITE = (
    _SORRY,
    words("您好 你好 谢谢 好的$"),
    "感谢(?:您|你)",
    "欢迎(?:随时|您|你|继续|联系|提问|咨询|$)",
    "希望(?:这|以上|能|对|可以|您|你|我)",
    "我(?:很乐意|(?:可以|会|将)(?:继续|再|尽力|帮|为|协助))",
    "需要(?:我|更多)",
    "(?:如果?|若)(?:您|你)?(?:还|仍)?(?:有|需要?|想)"
    f"{_REST}{{0,10}}(?:问题|疑问|帮助|信息|资料|了解|需求|需要|协助)",
    "(?:如果?|若)(?:您|你)?(?:能|可以|愿意)(?:够)?提供",
    "以便(?:我|于我|为您|帮)",
)
_ELSEWHERE = (
    "请(?:您|你)?" + words("联系 咨询 查阅 查看 参考 提供 补充 换 重新 访问 告诉 向 您 直接 核实 稍"),
    "建议" + words("您 你 咨询 联系 查阅 查看 参考 直接 向 进一步 通过 访问"),
    "(?:您|你)?(?:可以|可|不妨)" + words("联系 咨询 查阅 查看 参考 提供 尝试 试试 通过 访问 向 直接 换"),
    "以获取|以获得",
    "或(?:者)?" + words("联系 咨询 查阅 查看 提供 访问 换"),
)
_TOPIC = (
    "(?:根据|依据|基于|按照|从|就|在)[^。]{0,25}"
    + words("资料 文档 文件 文本 材料 上下文 知识库 手册 内容 信息 描述 结果 段落 文章 问题")
    + "(?:中|里|内|来看)?$",
    "(?:关于|对于|至于|针对)[^。]{0,40}$",
    "(?:您|你)(?:的问题|所?(?:问|询问|提到|提问|咨询|说))[^。]{0,30}$",
    "(?:这个问题|因此|所以)$",
    f"(?:(?:现有|提供|给定|以上|这些|其中|检索到)*的?{_DOCUMENTS}?(?:中|里)?)(?:只|仅|主要|都是|均为)[^。]{{0,4}}?"
    + words("提到 提及 介绍 说明 涉及 包含 描述 讨论 关于 讲"),
)
COURTESY = re.compile(f"^{one_of(*_POLITE)}")
"""Begins a clause that is an apology or an offer, and states nothing."""

NEUTRAL = re.compile(f"^{one_of(*_POLITE, *_ELSEWHERE, *_TOPIC)}")
"""Begins a clause that is an apology, an offer, a word on where to ask, or only names the topic."""

CLAUSE = re.compile(r"[，,；;：:]\s*|(?=但是|不过|然而|但(?!愿))")
"""Between clauses."""

TURN = re.compile("^(?:但是?|不过|然而)")
"""The "but" at the head of a clause."""

CONDITION = re.compile("^(?:如果|若|倘若|假如)")
"""Begins a clause that tells of a case."""
