"""Random claims, tier policies and clusters for the laws of injection."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests import build
from tests.build import Raw
from tests.injecting import document, policies
from webhook.cel import Selector, compile_selector
from webhook.fleet.fleet import Fleet
from webhook.model.claim import Toleration
from webhook.model.labels import LabelSelector
from webhook.rulekit.policies import (
    CatalogModel,
    Checks,
    DeviceOwnership,
    Exemption,
    FallbackCompatibility,
    Header,
    Match,
    PolicySet,
    TierAlternative,
    TierAsk,
    TierFallback,
)

GPU, MIG, AMD, ANY, GONE = "gpu.nvidia.com", "mig.nvidia.com", "gpu.amd.com", "any.nvidia.com", "gone.example.com"
CLASSES = (GPU, GPU, GPU, MIG, MIG, AMD, ANY, GONE)

H100 = 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"'
A100 = 'device.attributes["gpu.nvidia.com"].productName == "NVIDIA A100-SXM4-40GB"'
ERRS = 'device.attributes["gpu.nvidia.com"].nothing == "x"'
NEVER = 'device.driver == "nobody"'
SELECTORS = (H100, A100, ERRS, NEVER, "this does not compile (")

PLAIN, DECLARED, POOR, SHARED = "plain", "declared", "poor", "shared"
NAMESPACES = (PLAIN, DECLARED, POOR, SHARED)


def _selector(text: str) -> Selector:
    compiled = compile_selector(text)
    assert isinstance(compiled, Selector)
    return compiled


CATALOG = (
    CatalogModel(name="h100-80gb", driver=GPU, device_class=GPU, selector=_selector(H100)),
    CatalogModel(name="a100-40gb", driver=GPU, device_class=GPU, selector=_selector(A100), aliases=("a100",)),
    CatalogModel(
        name="a100-mig-{profile}",
        driver=GPU,
        device_class=MIG,
        selector=_selector('device.attributes["gpu.nvidia.com"].type == "mig"'),
    ),
    CatalogModel(name="mi300x", driver=AMD, device_class=AMD, selector=None),
    CatalogModel(name="classless", driver=GPU, selector=_selector(H100)),
)


def _objects() -> list[Raw]:
    kind_of = 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == '
    mig = build.device("mig-0", {"type": "mig", "productName": "NVIDIA A100-SXM4-40GB", "profile": "1g.5gb"})
    a100 = [build.gpu(f"gpu-{i}", "NVIDIA A100-SXM4-40GB", "40Gi") for i in range(4)]
    return [
        build.device_class(GPU, kind_of + '"gpu"', extended_resource="nvidia.com/gpu"),
        build.device_class(MIG, kind_of + '"mig"'),
        build.device_class(ANY, 'device.driver == "gpu.nvidia.com"'),
        build.device_class(AMD),
        build.namespace(PLAIN, {"fallgate.dev/tier": "t"}),
        build.namespace(DECLARED, {"fallgate.dev/tier": "t", "declare": "yes"}),
        build.namespace(POOR, {"fallgate.dev/tier": "t"}),
        # a device plugin has the cards of this node too
        build.node("node-a100", allocatable={"nvidia.com/gpu": "4"}),
        build.namespace(SHARED, {"fallgate.dev/tier": "t", "shared": "yes"}),
        build.quota(
            "devices",
            {f"{GPU}.deviceclass.resource.k8s.io/devices": "8", f"{AMD}.deviceclass.resource.k8s.io/devices": "1"},
            {f"{GPU}.deviceclass.resource.k8s.io/devices": "3"},
            namespace=POOR,
        ),
        build.device_slice("node-h100", build.gpu("gpu-0"), build.gpu("gpu-1")),
        build.device_slice("node-a100", *a100, mig),
    ]


@cache
def fleet(amd: bool, server: str, errs: bool) -> Fleet:
    """A cluster with H100s, A100s and a MIG slice; with an AMD card; with one more card that has no product name."""
    objects = _objects()
    if amd:
        objects.append(build.device_slice("node-amd", build.device("card-0", {"productName": "MI300X"}), driver=AMD))
    if errs:
        objects.append(build.device_slice("node-odd", build.device("gpu-0", {"type": "gpu"})))
    objects.append(build.pod("p", namespace=PLAIN, templates={"gpu": "t"}, meta={"uid": "u1"}))
    return build.fleet_of(*objects, server=server)


fleets = st.builds(fleet, st.booleans(), st.sampled_from(["1.36", "1.37", "1.35", "1.34"]), st.booleans())

_labels = st.sampled_from(["gpu", "nic", "a", "b-2", "requested", "x" * 63])
_tolerations = st.sampled_from([{}, {"key": "k", "operator": "Exists"}, {"key": "k", "value": "v", "tolerationSeconds": 5}])


def _some(fields: dict[str, st.SearchStrategy[Any]], **always: st.SearchStrategy[Any]) -> st.SearchStrategy[Raw]:
    return st.fixed_dictionaries(always, optional=fields)


_counted = _some(
    {
        "selectors": st.sampled_from([(), (H100,), (H100,), (A100,), (H100, ERRS), (NEVER,)]).map(
            lambda texts: [{"cel": {"expression": text}} for text in texts]
        ),
        "count": st.sampled_from([1, 1, 2, 3, 20]),
        "tolerations": st.lists(_tolerations, max_size=2),
        "capacity": st.just({"requests": {"memory": "10Gi"}}),
        "allocationMode": st.just("ExactCount"),
    },
    deviceClassName=st.sampled_from(CLASSES),
)
_all = _some({"selectors": st.just([])}, deviceClassName=st.sampled_from(CLASSES), allocationMode=st.just("All"))


def _often(usual: st.SearchStrategy[Raw], rare: st.SearchStrategy[Raw]) -> st.SearchStrategy[Raw]:
    """One of ten is rare."""
    return st.integers(0, 9).flatmap(lambda number: rare if number == 7 else usual)


_asks = _often(_counted, _all)
_odd: list[Raw] = [{"adminAccess": False}, {"adminAccess": True}, {"someday": {"a": [1]}}]
_alternatives = st.lists(_asks, min_size=1, max_size=3).map(
    lambda asks: [{"name": f"alt-{i}", **ask} for i, ask in enumerate(asks)]
)
_plain = st.builds(lambda ask, odd: {"exactly": {**ask, **odd}}, _asks, _often(st.just({}), st.sampled_from(_odd)))
_bodies = _often(_plain, _alternatives.map(lambda listed: {"firstAvailable": listed}))
_parameters = st.sampled_from(
    [{"kind": "GpuConfig"}, {"kind": "MigDeviceConfig", "a": True}, {"kind": "Other", "list": [1, {}]}]
)


@st.composite
def _requests(draw: st.DrawFn) -> list[Raw]:
    names = draw(st.lists(_labels, min_size=1, max_size=4, unique=True))
    return [{"name": name, **draw(_bodies)} for name in names]


@st.composite
def _config(draw: st.DrawFn, names: list[str]) -> Raw:
    driver = draw(st.sampled_from([GPU, GPU, AMD, "nic.example.com"]))
    entry: Raw = {"opaque": {"driver": driver, "parameters": draw(_parameters)}}
    scope = draw(st.sampled_from(["absent", "empty", "null", "some", "some"]))
    if scope == "some":
        entry["requests"] = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    elif scope != "absent":
        entry["requests"] = [] if scope == "empty" else None
    return entry | draw(_often(st.just({}), st.just({"someday": 1})))


@st.composite
def specs(draw: st.DrawFn) -> Raw:
    """A claim's spec, in v1's form."""
    requests = draw(_requests())
    names = [request["name"] for request in requests]
    devices: Raw = {"requests": requests}
    if draw(st.booleans()):
        devices["config"] = draw(st.lists(_config(names), max_size=3))
    if draw(st.booleans()):
        attribute = draw(st.sampled_from([{"matchAttribute": "gpu.nvidia.com/productName"}, {"distinctAttribute": "a/b"}]))
        devices["constraints"] = [{"requests": draw(st.lists(st.sampled_from(names), unique=True)), **attribute}]
    return {"devices": devices} | draw(st.sampled_from([{}, {}, {"someday": {"b": None}}]))


_DECLARATION = {"fallgate.dev/compatible-shapes": "1-4x h100-80gb, 1-4x a100-40gb, *x a100-mig-*"}
_annotations = st.sampled_from(
    [
        *[{}, _DECLARATION] * 3,
        {"example.com/a~b/c": "d"},
        {"fallgate.dev/compatible-shapes": "*x h100-80gb, *x a100-40gb"},
        {"fallgate.dev/fallback": "second"},
    ]
)


@st.composite
def claims(draw: st.DrawFn) -> Raw:
    """A claim or template in v1's form, as its author wrote it: valid, mostly, and with odd fields."""
    kind = draw(st.sampled_from(["ResourceClaim", "ResourceClaim", "generated", "ResourceClaimTemplate"]))
    meta: Raw = {"name": "c", "namespace": PLAIN if kind == "generated" else draw(st.sampled_from(NAMESPACES))}
    annotations = draw(_annotations)
    if kind == "generated":
        annotations = {**annotations, "resource.kubernetes.io/pod-claim-name": "gpu"}
        meta["ownerReferences"] = build.owned_by("Pod", "p", "u1")
    written = draw(st.sampled_from(["absent", "as it is", "as it is"]))
    if annotations or written == "as it is":
        meta["annotations"] = annotations
    spec = draw(specs())
    if kind == "ResourceClaimTemplate":
        spec = {"spec": spec} | draw(st.sampled_from([{}, {"metadata": {"labels": {"a": "b"}}}]))
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim" if kind == "generated" else kind,
        "metadata": meta,
        "spec": spec,
    }
    return body | draw(st.sampled_from([{}, {"status": {}}, {"someday": [None]}]))


_names = st.sampled_from(["whole", "slice", "pair", "requested", "amd", "big", "y" * 63, "all", "one"])
_tier_alternatives = st.one_of(
    st.builds(
        TierAlternative,
        name=_names,
        model=st.sampled_from(["h100-80gb", "a100-40gb", "a100", "a100-mig-1g-5gb", "a100-mig-1g.5gb", "mi300x", "classless"]),
        count=st.sampled_from([None, 1, 2, 20]),
        tolerations=st.sampled_from([(), (Toleration(key="k", operator="Exists"),)]),
    ),
    st.builds(
        TierAlternative,
        name=_names,
        device_class=st.sampled_from(CLASSES),
        selectors=st.sampled_from([(), (), (H100,), (A100,), (A100, H100), (ERRS,), (NEVER,), SELECTORS[4:]]),
        count_factor=st.sampled_from([None, None, Fraction(2), Fraction(1, 2)]),
        capacity=st.sampled_from([{}, {}, {"memory": "10Gi"}]),
    ),
    st.builds(TierAlternative, name=_names, device_class=st.sampled_from(CLASSES), allocation_mode=st.just("All")),
)
_tier_asks = st.builds(
    TierAsk,
    alternatives=st.lists(_tier_alternatives, min_size=1, max_size=9).map(tuple),
    device_classes=st.sampled_from([("*",), ("*",), ("*",), (GPU,), ("*.nvidia.com",)]),
    shapes=st.sampled_from([(), (), (), (), ("*x h100-*",), ("*x *",)]),
    author=st.sampled_from(["first", "last", "replace"]),
    allocation_mode_all=st.booleans(),
)

COMPATIBILITY = FallbackCompatibility(
    header=Header(
        kind="FallbackCompatibility",
        name="declared",
        digest="1111111",
        match=Match(namespace_selector=LabelSelector(match_labels={"declare": "yes"})),
    ),
    undeclared="deny",
)


#: Lists with slices of cards are judged everywhere.
OF_SLICES = FallbackCompatibility(
    header=Header(kind="FallbackCompatibility", name="slices", digest="4444444", match=Match(device_classes=(MIG,))),
)
OWNERSHIP = DeviceOwnership(
    header=Header(
        kind="DeviceOwnership",
        name="nvidia",
        digest="5555555",
        match=Match(namespace_selector=LabelSelector(match_labels={"shared": "yes"})),
    ),
    driver=GPU,
    extended_resources=("nvidia.com/gpu",),
)
_RULES = policies(
    document("ClaimRule", "few", forEach="alternative", require="alternative.count <= 2", message='"few"'),
    document(
        "ClaimRule",
        "short",
        forEach="request",
        match={"deviceClasses": [MIG]},
        require="request.alternatives.size() <= 2",
        message='"short"',
    ),
    document("ClaimRule", "plain", forEach="claim", require="!claim.requests.exists(r, r.prioritized)", message='"plain"'),
    catalog=False,
).claim_rules
CHECKS = Checks(header=Header(kind="Checks", name="catalogue", digest="3333333"))


def _tier(name: str, asks: list[TierAsk]) -> TierFallback:
    return TierFallback(
        header=Header(kind="TierFallback", name=name, digest="2222222"),
        tiers=("t",),
        asks=tuple(asks),
        targets=frozenset({"generatedClaims", "claims", "templates"}),
    )


_exemptions = st.builds(
    Exemption,
    policy=st.just("platform"),
    reason=st.just("tests"),
    namespaces=st.sampled_from([(), (PLAIN,), (DECLARED, SHARED)]),
    rules=st.sampled_from([(), ("tier-fallback",), ("inject-left-out",), ("fallback-compatibility", "device-ownership")]),
    policies=st.sampled_from([(), ("first",), ("declared", "nvidia")]),
    effect=st.sampled_from(["allow", "warn"]),
)
policy_sets = st.builds(
    lambda first, second, rules, exemptions: PolicySet(
        claim_rules=rules,
        catalog=CATALOG,
        fallback_compatibility=(COMPATIBILITY, OF_SLICES),
        device_ownership=(OWNERSHIP,),
        tier_fallback=(_tier("first", first), _tier("second", second)),
        checks=(CHECKS,),
        exemptions=exemptions,
    ),
    st.lists(_tier_asks, min_size=1, max_size=2),
    st.lists(_tier_asks, max_size=1),
    st.sampled_from([(), (), (), _RULES[:1], _RULES[:2], _RULES[2:]]),
    st.one_of(st.just(()), st.just(()), st.lists(_exemptions, min_size=1, max_size=2).map(tuple)),
)
