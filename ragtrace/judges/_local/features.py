"""What the embedded judge measures on a claim and its documents, before any weight."""

from __future__ import annotations

from collections import Counter

from ragtrace.judges._local.alignment import (
    best_window,
    common_subsequence,
    cosine,
    held_pieces,
    longest_missing_run,
)
from ragtrace.judges._local.claims import ClaimText, count_negations
from ragtrace.judges._local.corpus import Corpus, Evidence
from ragtrace.text.lexicon import chinese, english
from ragtrace.text.numbers import Relation, compare


def english_features(claim: ClaimText, evidence: Evidence, corpus: Corpus) -> dict[str, float]:
    weights, n = claim.weights, len(claim.tokens)
    pair = evidence.pair
    pair_tokens = [t for p in pair for t in p.tokens]
    nums = [t for t in weights if t[0].isdigit()]
    numctx = _number_context(claim, evidence, corpus, nums)
    known = corpus.postings
    return {
        "win1": best_window(weights, max(5, n), corpus),
        "num_ctx2": numctx,
        "chw_all": held_pieces(claim.words, corpus),
        "tfidf2": cosine(weights, Counter(pair_tokens)),
        "lcs2": common_subsequence(claim.tokens, pair_tokens) / n,
        "ent_miss": -min(
            4.0,
            sum(
                name not in corpus.raw_words
                and not all(x in corpus.raw_words for x in name.replace("-", " ").split())
                for name in claim.names
            ),
        ),
        "num_conf": -min(3.0, number_conflicts(claim, evidence)),
        "ant": -min(2.0, antonyms(claim, evidence)),
        "missrun": -longest_missing_run(claim.tokens, known) / n,
        "qmark": -float("?" in claim.text),
    }


def _number_context(claim, evidence, corpus, nums):
    if not nums:
        return evidence.coverage
    total = sum(claim.weights.values())
    worst = 1.0
    for num in nums:
        best = 0.0
        for index in corpus.postings.get(num, ()):
            voc = corpus.passages[index].vocabulary
            best = max(best, sum(w for t, w in claim.weights.items() if t in voc) / total)
        worst = min(worst, best)
    return worst


def number_conflicts(claim, evidence):
    count = 0
    found = [q for p in evidence.passages for q in p.quantities]
    for q in claim.quantities:
        rel = {compare(q, f) for f in found}
        if Relation.CONFLICT in rel and Relation.SAME not in rel and Relation.UNIT not in rel:
            count += 1
    return float(count)


def antonyms(claim, evidence):
    table = english().antonyms
    best = set(evidence.best.words)
    return float(sum(w not in best and bool(table[w] & best) for w in set(claim.words) if w in table))


def chinese_features(claim: ClaimText, evidence: Evidence, corpus: Corpus) -> dict[str, float]:
    weights, n = claim.weights, len(claim.tokens)
    pair = evidence.pair
    pair_tokens = [t for p in pair for t in p.tokens]
    pair_text = "".join(p.normal for p in pair)
    lcs = common_subsequence(claim.tokens, pair_tokens) / n
    allfound = [q for p in corpus.passages for q in p.quantities]
    efound = [q for p in evidence.passages for q in p.quantities]
    ok = {Relation.SAME, Relation.UNIT}
    qs = claim.quantities
    num_r = sum(not any(compare(q, f) in ok for f in allfound) for q in qs) / len(qs) if qs else 0.0
    miss_e = float(sum(not any(compare(q, f) in ok for f in efound) for q in qs))
    univ = float(sum(u in claim.normal and u not in pair_text for u in chinese().universals))
    best = evidence.best
    return {
        "lcs2": lcs,
        "lcs2w": common_subsequence(claim.words, [t for p in pair for t in p.words])
        / max(1, len(claim.words)),
        "num_r": -num_r,
        "num_missE": -min(3.0, miss_e),
        "univ": -univ,
        "ant": -zh_antonyms(claim.normal, best.normal),
        "negmis": -float((claim.negations - count_negations(best.normal, best.words)) % 2 != 0),
    }


def zh_antonyms(claim, best):
    table = chinese().antonyms
    n = 0
    for w, opp in table.items():
        if len(w) > 1 and w in claim and w not in best and any(o in best and o not in claim for o in opp):
            n += 1
    return float(min(2, n))
