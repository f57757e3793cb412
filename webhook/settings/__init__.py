"""Everything that can be set about the server, read once from options and environment into frozen values.

Nothing else reads the environment. An option `drain-seconds` is `--drain-seconds` on the command line and
FALLGATE_DRAIN_SECONDS in the environment; the command line wins. OPTIONS is the whole list, with defaults and help texts.
"""

from __future__ import annotations

from webhook.settings.options import OPTIONS, Option
from webhook.settings.reading import OptionValue, Settings
from webhook.settings.values import (
    FEATURES,
    MAX_BODY_BYTES,
    CertificateSettings,
    HttpSettings,
    KubeSettings,
    LifeSettings,
    LogSettings,
    SourceSettings,
)

__all__ = [
    "FEATURES",
    "MAX_BODY_BYTES",
    "OPTIONS",
    "CertificateSettings",
    "HttpSettings",
    "KubeSettings",
    "LifeSettings",
    "LogSettings",
    "Option",
    "OptionValue",
    "Settings",
    "SourceSettings",
]
