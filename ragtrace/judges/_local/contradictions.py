"""Where a claim says something else than its evidence: quantities, names, antonyms, negation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from ragtrace.judges._local.claims import ClaimText, count_negations
from ragtrace.judges._local.conflicts import Conflict, Kind
from ragtrace.judges._local.corpus import Corpus, Evidence
from ragtrace.judges._local.passages import Passage
from ragtrace.judges._local.permissions import forbids, rival_permission
from ragtrace.judges._local.quantity_conflicts import quantity_conflicts
from ragtrace.judges._local.restrictions import (
    is_restriction,
    other_restriction,
    reserved_for_another,
    without_only,
)
from ragtrace.judges._local.slots import rival_names
from ragtrace.text.lexicon import chinese, english
from ragtrace.text.tokens import content, stem, words


def find_conflict(claim: ClaimText, evidence: Evidence, corpus: Corpus) -> Conflict | None:
    """The first conflict of ``claim`` with its evidence; one that contradicts comes before a nuance."""
    nuance = None
    for conflict in _conflicts(claim, evidence, corpus):
        if conflict.contradicts:
            return conflict
        nuance = nuance or conflict
    return nuance


def _conflicts(claim: ClaimText, evidence: Evidence, corpus: Corpus) -> Iterator[Conflict]:
    yield from quantity_conflicts(claim, evidence, corpus)
    if claim.language == "zh" and _is_denied_outright(claim, evidence.best):
        yield Conflict("negation", claim.text, evidence.best.text, evidence.best)
    if len(claim.tokens) >= _SHORTEST:
        yield from _wording_conflicts(claim, evidence.best, corpus)
        yield from _crossed_conflicts(claim, evidence)
        yield from _rule_conflicts(claim, evidence)
    rival = other_restriction(claim.normal, claim.tokens, evidence.best)
    if rival is not None:
        yield Conflict("only", *rival, evidence.best)


def _is_denied_outright(claim: ClaimText, best: Passage) -> bool:
    """Whether the passage holds the claim word for word but for a negator: 含早餐 against 不含早餐."""
    plain, stated = claim.normal.rstrip(".。!！ "), best.normal
    if plain in stated:
        before = [
            stated[max(0, match.start() - 1) : match.start()]
            for match in re.finditer(re.escape(plain), stated)
        ]
        return len(claim.tokens) > 1 and all(sign in _DENIES and sign for sign in before)
    if not claim.negations:
        return False
    bare = [plain[:place] + plain[place + 1 :] for place, char in enumerate(plain) if char in _DENIES]
    return any(len(text) > _SHORTEST - 1 and _stands_undenied(text, stated) for text in bare)


def _stands_undenied(text: str, stated: str) -> bool:
    start = stated.find(text)
    return start >= 0 and (start == 0 or stated[start - 1] not in _DENIES)


_DENIES = "不未没"


def _rule_conflicts(claim: ClaimText, evidence: Evidence) -> Iterator[Conflict]:
    """What the claim allows where a passage forbids it, and what it says of one where a passage reserves it
    for another."""
    plain = claim.normal.rstrip(".。 ")
    for passage in evidence.passages:
        if plain in passage.normal:
            return
        permission = rival_permission(claim.normal, passage)
        if permission is not None:
            yield Conflict("antonym", *permission, passage)
        reserved = reserved_for_another(claim.text, claim.normal, passage)
        if reserved is not None:
            yield Conflict("reserved", *reserved, passage)


def find_other_restriction(claim: ClaimText, corpus: Corpus) -> Conflict | None:
    """What a curt claim that shares no word with any document is against: "Only credit cards." where the one
    restriction in the documents is "Only bank transfers are accepted." """
    if len(claim.tokens) > _SHORTEST:
        return None
    restricting = [passage for passage in corpus.passages if is_restriction(passage.normal)]
    if len(restricting) != 1 or not is_restriction(claim.normal):
        return None
    return Conflict("only", without_only(claim.normal), without_only(restricting[0].normal), restricting[0])


_SHORTEST = 3
_ALIKE = 0.6
"""From this share of the claim's content on, the best passage speaks of the same fact."""
_ALIKE_NEGATION = 0.8
_LONGEST_SWAP = 4


def _wording_conflicts(claim: ClaimText, best: Passage, corpus: Corpus) -> Iterator[Conflict]:
    """Stretches that differ between wordings that are otherwise the same."""
    if claim.normal.rstrip(".。 ") in best.normal:
        return
    names = frozenset(part for name in claim.names for part in words(name) if part not in corpus.words)
    held = _share_held(claim, best, names)
    if held < _ALIKE:
        return
    if claim.language == "zh":
        yield from _rival_names(claim, best, corpus)
    for said, found in _differences(claim.words, best.words):
        kind = _difference_kind(said, found, names, best)
        if kind == "negation" and (held < _ALIKE_NEGATION or not _denies_one(claim, best)):
            continue
        if kind:
            yield Conflict(kind, _join(said) or claim.text, _join(found) or best.text, best)


def _denies_one(claim: ClaimText, best: Passage) -> bool:
    """Whether one of them denies something that the other does not forbid: the 不 of 不少于 (at least) denies
    nothing, 不得使用 and 禁用 say the same."""
    if claim.language == "zh" and forbids(claim.normal) and forbids(best.normal):
        return False
    return claim.negations > 0 or count_negations(best.normal, best.words) > 0


def _rival_names(claim: ClaimText, best: Passage, corpus: Corpus) -> Iterator[Conflict]:
    for said, found in rival_names(claim.normal, best.normal):
        if said not in corpus.text:
            yield Conflict("name", said, found, best)


def _share_held(claim: ClaimText, best: Passage, names: frozenset[str]) -> float:
    """The share of the claim's content in the passage, strange names apart; 0 where little is left."""
    strange = frozenset(content(names))
    rest = [token for token in claim.tokens if token not in strange]
    return sum(token in best.vocabulary for token in rest) / len(rest) if len(rest) > 1 else 0.0


def _differences(said: Sequence[str], found: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Short stretches of ``said`` and ``found`` that differ, with equal words on both sides of them."""
    one, other = [stem(w) for w in said], [stem(w) for w in found]
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    steps = matcher.get_opcodes()
    for place, (tag, i1, i2, j1, j2) in enumerate(steps):
        if tag == "equal" or i2 - i1 > _LONGEST_SWAP or j2 - j1 > _LONGEST_SWAP:
            continue
        before = steps[place - 1] if place else None
        after = steps[place + 1] if place + 1 < len(steps) else None
        if (before is not None and after is not None) or (tag == "replace" and (before or after)):
            yield said[i1:i2], found[j1:j2]


def _difference_kind(
    said: Sequence[str], found: Sequence[str], names: frozenset[str], best: Passage
) -> Kind | None:
    if any(not _antonyms_of(word).isdisjoint(found) and word not in best.all_words for word in said):
        return "antonym"
    joined_said, joined_found = "".join(said), "".join(found)
    opposites = chinese().antonyms.get(joined_said, frozenset())
    if joined_said not in best.normal and any(opposite in joined_found for opposite in opposites):
        return "antonym"
    if not names.isdisjoint(said) and _are_names(said, found, names, best):
        return "name"
    negated = count_negations(joined_said, tuple(said)), count_negations(joined_found, tuple(found))
    return "negation" if (negated[0] == 0) != (negated[1] == 0) else None


def _are_names(said: Sequence[str], found: Sequence[str], names: frozenset[str], best: Passage) -> bool:
    """Whether both stretches are names and nothing else.

    Where the passage has other words, it names no rival but says something else there: "Oregon" and "in the
    United States", "Heart" and "novel".
    """
    if not found or "".join(said).isascii() is not "".join(found).isascii():
        return False
    if not found[0].isascii() or best.text == best.normal:  # no capitals to tell a name by
        return True
    capitals = frozenset(words(" ".join(_CAPITALISED.findall(best.text)).lower()))
    return all(
        word in known or word in _JOINTS
        for stretch, known in ((said, names), (found, capitals))
        for word in stretch
    )


_CAPITALISED = re.compile(r"\b[A-Z][\w'&-]*|\b\d+\b")
_JOINTS = frozenset(("of", "the", "and", "de", "la", "von", "van", "al", "el", "&"))
"""Words inside names."""


def _antonyms_of(word: str) -> frozenset[str]:
    return english().antonyms.get(word, frozenset())


def _join(tokens: Sequence[str]) -> str:
    return "".join(tokens) if tokens and tokens[0] > "\u2fff" else " ".join(tokens)


def _crossed_conflicts(claim: ClaimText, evidence: Evidence) -> Iterator[Conflict]:
    """A claim put together from two like passages: the subject of one, what is said of the other.

    "Exchange shipping is paid by the buyer", of "Return shipping is paid by the buyer" and "Exchange shipping
    is paid by the shop".
    """
    best, said = evidence.best, frozenset(claim.tokens)
    few = _FEW_CHARACTERS if claim.language == "zh" else _FEW_WORDS
    lacking = said - best.vocabulary
    if not 0 < len(lacking) <= few or not 0 < len(best.vocabulary - said) <= few:
        return
    for other in evidence.passages[1:]:
        lost, instead = said - other.vocabulary, other.vocabulary - said
        if not 0 < len(lost) <= few or not 0 < len(instead) <= few:
            continue
        if lacking.isdisjoint(lost) and len(said) > 2 * max(len(lacking), len(lost)):
            yield Conflict("crossed", claim.text, other.text, other)


_FEW_WORDS, _FEW_CHARACTERS = 1, 3
