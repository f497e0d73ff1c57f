"""How often the processes that judge look for garbage."""

from __future__ import annotations

import subprocess
import sys

_CHILD = """
import gc
from ragtrace_collector.garbage import collect_seldom
before = gc.get_threshold()
kept = {f"word {n}": (n, [n]) for n in range(10_000)}
collect_seldom()
passes = sum(generation["collections"] for generation in gc.get_stats())
made = [[] for _ in range(20_000)]
print(before[0] < 20_000, gc.get_freeze_count() > 10_000)
print(sum(generation["collections"] for generation in gc.get_stats()) - passes)
loop = []; loop.append(loop); del loop
print(gc.collect() > 0)
"""


def test_what_is_loaded_is_left_alone_and_cycles_are_still_found():
    """A judgement's objects begin no collection, and the collector is not switched off."""
    done = subprocess.run([sys.executable, "-c", _CHILD], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True", "0", "True"]
