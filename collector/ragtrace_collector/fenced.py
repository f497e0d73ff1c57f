"""Reading what came in, of which nothing is raised but what tells the sender that it is no OTLP.

Whatever else goes wrong in reading costs a score: the spans and log records go on as they came.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragtrace.errors import MalformedOtlp, TooLarge
from ragtrace.model import LogRecord
from ragtrace_collector import otlp
from ragtrace_collector.grouping import SeenSpan
from ragtrace_collector.otlp import Glance, Sifted, Survey
from ragtrace_collector.rescue import Rescue
from ragtrace_collector.triage import Triage, unread


@dataclass(frozen=True, slots=True)
class ReadLogs:
    """Log records, and about how many bytes each of them takes."""

    records: Sequence[LogRecord] = ()
    size: int = 0


@dataclass(frozen=True)
class FencedTriage:
    """A :class:`Triage` inside a fence."""

    triage: Triage
    rescue: Rescue
    read_logs: Callable[[bytes], Sequence[LogRecord]] = otlp.read_logs

    def survey(self, body: bytes) -> Survey:
        """What a request holds; no key of RAG where that cannot be told.

        Raises:
            MalformedOtlp: it is none.
            TooLarge: it is of more parts than any honest request.
        """
        try:
            return self.triage.survey(body)
        except (MalformedOtlp, TooLarge):
            raise
        except Exception as error:  # noqa: BLE001  # not to be held is no harm, not to be sent is
            self.rescue.note("triage", type(error).__name__)
            return otlp.survey(body, lambda key: False)

    def sift(self, body: bytes, survey: Survey) -> Sifted:
        """A request by its traces; none of them apart where they cannot be told.

        Raises:
            MalformedOtlp: it is none.
        """
        try:
            return self.triage.sift(body, survey)
        except MalformedOtlp:
            raise
        except Exception as error:  # noqa: BLE001  # as above
            self.rescue.note("triage", type(error).__name__)
            return Sifted((), body, survey.spans)

    def see(self, one: Glance) -> SeenSpan:
        """A span with its role; plain where that cannot be told."""
        try:
            return self.triage.see(one)
        except Exception as error:  # noqa: BLE001  # as above
            self.rescue.note("triage", type(error).__name__)
            return unread(one)

    def logs(self, body: bytes) -> ReadLogs:
        """The log records of a request that may belong to an interaction; none where they cannot be read.

        Raises:
            MalformedOtlp: it is none.
        """
        try:
            records = self.read_logs(body)
            return ReadLogs(self.triage.wanted(records), len(body) // max(len(records), 1))
        except MalformedOtlp:
            raise
        except Exception as error:  # noqa: BLE001  # as above
            self.rescue.note("logs", type(error).__name__)
            return ReadLogs()
