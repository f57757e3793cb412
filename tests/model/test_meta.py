"""Object metadata and references."""

from __future__ import annotations

from tests.build import owned_by
from webhook.model.meta import Meta, ObjectRef, read_meta


def test_all_fields() -> None:
    fields = {
        "name": "n", "generateName": "g-", "namespace": "ns", "uid": "u", "labels": {"a": "b", "odd": 1},
        "annotations": {"c": "d"}, "creationTimestamp": "2027-01-01T00:00:00Z",
        "ownerReferences": [{"kind": "Job", "name": "j", "uid": "1"}, *owned_by("Pod", "p", "2")],
    }  # fmt: skip
    meta = read_meta({"metadata": fields})
    assert (meta.name, meta.generate_name, meta.namespace, meta.uid) == ("n", "g-", "ns", "u")
    assert (meta.labels, meta.annotations) == ({"a": "b"}, {"c": "d"})
    assert meta.creation_timestamp == "2027-01-01T00:00:00Z"
    assert [owner.kind for owner in meta.owners] == ["Job", "Pod"]
    controller = meta.controller
    assert controller is not None
    assert (controller.api_version, controller.name, controller.uid) == ("v1", "p", "2")


def test_no_owner_is_no_controller() -> None:
    assert read_meta({}).controller is None
    assert read_meta({"metadata": {"ownerReferences": [{"kind": "Pod", "controller": "true"}]}}).controller is None


def test_display_name() -> None:
    assert Meta(name="a", generate_name="b-").display_name == "a"
    assert Meta(generate_name="b-").display_name == "b-*"
    assert Meta().display_name == "(no name)"


def test_references_print_as_people_say_them() -> None:
    assert str(ObjectRef(kind="Pod", namespace="team-a", name="p")) == "Pod team-a/p"
    assert str(ObjectRef(kind="Node", namespace="", name="n")) == "Node n"
