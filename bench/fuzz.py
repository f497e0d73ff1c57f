"""Fuzz what strangers write, guided by coverage: request bodies, spans, answers, judges' replies.

    python bench/fuzz.py [TARGET …] [--seconds 600] [--json]

Each target (bench/fuzz_targets.py) runs in a process of its own at low priority, under atheris (libFuzzer),
which ``make fuzz`` puts beside the environment. An input that raises, takes more than a second of CPU or lets
the process grow beyond 1 GiB is a finding: it is kept under ``.cache/fuzz-corpus/TARGET``, and the target
goes on. Exit code 1 where anything was found. What was reached is kept too: the next run begins there.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORPUS = ROOT / ".cache" / "fuzz-corpus"
NAMES = ("http", "grpc", "extract", "citations", "replies")
SLOWEST_CPU = 1.0
LONGEST_INPUT, MEMORY_MIB, HUNG_SECONDS = 16_384, 1_024, 30
FINDINGS_AT_MOST = 10


@dataclass
class Report:
    """What became of one target."""

    target: str
    executions: int = 0
    seconds: float = 0.0
    coverage: int = 0
    """Branches and comparisons that were reached, as libFuzzer counts them."""
    inputs: int = 0
    """Inputs that reached something new."""
    peak_mib: int = 0
    slowest_cpu: float = 0.0
    findings: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(NAMES)}; by default all")
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if unknown := set(options.targets) - set(NAMES):
        parser.error(f"no target {', '.join(sorted(unknown))}")
    reports = [fuzz(name, options.seconds) for name in options.targets or NAMES]
    for report in reports:
        print(json.dumps(asdict(report)) if options.json else line(report))
    return any(report.findings for report in reports)


def line(report: Report) -> str:
    """A report in words."""
    found = "; ".join(report.findings) or "nothing found"
    return (
        f"{report.target:10} {report.executions:>9,} runs in {report.seconds:.0f} s, "
        f"coverage {report.coverage}, corpus {report.inputs}, peak {report.peak_mib} MiB, "
        f"slowest {report.slowest_cpu:.3f} CPU s: {found}"
    )


# --- one target ---------------------------------------------------------------------------------------------


def fuzz(name: str, seconds: int) -> Report:
    """Fuzz one target for so long, going on after each finding."""
    folder = CORPUS / name
    (folder / "inputs").mkdir(parents=True, exist_ok=True)
    report, began = Report(name), time.monotonic()
    while (left := seconds - (time.monotonic() - began)) >= 1 and len(report.findings) < FINDINGS_AT_MOST:
        told = _run(name, folder, left)
        _add(report, told)
    report.seconds = time.monotonic() - began
    return report


def _run(name: str, folder: Path, seconds: float) -> str:
    command = [sys.executable, __file__, "--worker", name, str(folder / "inputs")]
    command += [
        f"-max_total_time={int(seconds)}",
        f"-max_len={LONGEST_INPUT}",
        f"-rss_limit_mb={MEMORY_MIB}",
        f"-timeout={HUNG_SECONDS}",
        f"-report_slow_units={10 * HUNG_SECONDS}",  # by the wall clock, which says little at low priority
        f"-artifact_prefix={folder}/",
        f"-dict={_dictionary(folder)}",
        "-print_final_stats=1",
    ]
    run = subprocess.run(
        command, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, check=False, preexec_fn=lambda: os.nice(15)
    )
    told = run.stdout.decode("utf-8", "replace")
    with (folder / "log").open("a", encoding="utf-8") as log:
        log.write(told)
    return told


def _dictionary(folder: Path) -> Path:
    """Words that mutations may put in."""
    words = [
        *("ragtrace.", "gen_ai.", "openinference.span.kind", "retrieval.documents.0.document.content"),
        *(
            "input.value",
            "output.value",
            "\\xff",
            "\\xfe",
            '{\\"',
            '\\":',
            "[1]",
            "【1】",
            "（来源：",
            "<cite>",
        ),
        *("```", "SUPPORTED", "NOT_FOUND", '\\"claims\\":', "<think>", "</think>", "。", "\\x0a"),
    ]
    file = folder / "words"
    escaped = [
        "".join(c if c.isascii() else "".join(f"\\x{b:02x}" for b in c.encode()) for c in w) for w in words
    ]
    file.write_text("".join(f'"{word}"\n' for word in escaped), encoding="ascii")
    return file


def _add(report: Report, told: str) -> None:
    def last(pattern: str) -> int:
        found = re.findall(pattern, told)
        return int(found[-1]) if found else 0

    report.executions += last(r"stat::number_of_executed_units:\s+(\d+)") or last(r"#(\d+)\t")
    report.coverage = max(report.coverage, last(r"\bcov: (\d+)"))
    report.inputs = max(report.inputs, last(r"\bcorp: (\d+)"))
    report.peak_mib = max(report.peak_mib, last(r"stat::peak_rss_mb:\s+(\d+)"), last(r"rss: (\d+)Mb"))
    report.slowest_cpu = max([report.slowest_cpu, *map(float, re.findall(r"slowest: ([\d.]+)", told))])
    artifact = re.search(r"Test unit written to (\S+/(?:crash|timeout|oom|leak)-\S+)", told)
    if artifact:
        error = re.findall(r"^(\w*(?:Error|Exception|Hang)\b.*)$", told, re.MULTILINE)
        report.findings.append(f"{error[-1] if error else 'no exception'} ({artifact[1]})")
    elif "stat::" not in told:
        report.findings.append(f"ended by itself: {told.strip().splitlines()[-1:]}")


# --- the process of a target -------------------------------------------------------------------------------


class HangError(Exception):
    """An input took longer than any may."""


def work(name: str, arguments: list[str]) -> None:
    """Never returns: libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["ragtrace", "ragtrace_collector"]):
        sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests")]
        import fuzz_targets
    target = fuzz_targets.TARGETS[name]
    inputs = Path(arguments[0])
    for number, seed in enumerate(target.seeds()):
        (inputs / f"seed-{number}").write_bytes(seed[:LONGEST_INPUT])
    slowest = 0.0

    def one(data: bytes) -> None:
        nonlocal slowest
        began = time.process_time()
        target.run(data)
        took = time.process_time() - began
        if took > slowest:
            slowest = took
            print(f"slowest: {took:.4f}", flush=True)
        if took > SLOWEST_CPU:
            raise HangError(f"{took:.2f} s of CPU for {len(data)} bytes")

    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], sys.argv[3:])
    sys.exit(main())
