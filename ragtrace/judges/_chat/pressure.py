"""How hard to lean on an endpoint: pure state, every change takes the time and gives a new value."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Concurrency:
    """How many requests may be in flight: additive increase, multiplicative decrease (Chiu & Jain 1989).

    A success adds ``1/limit``, so one round of successes adds one; an overload halves, at most once in
    ``COOLDOWN`` seconds, since the requests already in flight will complain too. ``open_at`` is the time
    before which the endpoint asked not to be called.
    """

    maximum: int
    limit: float
    calm_at: float = 0.0
    open_at: float = 0.0

    def after_success(self) -> Concurrency:
        """One reply came."""
        return replace(self, limit=min(float(self.maximum), self.limit + 1 / self.limit))

    def after_overload(self, now: float, retry_after: float | None) -> Concurrency:
        """The endpoint pushed back; it wants ``retry_after`` seconds of peace."""
        open_at = max(self.open_at, now + (retry_after or 0.0))
        if now < self.calm_at:
            return replace(self, open_at=open_at)
        return replace(self, limit=max(1.0, self.limit / 2), calm_at=now + COOLDOWN, open_at=open_at)


COOLDOWN = 1.0


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """Retries that all requests share: a success earns a tenth of one, so that a sick endpoint sees at most a
    tenth more load than a healthy one, plus ``CAPACITY`` to begin with."""

    left: float = 20.0

    def earned(self) -> RetryBudget:
        """A request succeeded."""
        return RetryBudget(min(CAPACITY, self.left + 0.1))

    def spent(self) -> RetryBudget | None:
        """The budget after one more retry; ``None`` when there is none left."""
        return RetryBudget(self.left - 1) if self.left >= 1 else None


CAPACITY = 20.0


@dataclass(frozen=True, slots=True)
class Circuit:
    """Stops calling an endpoint that is down: opens after ``TRIP`` failures in a row, for ``PAUSE`` seconds.

    After the pause one request passes as a probe. Whatever answers it closes the circuit; its failure, or
    ``PAUSE`` seconds without a word from it, let the next probe come ``PAUSE`` seconds later. ``cause`` is
    what the first failure of the row was: the later ones may only follow from it.
    """

    failures: int = 0
    open_until: float = 0.0
    cause: str = ""

    def admitting(self, now: float) -> Circuit | None:
        """The circuit once it has let a request through; ``None`` where it lets none through."""
        if self.failures < TRIP:
            return self
        return replace(self, open_until=now + PAUSE) if now >= self.open_until else None

    def after_answer(self) -> Circuit:
        """The endpoint answered, be it with a refusal."""
        return Circuit()

    def after_push_back(self, now: float) -> Circuit:
        """The endpoint asked for less load: no failure, but no proof that it is well. The next may probe."""
        return replace(self, open_until=min(self.open_until, now))

    def after_failure(self, now: float, cause: str) -> Circuit:
        """The endpoint could not be reached, or failed."""
        failures = self.failures + 1
        return Circuit(failures, now + PAUSE if failures >= TRIP else 0.0, self.cause or cause)


TRIP = 8
PAUSE = 20.0
