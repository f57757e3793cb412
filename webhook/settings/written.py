"""How values are written on the command line and in the environment. Each raises ValueError with a text for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from webhook.model.server_version import read_version
from webhook.settings.values import ALL_FEATURES, FEATURES, MAX_BODY_BYTES

_MIB = 1024 * 1024


def text(written: str) -> str:
    """Any text."""
    return written


def path(written: str) -> Path:
    """A path. Raises ValueError when it is empty."""
    if not written:
        raise ValueError("the path is empty")
    return Path(written)


def optional_path(written: str) -> Path | None:
    """A path, None when it is empty."""
    return Path(written) if written else None


def features(written: str) -> tuple[str, ...]:
    """Names of features, or all."""
    asked = names(written)
    if asked == ALL_FEATURES:
        return asked
    unknown = [name for name in asked if name not in FEATURES]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no feature; known are {', '.join(FEATURES)}, or all")
    return asked


def names(written: str) -> tuple[str, ...]:
    """A list with commas."""
    return tuple(part for part in (part.strip() for part in written.split(",")) if part)


def flag(written: str) -> bool:
    """true or false."""
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}
    if written.lower() not in known:
        raise ValueError(f"{written!r} is neither true nor false")
    return known[written.lower()]


def seconds(written: str) -> float:
    """A number of seconds, up to a day."""
    try:
        value = float(written.removesuffix("s"))
    except ValueError:
        value = -1.0
    if not 0 <= value <= 86_400:
        raise ValueError(f"{written!r} is not a number of seconds")
    return value


def poll_seconds(written: str) -> float:
    """Seconds between two looks."""
    value = seconds(written)
    if value < 0.05:
        raise ValueError(f"{written!r} is too often; 0.05 seconds is the least")
    return value


def count(written: str) -> int:
    """A whole number above 0."""
    if not written.isdecimal() or int(written) < 1:
        raise ValueError(f"{written!r} is not a whole number above 0")
    return int(written)


def bodies_mib(written: str) -> int:
    """Bytes, written in MiB: at least as many as one body may have."""
    least = MAX_BODY_BYTES // _MIB
    if not written.isdecimal() or int(written) < least:
        raise ValueError(f"{written!r} is not a whole number of MiB from {least} up: a single body may have {least} MiB")
    return int(written) * _MIB


def address(written: str) -> tuple[str, int]:
    """HOST:PORT; without a host, every address."""
    host, colon, port = written.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65_535:
        raise ValueError(f"{written!r} is not HOST:PORT, for instance 0.0.0.0:8443 or [::]:8443")
    return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)  # noqa: S104 - as a pod listens


def optional_address(written: str) -> tuple[str, int] | None:
    """HOST:PORT, None when there is none."""
    return address(written) if written else None


def one_of(*known: str) -> Callable[[str], str]:
    """What reads one of these words."""

    def read(written: str) -> str:
        if written not in known:
            raise ValueError(f"{written!r} is not one of {', '.join(known)}")
        return written

    return read


def decision_log(written: str) -> str:
    """A file, "-", or "" for none."""
    return "" if written == "none" else written


def version(written: str) -> tuple[int, int] | None:
    """A Kubernetes version, None when there is none."""
    return read_version(written) if written else None


def gates(written: str) -> dict[str, bool]:
    """Feature gates as GATE=true,GATE=false."""
    gates = {}
    for part in names(written):
        gate, _, value = part.partition("=")
        if value.lower() not in ("true", "false"):
            raise ValueError(f"{part!r} is not GATE=true or GATE=false")
        gates[gate] = value.lower() == "true"
    return gates
