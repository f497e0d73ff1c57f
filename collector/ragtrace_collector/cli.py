"""The ``ragtrace`` command: the only place that exits.

Each subcommand lives in its own module of :mod:`ragtrace_collector.commands` under its own name, as a click
command called ``command``; it is imported when it is called, so that ``ragtrace score`` never loads a server.
A command raises :class:`ragtrace.errors.RagtraceError`; here that becomes one line on stderr and exit code 2.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from ragtrace.errors import MissingExtra, RagtraceError

if TYPE_CHECKING:
    import click

COMMANDS = {
    "demo": "Answer questions with a small RAG app, judge them, show where each failed.",
    "collector": "Receive OTLP, score RAG interactions, export once.",
    "score": "Score recorded traces or interactions from files.",
    "evaluate": "Score a whole set: means, intervals, breakdowns, gates, comparisons.",
    "agree": "Measure a judge against people's labels.",
    "doctor": "Say why a trace was or was not scored.",
    "prompts": "Show the judge's prompts, or export them to change them.",
}
"""Name → the line that ``ragtrace --help`` shows."""


def main() -> None:
    """Entry point of the ``ragtrace`` command."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run the command line ``arguments`` → exit code: 0 done, 1 a check failed, 2 bad usage or input."""
    try:
        import click
    except ModuleNotFoundError:
        print(MissingExtra("the ragtrace command", "collector"), file=sys.stderr)
        return 2
    try:
        result = _group().main(args=arguments, prog_name="ragtrace", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        print("interrupted", file=sys.stderr)
        return 130
    except RagtraceError as error:
        print(f"ragtrace: {error}", file=sys.stderr)
        return 2


def _group() -> click.Group:
    import click

    class Lazy(click.Group):
        def list_commands(self, ctx: click.Context) -> list[str]:
            return list(COMMANDS)

        def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
            if name not in COMMANDS:
                return None
            try:
                module = importlib.import_module(f"ragtrace_collector.commands.{name}")
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] in {"ragtrace", "ragtrace_collector"}:
                    raise
                raise MissingExtra(
                    f"ragtrace {name} (no module {error.name})", _EXTRAS.get(name, "score")
                ) from error
            command: click.Command = module.command
            return command

        def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
            with formatter.section("Commands"):
                formatter.write_dl(list(COMMANDS.items()))

    @click.group(cls=Lazy, context_settings={"help_option_names": ["-h", "--help"]})
    @click.version_option(package_name="ragtrace")
    def ragtrace() -> None:
        """Which of the four ways did a RAG answer fail? Scores on your own spans, in your own UI."""

    return ragtrace


_EXTRAS = {"demo": "demo", "collector": "collector"}
"""The extra that a command needs, where it is not ``score``."""
