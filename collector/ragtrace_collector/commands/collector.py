"""``ragtrace collector``: receive OTLP, score RAG interactions, export once."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from ragtrace.model import SpanRecord
from ragtrace_collector import open_files, otlp
from ragtrace_collector.config import Config, host_and_port
from ragtrace_collector.part_checks import wrong_parts
from ragtrace_collector.privacy import stay_local
from ragtrace_collector.service import Collector, Running
from ragtrace_collector.settings import as_yaml, load
from ragtrace_collector.stages import JudgedInteraction

_STOP_WITHIN = 14.0
_TYPICAL_CALLS, _TYPICAL_TOKENS = 2, 3_000
"""Judge requests and prompt tokens of an interaction with five documents of 200 tokens and six claims."""


@click.command(name="collector")
@click.option("--config", "file", type=click.Path(path_type=Path), help="YAML file with settings.")
@click.option("--otlp-grpc", metavar="HOST:PORT|off", help="OTLP/gRPC intake.  [default: 127.0.0.1:4317]")
@click.option("--otlp-http", metavar="HOST:PORT|off", help="OTLP/HTTP intake.  [default: 127.0.0.1:4318]")
@click.option(
    "--export",
    "exports",
    multiple=True,
    metavar="URL",
    help="OTLP/HTTP traces URL or grpc://HOST:PORT; repeatable. Without it, judged traces are shown here.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Append everything to this file as OTLP/JSON.")
@click.option("--spool", metavar="DIR|off", help="Where requests are kept until they are delivered.")
@click.option("--sample", type=float, help="Share given to the judge.  [default: embedded 1.0, others 0.05]")
@click.option("--screen", type=click.Choice(["embedded", "off"]), help="Let the embedded judge see all.")
@click.option("--judge", "kind", help="embedded, openai, cascade, or module:Class.  [default: embedded]")
@click.option("--base-url", help="OpenAI-compatible endpoint of the judge; key: OPENAI_API_KEY.")
@click.option("--model", help="Model of the judge.")
@click.option("--mapping", type=click.Path(), help="YAML with attribute paths of your own spans.")
@click.option(
    "--stitch", type=click.Choice(["off", "calls", "sessions"]), help="Join apps that begin a trace a step."
)
@click.option("--admin", metavar="HOST:PORT|off", help="Health, metrics, traces.  [default: 127.0.0.1:13133]")
@click.option("--insecure-bind", is_flag=True, default=None, help="Listen beyond loopback without a token.")
@click.option("--print-config", is_flag=True, help="Print the settings in force, secrets masked, and end.")
def command(*, file: Path | None, print_config: bool, **flags: Any) -> int:
    """Receive OTLP, score RAG interactions, export once.

    Point an app at it with OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318. Settings come from the flags,
    from RAGTRACE_COLLECTOR_… in the environment, from the file, in this order.
    """
    config = load(file, settings_from(flags), parts=wrong_parts)
    if print_config:
        click.echo(as_yaml(config), nl=False)
        return 0
    # The worker is started with fork and exec at once; gRPC's own fork handlers only complain about it.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "false")
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    open_files.raise_limit()
    if config.privacy == "local_only":
        stay_local(but=[urlsplit(destination.url).hostname or "" for destination in config.export])
    _run(serve(config))
    return 0


def settings_from(flags: Mapping[str, Any]) -> dict[str, Any]:
    """Flags that were given → settings, nested as in the file."""
    places = {
        "otlp_grpc": ("otlp", "grpc"),
        "otlp_http": ("otlp", "http"),
        "insecure_bind": ("otlp", "insecure_bind"),
        "exports": ("export",),
        "out": ("out",),
        "spool": ("spool", "dir"),
        "sample": ("sampling", "share"),
        "screen": ("sampling", "screen"),
        "kind": ("judge", "use"),
        "base_url": ("judge", "base_url"),
        "model": ("judge", "model"),
        "mapping": ("mapping",),
        "stitch": ("stitch", "by"),
        "admin": ("admin",),
    }
    settings: dict[str, Any] = {}
    for flag, (*parents, key) in places.items():
        if (value := flags.get(flag)) not in (None, ()):
            section = settings
            for parent in parents:
                section = section.setdefault(parent, {})
            section[key] = value
    return settings


async def serve(config: Config) -> None:
    """Run a collector until SIGTERM or SIGINT, then drain it.

    Raises:
        ConfigError: a setting cannot be used.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    collector = Collector(config, show=_show if not config.export else _show_nothing)
    click.echo(start_block(config, await collector.start()))
    await stop.wait()
    click.echo("draining …")
    await collector.stop(_STOP_WITHIN)


def start_block(config: Config, running: Running) -> str:
    """What a user must know at the start: where it listens, where spans go, who judges and at what cost."""
    judge = running.judge
    lines = [
        f"listening   {_listening(config, running)}",
        f"exporting   {_exporting(config)}",
        f"spool       {config.spool.folder() or 'off: what is in memory is lost with the process'}",
        f"judge       {judge.kind}{f' {judge.model}' if judge.model else ''} (revision {judge.revision}), "
        f"{config.share:.0%} of the interactions, within {config.deadline:g} s",
        f"cost        {_cost(config)}",
    ]
    if running.admin is not None and config.admin is not None:
        lines.append(
            f"admin       http://{host_and_port(config.admin)[0]}:{running.admin}/health /metrics /traces/ID"
        )
    return "\n".join(["ragtrace collector", *(f"  {line}" for line in lines)])


def _listening(config: Config, running: Running) -> str:
    places = []
    if running.http is not None and config.otlp.http is not None:
        places.append(f"OTLP/HTTP http://{host_and_port(config.otlp.http)[0]}:{running.http}")
    if running.grpc is not None and config.otlp.grpc is not None:
        places.append(f"OTLP/gRPC {host_and_port(config.otlp.grpc)[0]}:{running.grpc}")
    return ", ".join(places) or "nowhere"


def _exporting(config: Config) -> str:
    names = Counter(destination.name for destination in config.export)
    places = [
        # A path tells those on one host apart; elsewhere it is left out: some backends put a key in it.
        f"{one.name}{urlsplit(one.url).path}" if names[one.name] > 1 else one.name
        for one in config.export
    ]
    if config.out is not None:
        places.append(str(config.out))
    return ", ".join(places) if config.export else ", ".join([*places, "judged traces are shown below"])


def _cost(config: Config) -> str:
    if config.is_local:
        return "none: no network, no key"
    return (
        f"about {_TYPICAL_CALLS} requests and {_TYPICAL_TOKENS:,} prompt tokens a judged interaction "
        "(five documents of 200 tokens); what it did cost is in the metrics"
    )


def _show(item: JudgedInteraction) -> None:
    from rich.console import Console

    from ragtrace_collector.views.tree import render

    spans: list[SpanRecord] = [otlp.read_span(raw) for raw in (*item.held.left, *item.held.spans)]
    console = Console(highlight=False)
    for evaluation in item.evaluations:
        console.print(render(evaluation, spans))
        console.print()


def _show_nothing(item: JudgedInteraction) -> None:
    """Judged traces are seen where they are exported to."""


def _run(main: Coroutine[Any, Any, None]) -> None:
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None
    try:
        import uvloop

        loop_factory = uvloop.new_event_loop
    except ModuleNotFoundError:
        pass
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(main)
