"""The forms of text that policy files use: Kubernetes names, label keys and values, globs, attribute names, quantities."""

from __future__ import annotations

from webhook.model.quantity import parse_quantity
from webhook.policyfile.field_types import Text
from webhook.policyfile.spot import Spot, shortened

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"
_GLOB_PART = r"([^\s/\[\]]|\[[^\s/\[\]]+\])+"
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_GLOB_LENGTH = 317

#: apimachinery's IsDNS1123Label, IsDNS1123Subdomain, IsQualifiedName, IsValidLabelValue.
DNS_LABEL = Text(
    phrase="DNS label",
    pattern=_LABEL,
    max_length=63,
    explain="lower-case letters, digits and '-', beginning and ending with a letter or digit, at most 63 characters",
)
DNS_SUBDOMAIN = Text(
    phrase="DNS subdomain",
    pattern=_SUBDOMAIN,
    max_length=253,
    explain="lower-case letters, digits, '-' and '.', each part beginning and ending with a letter or digit",
)
DRIVER_NAME = Text(
    phrase="driver name",
    pattern=_SUBDOMAIN,
    max_length=63,
    explain="as in spec.driver of its ResourceSlices, for example gpu.nvidia.com",
)
LABEL_KEY = Text(
    phrase="label key",
    pattern=f"({_SUBDOMAIN}/)?{_NAME}",
    max_length=317,
    explain="letters, digits, '-', '_' and '.', with an optional DNS subdomain and '/' in front",
)
LABEL_VALUE = Text(
    phrase="label value",
    pattern=f"({_NAME})?",
    max_length=63,
    explain="letters, digits, '-', '_' and '.', at most 63 characters; or empty",
)
GLOB = Text(
    phrase="glob",
    pattern=rf"({_GLOB_PART}/)*{_GLOB_PART}",
    max_length=_GLOB_LENGTH,
    explain="a name in which * stands for any characters, ? for one, [ab] for one of several; no blanks",
)
USER_GLOB = Text(
    phrase="glob",
    pattern=r"([^\s\[\]]|\[[^\s\[\]]+\])+",
    max_length=_GLOB_LENGTH,
    explain="a name in which * stands for any characters, ? for one, [ab] for one of several; no blanks",
)
RESOURCE_GLOB = Text(
    phrase="extended resource glob",
    pattern=rf"{_GLOB_PART}/{_GLOB_PART}",
    max_length=_GLOB_LENGTH,
    explain="a domain, '/' and a name, for example nvidia.com/gpu or nvidia.com/mig-*",
)
#: k8s.io/api resource/v1 QualifiedName: a C identifier, with or without a domain in front.
ATTRIBUTE_NAME = Text(
    phrase="attribute name",
    pattern=f"({_SUBDOMAIN}/)?{_IDENTIFIER}",
    max_length=96,
    explain="a name such as productName, or with its domain: gpu.nvidia.com/productName",
)
SENTENCE = Text(phrase="text", pattern=r"[\s\S]*\S[\s\S]*", max_length=1000, explain="say it in a few words")


def _check_quantity(spot: Spot, value: str) -> None:
    try:
        parse_quantity(value)
    except ValueError:
        raise spot.fault(
            f'{spot.shown}: "{shortened(value)}" is no quantity', "a number with an optional suffix: 80Gi, 500m, 4"
        ) from None


QUANTITY_TEXT = Text(phrase="quantity", max_length=64, note=_check_quantity)
