"""What judging one interaction costs, beside ragas, DeepEval, Phoenix and MLflow on one counting endpoint.

    python bench/judge_peers.py [--sample FILE.jsonl] [--interactions 20] [--faults]

Every judge runs in a process and an environment of its own and judges the same interactions by its own
documented metrics: faithfulness, answer relevancy, context precision and context recall, where it has them,
and once more with answer correctness. The endpoint (``judge_endpoint.py``, real HTTP, a process of its own)
answers each in its format and says what it makes up. Calls and tokens are those of one interaction; CPU is
the judge's process over others of the same shape, the endpoint's time not in it. Embeddings are free for
everyone. Ours also judges citations, context noise and the needs of the question in the same calls; Phoenix
and MLflow give one label a metric (or document), and no claims.

``--faults`` asks instead what each gives for an interaction whose every metric is about a half, when the
endpoint does something wrong (``judge_faults.py``): a number there was made of a fault.

The peers are installed under ``.cache/judge-peers``, each by itself.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from judge_endpoint import OURS, Counted, serve
from judge_faults import FAULTS
from judge_sample import from_file, sample

from ragtrace.model import Interaction

ROOT = Path(__file__).resolve().parents[1]
CACHE = ROOT / ".cache" / "judge-peers"
PEERS = {
    "ragas": ("ragas>=0.4.3", "langchain-openai", "langchain-community<0.4"),
    "deepeval": ("deepeval>=4.3", "openai"),
    "phoenix": ("arize-phoenix-evals>=3.7", "openai"),
    "mlflow": ("mlflow>=3.17", "openai", "litellm"),
}
WARM_UP = 3
LONGEST = 900.0
"""Seconds after which a judge counts as hanging."""
METRICS = ("faithfulness", "answer_relevancy", "context_precision", "context_recall")


@dataclass(frozen=True)
class Result:
    """What became of one judge's run: its version, its values by metric, its CPU an interaction."""

    version: str
    values: Mapping[str, Sequence[str]]
    cpu: float | None
    cost: Counted

    @property
    def ended(self) -> str:
        """How its metrics ended."""
        kinds = Counter("scored" if kind in {"number", "label"} else kind for kind, _ in self.values.values())
        return ", ".join(f"{number} {kind}" for kind, number in kinds.items())


@dataclass(frozen=True)
class Endpoint:
    """The counting endpoint, and the file of the interactions that it is asked about."""

    url: str
    pipe: Connection
    rows: Path

    def run(self, judge: str, *runs: str, flags: Sequence[str] = ()) -> tuple[dict[str, Result], str]:
        """Let ``judge`` work → what came of each run that ended, and in a word why the others did not."""
        script, folder = str(ROOT / "bench" / "peers" / "run.py"), self.rows.parent
        environment = {**os.environ, "TMPDIR": str(folder)}  # what they leave behind goes with the folder
        command = [python(judge), script, judge, self.url, str(self.rows), *runs, *flags]
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as log:
            try:
                subprocess.run(
                    command, cwd=folder, env=environment, stdout=out, stderr=log, timeout=LONGEST, check=True
                )
                why = ""
            except subprocess.TimeoutExpired:
                why = f"no end in {LONGEST:.0f} s"
            except subprocess.CalledProcessError as failed:
                log.seek(0)
                print(log.read(), file=sys.stderr)
                why = f"ended with {failed.returncode}"
            out.seek(0)
            said = [json.loads(line) for line in out if line.startswith("{")]
        cpu = next((line["cpu_ms"] for line in said if "cpu_ms" in line), None)
        return {
            line["run"]: Result(line["version"], line["values"], cpu, self._counted(judge, line["run"]))
            for line in said
            if "run" in line
        }, why

    def _counted(self, judge: str, name: str) -> Counted:
        self.pipe.send(True)
        costs = (cost for key, cost in self.pipe.recv().items() if key[:2] == (judge, name))
        return sum(costs, Counted())


@contextmanager
def endpoint(interactions: Sequence[Interaction]) -> Iterator[Endpoint]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(
        target=serve, args=(theirs, interactions[0]), daemon=True
    )
    process.start()
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.json"
        rows.write_text(json.dumps([row(interaction) for interaction in interactions]), "utf-8")
        try:
            yield Endpoint(ours.recv(), ours, rows)
        finally:
            ours.send(False)
            process.join(5)


def row(interaction: Interaction) -> dict[str, Any]:
    return {
        "question": interaction.question,
        "contexts": [document.text for document in interaction.documents or ()],
        "answer": interaction.answer,
        "reference": interaction.reference,
    }


def python(judge: str) -> str:
    """The interpreter of the environment that ``judge`` runs in."""
    return sys.executable if judge == OURS else str(CACHE / judge / "bin" / "python")


def install() -> list[str]:
    """Make the environments that are not there → the peers that can run."""
    there = []
    for peer, packages in PEERS.items():
        marker = CACHE / peer / ".installed"
        if marker.exists() or (
            uv("venv", "--quiet", "--clear", str(CACHE / peer))
            and uv("pip", "install", "--quiet", "--python", python(peer), *packages)
        ):
            marker.touch()
            there.append(peer)
        else:
            print(f"{peer} cannot be installed here: left out")
    return there


def uv(*arguments: str) -> bool:
    command = str(Path(sys.executable).parent / "uv")
    return subprocess.run([command, *arguments], check=False).returncode == 0


def compare_costs(at: Endpoint, judges: Sequence[str]) -> bool:
    """Print what each costs; ratios are to ours with the same metrics → whether all was scored by ours."""
    heads = f"{'calls':>6}{'input':>8}{'output':>8}{'all':>8}{'CPU ms':>8}{'':7}"
    print(f"{'':46}{heads}   metrics")
    bases: dict[bool, Result] = {}
    for correctness in (False, True):
        for judge in judges:
            more = ("--correctness",) if correctness else ()
            name = "correctness" if correctness else "four"
            results, why = at.run(judge, name, flags=(*more, "--warm-up", str(WARM_UP)))
            if name not in results:
                print(f"{judge:46}{why}")
                continue
            result = results[name]
            base = bases.setdefault(correctness, result)
            print(line(title(judge, result, correctness), result, base), flush=True)
    return len(bases) == 2 and all("judge_error" not in str(base.values) for base in bases.values())


def title(judge: str, result: Result, correctness: bool) -> str:
    if judge == OURS:
        return f"ragtrace, {'with a reference' if correctness else 'live'}"
    has = [metric for metric in METRICS if metric in result.values]
    more = ", correctness" if "answer_correctness" in result.values else ""
    return f"{judge} {result.version}, {len(has)} of 4 metrics{more}"


def line(name: str, result: Result, base: Result) -> str:
    cost, first = result.cost, base.cost
    tokens = cost.input_tokens + cost.output_tokens
    figures = f"{cost.calls:6}{cost.input_tokens:8}{cost.output_tokens:8}"
    ratios = f"{tokens / (first.input_tokens + first.output_tokens):7.2f}x"
    cpu = f"{'?':>8}{'?':>7}"
    if result.cpu and base.cpu:
        cpu = f"{result.cpu:8.1f}{result.cpu / base.cpu:6.1f}x"
    return f"{name:46}{figures}{ratios}{cpu}   {result.ended}"


def compare_faults(at: Endpoint, judges: Sequence[str]) -> None:
    """Print what each judge gives for each fault, and first what it gives without one."""
    faults = ("none", *FAULTS)
    for judge in judges:
        results, why = at.run(judge, *faults)
        print(f"\n{judge:12}" + "".join(f"{metric:28}" for metric in METRICS))
        for fault in faults:
            values = results[fault].values if fault in results else dict.fromkeys(METRICS, ("", why))
            row = (values.get(metric, ("", "-"))[1] for metric in METRICS)
            print(f"{fault:12}" + "".join(f"{value:28}" for value in row), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sample", type=Path, help="JSONL with question, contexts, answer, ground_truth")
    parser.add_argument("--interactions", type=int, default=20)
    parser.add_argument("--only", nargs="+", choices=tuple(PEERS), help="these peers alone")
    parser.add_argument("--faults", action="store_true")
    arguments = parser.parse_args()
    first = from_file(arguments.sample) if arguments.sample else sample()
    more = 0 if arguments.faults else arguments.interactions + WARM_UP
    judges = [OURS, *(peer for peer in install() if not arguments.only or peer in arguments.only)]
    with endpoint([first, *(sample(seed + 1) for seed in range(more))]) as at:
        if arguments.faults:
            compare_faults(at, judges)
            return 0
        return 0 if compare_costs(at, judges) else 1


if __name__ == "__main__":
    sys.exit(main())
