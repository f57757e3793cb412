"""Builders for the raw objects of tests. Each makes the smallest valid object; what a test is about it says itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from webhook.cel import Selector, compile_selector
from webhook.fleet.build import build_fleet
from webhook.fleet.fleet import Fleet
from webhook.model.device import Device, Reach
from webhook.model.device_reading import read_device
from webhook.model.server_version import Server, read_version
from webhook.rulekit.policies import CatalogModel, PolicySet

Raw = dict[str, Any]

NVIDIA = "gpu.nvidia.com"
NAMESPACE = "team-a"


def without_empty(fields: Mapping[str, Any]) -> Raw:
    """The fields that say something: None and empty values are left out, 0 and False stay."""
    return {key: value for key, value in fields.items() if value is not None and value not in ("", [], {}, ())}


def metadata(name: str, namespace: str = "", **fields: Any) -> Raw:
    """metadata; `fields` in JSON's spelling (labels, annotations, uid, creationTimestamp, ownerReferences, ...)."""
    return without_empty({"name": name, "namespace": namespace, **fields})


def owned_by(kind: str, name: str, uid: str, api_version: str = "v1") -> list[Raw]:
    """ownerReferences with one controller."""
    return [{"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": True}]


# Requests of a claim.


def ask(device_class: str = NVIDIA, *selectors: str, count: int | None = None, mode: str = "", **fields: Any) -> Raw:
    """The fields of `exactly`, with CEL selectors."""
    return without_empty(
        {
            "deviceClassName": device_class,
            "selectors": [{"cel": {"expression": text}} for text in selectors],
            "allocationMode": mode,
            "count": count,
            **fields,
        }
    )


def alternative(name: str, device_class: str = NVIDIA, *selectors: str, **fields: Any) -> Raw:
    """One entry of firstAvailable."""
    return {"name": name, **ask(device_class, *selectors, **fields)}


def exactly(name: str = "gpu", device_class: str = NVIDIA, *selectors: str, **fields: Any) -> Raw:
    """A plain request."""
    return {"name": name, "exactly": ask(device_class, *selectors, **fields)}


def first_available(name: str, *alternatives: Raw) -> Raw:
    """A prioritized request."""
    return {"name": name, "firstAvailable": list(alternatives)}


def flattened(request: Raw) -> Raw:
    """A request as v1beta1 and v1alpha3 have it: no `exactly`, and an empty class name beside firstAvailable."""
    inner: Raw = request.get("exactly", {"deviceClassName": ""})
    return {key: value for key, value in request.items() if key != "exactly"} | inner


def claim_spec(requests: Iterable[Raw], version: str = "v1", **devices: Any) -> Raw:
    """A claim's spec in that API version; `devices` are constraints and config."""
    flat = version in ("v1beta1", "v1alpha3")
    return {"devices": without_empty({"requests": [flattened(item) if flat else item for item in requests], **devices})}


# Objects of resource.k8s.io.


def claim(
    name: str,
    *requests: Raw,
    namespace: str = NAMESPACE,
    version: str = "v1",
    devices: Raw | None = None,
    allocated: Iterable[Raw] = (),
    **meta: Any,
) -> Raw:
    """A ResourceClaim; `devices` are constraints and config, `allocated` results of its allocation."""
    results = list(allocated)
    return without_empty(
        {
            "apiVersion": f"resource.k8s.io/{version}",
            "kind": "ResourceClaim",
            "metadata": metadata(name, namespace, **meta),
            "spec": claim_spec(requests or [exactly()], version, **(devices or {})),
            "status": {"allocation": {"devices": {"results": results}}} if results else None,
        }
    )


def result(device: str, pool: str = "node-1", *, driver: str = NVIDIA, request: str = "gpu", **fields: Any) -> Raw:
    """One allocation result."""
    return {"request": request, "driver": driver, "pool": pool, "device": device, **fields}


def template(
    name: str,
    *requests: Raw,
    namespace: str = NAMESPACE,
    version: str = "v1",
    devices: Raw | None = None,
    claim_metadata: Raw | None = None,
    **meta: Any,
) -> Raw:
    """A ResourceClaimTemplate; `claim_metadata` is spec.metadata."""
    spec = {"metadata": claim_metadata, "spec": claim_spec(requests or [exactly()], version, **(devices or {}))}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaimTemplate",
        "metadata": metadata(name, namespace, **meta),
        "spec": without_empty(spec),
    }


def device_class(name: str = NVIDIA, *selectors: str, extended_resource: str = "", **meta: Any) -> Raw:
    """A DeviceClass; without selectors it selects the driver of its own name."""
    texts = selectors or (f'device.driver == "{name}"',)
    spec = {"selectors": [{"cel": {"expression": text}} for text in texts], "extendedResourceName": extended_resource}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": metadata(name, **meta),
        "spec": without_empty(spec),
    }


def attribute(value: object) -> object:
    """An attribute value by its Python type; a mapping is taken as written."""
    kinds = {bool: "bool", int: "int", str: "string"}
    if isinstance(value, list):
        return {kinds[type(value[0])] + "s": value}
    return {kinds[type(value)]: value} if type(value) in kinds else value


def device(name: str, attributes: Raw | None = None, capacity: Mapping[str, str] | None = None, **fields: Any) -> Raw:
    """A device of a slice; a version is written `{"version": "1.2.3"}`."""
    return without_empty(
        {
            "name": name,
            "attributes": {key: attribute(value) for key, value in (attributes or {}).items()},
            "capacity": {key: {"value": value} for key, value in (capacity or {}).items()},
            **fields,
        }
    )


def gpu(name: str, product: str = "NVIDIA H100 80GB HBM3", memory: str = "81559Mi", **attributes: Any) -> Raw:
    """A whole GPU as gpu.nvidia.com publishes it."""
    return device(name, {"type": "gpu", "productName": product, **attributes}, {"memory": memory})


def device_slice(
    where: str | Raw,
    *devices: Raw,
    driver: str = NVIDIA,
    pool: str = "",
    name: str = "",
    generation: int = 1,
    slices: int = 1,
    **spec: Any,
) -> Raw:
    """A ResourceSlice of a node (`where` is its name, also the pool's), or of `{"allNodes": True}` and the like."""
    reach = {"nodeName": where} if isinstance(where, str) else where
    pool = pool or (where if isinstance(where, str) else "shared")
    pool_fields = {"name": pool, "generation": generation, "resourceSliceCount": slices}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": metadata(name or f"{pool}-{driver}"),
        "spec": {"driver": driver, "pool": pool_fields, **reach, "devices": list(devices), **spec},
    }


def taint_rule(name: str, taint: Raw, selector: Raw | None = None) -> Raw:
    """A DeviceTaintRule."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": metadata(name),
        "spec": {"taint": taint} | ({} if selector is None else {"deviceSelector": selector}),
    }


# Objects of the core group and controllers.


def node(
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    taints: Iterable[Raw] = (),
    allocatable: Mapping[str, Any] | None = None,
) -> Raw:
    """A Node; `allocatable` is also its capacity."""
    resources = dict(allocatable or {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(name, labels=dict(labels or {})),
        "spec": without_empty({"taints": list(taints)}),
        "status": without_empty({"allocatable": resources, "capacity": resources}),
    }


def namespace(name: str = NAMESPACE, labels: Mapping[str, str] | None = None, **meta: Any) -> Raw:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata(name, labels=dict(labels or {}), **meta)}


def quota(name: str, hard: Mapping[str, str], used: Mapping[str, str] | None = None, *, namespace: str = NAMESPACE) -> Raw:
    """A ResourceQuota."""
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata(name, namespace),
        "spec": {"hard": dict(hard)},
        "status": without_empty({"used": dict(used or {})}),
    }


def container(
    name: str = "main",
    claims: Iterable[str | Raw] = (),
    extended: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Raw:
    """A container; `claims` are names of pod claims, `extended` its limits."""
    uses = [{"name": item} if isinstance(item, str) else item for item in claims]
    resources = without_empty({"claims": uses, "limits": dict(extended or {})})
    return without_empty({"name": name, "resources": resources, **fields})


def pod_spec(
    *containers: Raw,
    templates: Mapping[str, str] | None = None,
    claims: Mapping[str, str] | None = None,
    extended: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Raw:
    """A pod's spec. `templates` and `claims` map spec.resourceClaims names to what they refer to; without `containers` one
    container uses all of them and the `extended` resources."""
    entries = [{"name": key, "resourceClaimTemplateName": value} for key, value in (templates or {}).items()]
    entries += [{"name": key, "resourceClaimName": value} for key, value in (claims or {}).items()]
    used = list(containers) or [container(claims=[item["name"] for item in entries], extended=extended)]
    return without_empty({"resourceClaims": entries, "containers": used, **fields})


def pod(
    name: str = "pod",
    *containers: Raw,
    namespace: str = NAMESPACE,
    templates: Mapping[str, str] | None = None,
    claims: Mapping[str, str] | None = None,
    extended: Mapping[str, Any] | None = None,
    meta: Raw | None = None,
    status: Raw | None = None,
    **spec: Any,
) -> Raw:
    """A Pod; `spec` in JSON's spelling (nodeName, nodeSelector, tolerations, ...). See `pod_spec`."""
    return without_empty(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata(name, namespace, **(meta or {})),
            "spec": pod_spec(*containers, templates=templates, claims=claims, extended=extended, **spec),
            "status": status,
        }
    )


def node_affinity(*terms: Raw) -> Raw:
    """`affinity` with these required nodeSelectorTerms."""
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}}


def controller(
    kind: str,
    name: str,
    spec: Raw,
    *,
    api_version: str = "apps/v1",
    namespace: str = NAMESPACE,
    pod_meta: Raw | None = None,
    replicas: int | None = None,
    **meta: Any,
) -> Raw:
    """A controller with `spec` (see `pod_spec`) in its pod template."""
    inner = without_empty({"metadata": pod_meta, "spec": spec})
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata(name, namespace, **meta),
        "spec": without_empty({"replicas": replicas, "template": inner}),
    }


def local_queue(name: str = "queue", *, namespace: str = NAMESPACE) -> Raw:
    """A Kueue LocalQueue."""
    return {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": metadata(name, namespace)}


def fleet_of(*objects: Raw, server: str = "1.36", gates: Mapping[str, bool] | None = None) -> Fleet:
    """The fleet of these objects; namespaced ones without a namespace are in `team-a`."""
    return build_fleet(objects, server=Server(version=read_version(server), gates=gates or {}), namespace=NAMESPACE)


# Policies.


def example(raw: Raw, driver: str = NVIDIA) -> Device:
    """A catalog's example device."""
    return read_device(raw, driver, "", raw.get("name", "example"), Reach())


def model(
    name: str,
    selector: str = "",
    *,
    driver: str = NVIDIA,
    device_class: str = "",
    aliases: Iterable[str] = (),
    examples: Iterable[Device] = (),
) -> CatalogModel:
    """A model of a ShapeCatalog."""
    compiled = compile_selector(selector) if selector else None
    assert compiled is None or isinstance(compiled, Selector), compiled
    return CatalogModel(
        name=name,
        driver=driver,
        device_class=device_class,
        selector=compiled,
        aliases=tuple(aliases),
        examples=tuple(examples),
    )


def product(name: str, product_name: str, **fields: Any) -> CatalogModel:
    """A model of gpu.nvidia.com that is told by its productName."""
    return model(name, f'device.attributes["{NVIDIA}"].productName == "{product_name}"', **fields)


def catalog(*models: CatalogModel, **kinds: Any) -> PolicySet:
    """Policies with these models."""
    return PolicySet(catalog=models, **kinds)
