"""How fast judgements come, so that no more are begun than can be done in time.

Without it an overloaded judge does work that is late, all of it: every interaction waits behind others that
will be late too, and not one score is on its span. Pure: takes the time.
"""

from __future__ import annotations

from dataclasses import dataclass

_WEIGHT = 0.1
"""What the last judgement counts in the average: about the last twenty are in it."""


@dataclass(slots=True)
class Pace:
    """The backlog of a judge and the average time between two of its judgements while it has one. Seconds."""

    backlog: int = 0
    interval: float = 0.0
    _since: float = 0.0
    """When the last judgement came, or work after a rest."""

    def began(self, now: float) -> None:
        """One more waits for its judgement."""
        if not self.backlog:
            self._since = now
        self.backlog += 1

    def ended(self, now: float, *, judged: bool) -> None:
        """One waits no more; one not ``judged`` (a failure, a worker that died) tells nothing of the pace."""
        self.backlog -= 1
        if judged:
            took = max(0.0, now - self._since)
            self.interval += _WEIGHT * (took - self.interval) if self.interval else took
        self._since = now

    def wait(self) -> float:
        """How long one that is handed over now waits for those before it; 0 while nothing is known."""
        return self.backlog * self.interval
