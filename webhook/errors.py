"""Every exception Fallgate raises on purpose, in one tree.

FallgateError
├── InputError          what was handed in cannot be used (bad review, bad manifest, bad option)
│   └── ReviewError     an AdmissionReview that cannot be answered; carries the HTTP status to answer with
├── PatchError          a JSON Patch that does not fit its document
├── PolicyErrors        one or more mistakes in policy files; the set they belong to is not loaded
├── FleetError          a fleet folder that cannot be read at all
└── ClusterError        an API server that cannot be asked
    └── ApiError        one that refused; carries the HTTP status

Nothing here has behaviour beyond holding what a message needs.
"""

from __future__ import annotations

from dataclasses import dataclass


class FallgateError(Exception):
    """Base of all errors raised on purpose."""


class InputError(FallgateError):
    """Input that cannot be used; the text says what was wrong and where."""


class ReviewError(InputError):
    """An AdmissionReview that cannot be answered.

    `status` is the HTTP status the server answers with (400, 413, 415, ...).
    """

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class PatchError(FallgateError):
    """A JSON Patch that cannot be applied; the text says which operation and why."""


class FleetError(FallgateError):
    """A fleet that cannot be read at all (no such folder, not readable)."""


class ClusterError(FallgateError):
    """An API server that cannot be asked: no configuration, no connection, no answer in time.

    `retry_after` are the seconds it wants to be left alone for, 0.0 when it says nothing.
    """

    def __init__(self, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ApiError(ClusterError):
    """The API server answered with an error. `status` is its HTTP status, the text what it said."""

    def __init__(self, message: str, *, status: int, retry_after: float = 0.0) -> None:
        super().__init__(message, retry_after=retry_after)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake in one file.

    `line` and `column` count from 1; 0 means that the mistake has no place in the file.
    `excerpt` is the line's text, for printing a caret under `column`.
    """

    message: str
    source: str = ""
    line: int = 0
    column: int = 0
    excerpt: str = ""
    hint: str = ""
    warning: bool = False


class PolicyErrors(FallgateError):
    """All mistakes of a policy set at once."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("; ".join(problem.message for problem in problems))
        self.problems = problems
