"""IP addresses and networks."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from webhook.cel.equality import register_strict
from webhook.cel.library.table import Function, Overload, held_by
from webhook.cel.types import BOOL, CIDR, INT, IP, STRING, Type
from webhook.cel.values import EvaluationError, no_such_overload, register_hashed, register_type

_PREFIX_LENGTH = re.compile(r"0|[1-9][0-9]{0,2}")


@dataclass(frozen=True, slots=True)
class IpValue:
    """An address."""

    address: IPv4Address | IPv6Address

    def __str__(self) -> str:
        return str(self.address)


@dataclass(frozen=True, slots=True)
class CidrValue:
    """An address with the length of its network's prefix; host bits are kept."""

    address: IPv4Address | IPv6Address
    bits: int

    @property
    def network(self) -> IPv4Network | IPv6Network:
        """The network, without host bits."""
        return ip_network((self.address, self.bits), strict=False)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


for _type, _class in ((IP, IpValue), (CIDR, CidrValue)):
    register_type(_class, _type.name)
    register_strict(_class)
    register_hashed(_class)
    held_by(_type, _class)


def _parse_address(text: str, what: str) -> IPv4Address | IPv6Address:
    try:
        address = ip_address(text)
    except ValueError:
        raise EvaluationError(f'{what} "{text}" parse error during conversion from string') from None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise EvaluationError(f'IP address "{text}" with zone value is not allowed')
        if address.ipv4_mapped is not None:
            raise EvaluationError(f'IPv4-mapped IPv6 address "{text}" is not allowed')
    return address


def _ip(text: str) -> IpValue:
    return IpValue(_parse_address(text, "IP Address"))


def _cidr(text: str) -> CidrValue:
    address_text, slash, bits = text.rpartition("/")
    address = _parse_address(address_text, "network address") if slash else None
    if address is None or not _PREFIX_LENGTH.fullmatch(bits) or int(bits) > address.max_prefixlen:
        raise EvaluationError(f'network address parse error during conversion from string: netip.ParsePrefix("{text}")')
    return CidrValue(address, int(bits))


def _succeeds(parse: Callable[[str], object]) -> Callable[[str], bool]:
    def test(text: str) -> bool:
        try:
            parse(text)
        except EvaluationError:
            return False
        return True

    return test


def _is_global_unicast(ip: IpValue) -> bool:
    address = ip.address
    unusual = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return (not unusual and int(address) != 2**32 - 1) or (address.version == 6 and not unusual)


def _is_link_local_multicast(ip: IpValue) -> bool:
    if ip.address.version == 4:
        return int(ip.address) >> 8 == 0xE00000
    return int(ip.address) >> 120 == 0xFF and int(ip.address) >> 112 & 0x0F == 2


def _contains_ip(cidr: CidrValue, other: Any) -> bool:
    try:
        ip = _ip(other) if isinstance(other, str) else other
    except EvaluationError:
        raise no_such_overload() from None
    return ip.address.version == cidr.address.version and ip.address in cidr.network


def _contains_cidr(cidr: CidrValue, other: Any) -> bool:
    inner = _cidr(other) if isinstance(other, str) else other
    return (
        inner.address.version == cidr.address.version
        and cidr.bits <= inner.bits
        and inner.network.network_address in cidr.network
    )


def _masked(cidr: CidrValue) -> CidrValue:
    return CidrValue(cidr.network.network_address, cidr.bits)


def _global(name: str, id_: str, params: tuple[Type, ...], result: Type, call: Callable[..., Any]) -> Function:
    return Function(name, (Overload(id_, params, result, call),))


def _member(name: str, id_: str, params: tuple[Type, ...], result: Type, call: Callable[..., Any]) -> Function:
    return Function(name, (Overload(id_, params, result, call, member=True),))


def _test(name: str, call: Callable[[IpValue], bool]) -> Function:
    return _member(name, f"ip_{name}", (IP,), BOOL, call)


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "ip",
        (
            Overload("string_to_ip", (STRING,), IP, _ip),
            Overload("cidr_ip", (CIDR,), IP, lambda cidr: IpValue(cidr.address), member=True),
        ),
    ),
    _member("family", "ip_family", (IP,), INT, lambda ip: ip.address.version),
    _global("ip.isCanonical", "ip_is_canonical", (STRING,), BOOL, lambda text: str(_ip(text).address) == text),
    _test("isUnspecified", lambda ip: ip.address.is_unspecified),
    _test("isLoopback", lambda ip: ip.address.is_loopback),
    _test("isLinkLocalMulticast", _is_link_local_multicast),
    _test("isLinkLocalUnicast", lambda ip: ip.address.is_link_local),
    _test("isGlobalUnicast", _is_global_unicast),
    _global("isIP", "is_ip", (STRING,), BOOL, _succeeds(_ip)),
    Function(
        "string",
        (
            Overload("ip_to_string", (IP,), STRING, lambda ip: str(ip.address)),
            Overload("cidr_to_string", (CIDR,), STRING, str),
        ),
    ),
    _global("cidr", "string_to_cidr", (STRING,), CIDR, _cidr),
    _global("isCIDR", "is_cidr", (STRING,), BOOL, _succeeds(_cidr)),
    Function(
        "containsIP",
        (
            Overload("cidr_contains_ip_string", (CIDR, STRING), BOOL, _contains_ip, member=True),
            Overload("cidr_contains_ip_ip", (CIDR, IP), BOOL, _contains_ip, member=True),
        ),
    ),
    Function(
        "containsCIDR",
        (
            Overload("cidr_contains_cidr_string", (CIDR, STRING), BOOL, _contains_cidr, member=True),
            Overload("cidr_contains_cidr", (CIDR, CIDR), BOOL, _contains_cidr, member=True),
        ),
    ),
    _member("prefixLength", "cidr_prefix_length", (CIDR,), INT, lambda cidr: cidr.bits),
    _member("masked", "cidr_masked", (CIDR,), CIDR, _masked),
)
