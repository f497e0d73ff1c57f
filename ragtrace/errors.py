"""The exception tree.

::

    RagtraceError
    ├── ConfigError          a setting is wrong; carries the path of the key
    │   └── ConfigErrors     several are; carries all of them
    ├── InputError           a file, row or request cannot be read; carries source and line
    │   ├── MalformedOtlp    bytes that are no OTLP request
    │   └── TooLarge         over a limit
    ├── JudgeError           the judge gave no usable reply; carries a reason from a short list
    │   ├── JudgeTimeout     no reply before the deadline
    │   └── JudgeUnavailable the endpoint cannot be reached, or refuses (429, 5xx, circuit open)
    ├── MissingExtra         a feature needs an extra that is not installed
    └── ExportError          a backend did not take a batch
        ├── RetryableExport  it may take it later; carries the delay that it asked for
        └── PermanentExport  it never will

Raised at the borders only: a score that could not be made is a value (:class:`ragtrace.model.Unscored`), and
a hook never raises into the app.
"""

from __future__ import annotations

from collections.abc import Sequence


class RagtraceError(Exception):
    """Base of all errors that ragtrace raises."""


class ConfigError(RagtraceError, ValueError):
    """A setting is wrong. ``path`` is the dotted path of the key, ``""`` where there is none.

    A ``ValueError`` too, so that a validator may raise it and others still get to say what else is wrong.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.message, self.path = message, path


class ConfigErrors(ConfigError):
    """Several settings are wrong at once: all ``errors``, one a line; ``path`` is that of the first."""

    def __init__(self, errors: Sequence[ConfigError]) -> None:
        lines = [f"{len(errors)} settings cannot be used", *map(str, errors)]
        super().__init__("\n  ".join(lines))
        self.errors, self.path = tuple(errors), errors[0].path

    def __reduce__(self) -> tuple[type[ConfigErrors], tuple[tuple[ConfigError, ...]]]:
        # Made anew from the errors where it crosses to another process, not from its text.
        return type(self), (self.errors,)


def one_or_all(errors: Sequence[ConfigError]) -> ConfigError:
    """One error that says all that ``errors`` (at least one) say; those that are several are taken apart."""
    each = [
        one for error in errors for one in (error.errors if isinstance(error, ConfigErrors) else (error,))
    ]
    return each[0] if len(each) == 1 else ConfigErrors(each)


class InputError(RagtraceError):
    """An input cannot be read. ``source`` names the file or request, ``line`` is 1-based."""

    def __init__(self, message: str, source: str = "", line: int | None = None) -> None:
        where = source + (f":{line}" if line is not None else "")
        super().__init__(f"{where}: {message}" if where else message)
        self.source, self.line = source, line


class MalformedOtlp(InputError):
    """Bytes that are no OTLP request."""


class TooLarge(InputError):
    """An input is over a limit."""


class JudgeError(RagtraceError):
    """The judge gave no usable reply. ``reason`` is short and from a closed list, fit for an attribute."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason, self.detail = reason, detail


class JudgeTimeout(JudgeError):
    """No reply before the deadline."""


class JudgeUnavailable(JudgeError):
    """The judge's endpoint cannot be reached, or refuses. ``retry_after`` is in seconds."""

    def __init__(self, reason: str, detail: str = "", retry_after: float | None = None) -> None:
        super().__init__(reason, detail)
        self.retry_after = retry_after


class MissingExtra(RagtraceError):
    """A feature needs an extra that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f'{feature} needs an extra: pip install "ragtrace[{extra}]"')
        self.feature, self.extra = feature, extra


class ExportError(RagtraceError):
    """A backend did not take a batch."""


class RetryableExport(ExportError):
    """The backend may take the batch later. ``retry_after`` is in seconds, ``None`` where it did not say."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class PermanentExport(ExportError):
    """The backend will never take the batch. ``splittable`` says that a smaller one may be taken."""

    def __init__(self, message: str, splittable: bool = False) -> None:
        super().__init__(message)
        self.splittable = splittable
