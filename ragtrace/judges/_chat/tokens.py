"""How many tokens a text takes, near enough to stay inside a window."""

from __future__ import annotations

import json
import re

from ragtrace.judges._chat.rendering import Prompt

_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f]")


def estimate_tokens(text: str, chars_per_token: float = 4.0) -> int:
    """Tokens of ``text``: one a CJK character, else characters / ``chars_per_token``."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + int((len(text) - wide) / chars_per_token) + 1


def prompt_tokens(prompt: Prompt, chars_per_token: float) -> int:
    """Input tokens of a request, its schema included."""
    schema = json.dumps(prompt.schema(True))
    return sum(estimate_tokens(part, chars_per_token) for part in (prompt.system, prompt.user, schema))
