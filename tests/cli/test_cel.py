"""`fallgate cel` for people: what a selector says of the devices of a fleet."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.build import device, device_class, device_slice, gpu

BASE = ("--fleet", "fleet", "--policies", "policies")
H100 = 'device.attributes["gpu.nvidia.com"].productName.contains("H100")'
MEMORY = 'device.attributes["gpu.nvidia.com"].memory.isGreaterThan(quantity("1Gi"))'
OTHER = device_slice("node-o", device("card-0", {"model": "x"}), driver="other.example.com")


def test_devices_by_outcome_with_counts_by_model_and_node(run: Any) -> None:
    found = run("cel", H100, *BASE)
    assert (found.exit_code, found.stderr) == (0, "")
    assert found.stdout == (
        "2 devices match\n"
        "  2  h100-80gb  node-h  gpu-0, gpu-1\n"
        "4 devices do not match\n"
        "  4  a100-40gb  node-a  gpu-0, gpu-1, gpu-2, gpu-3\n"
        "cost: at most 11\n"
    )


def test_errors_are_grouped_with_what_would_help(run: Any, write: Callable[..., str]) -> None:
    write("fleet/more.yaml", OTHER)
    found = run("cel", MEMORY, *BASE)
    assert found.exit_code == 0
    assert found.stdout.startswith(
        "6 devices raise an error: no such key: memory\n"
        "  memory is a capacity of this device, not an attribute: write"
        ' device.capacity["gpu.nvidia.com"].memory\n'
        "  4  a100-40gb  node-a  gpu-0, gpu-1, gpu-2, gpu-3\n"
        "  2  h100-80gb  node-h  gpu-0, gpu-1\n"
        "1 device raises an error: no such key: memory\n"
        '  other.example.com publishes nothing under "gpu.nvidia.com", and under "other.example.com" model;'
        " to pass over such devices write"
        ' has(device.attributes["gpu.nvidia.com"].memory) &&'
        ' device.attributes["gpu.nvidia.com"].memory.isGreaterThan(quantity("1Gi"))\n'
        "  1  ?other.example.com/x  node-o  card-0\n"
    )


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ('device.attributes["productName"] == "x"', 'device.attributes["gpu.nvidia.com"].productName'),
        ('device.attributes.productName == "x"', 'device.attributes["gpu.nvidia.com"].productName'),
        ('device.attributes["memory"] == "x"', 'device.capacity["gpu.nvidia.com"].memory'),
        ('device.productName == "x"', 'device.attributes["gpu.nvidia.com"].productName'),
        ('device.memory == "x"', 'device.capacity["gpu.nvidia.com"].memory'),
    ],
)
def test_a_bare_name_is_written_with_the_fleets_own_driver(run: Any, text: str, right: str) -> None:
    found = run("cel", text, *BASE)
    assert found.exit_code == 1
    assert found.stderr.endswith(f" write {right}\n")


def test_what_nothing_matches_says_what_is_there_instead(run: Any) -> None:
    text = 'device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("141Gi")) >= 0'
    found = run("cel", text, *BASE)
    assert found.stdout.startswith(
        "6 devices do not match\n"
        "  memory of these devices is at most 81559Mi\n"
        "  4  a100-40gb  node-a  gpu-0, gpu-1, gpu-2, gpu-3\n"
    )
    of_class = json.loads(run("cel", text, *BASE, "--class", "a100.example.com", "-o", "json").stdout)
    assert of_class["hint"] == "memory of these devices is 40Gi"


def test_many_devices_are_counted(run: Any, write: Callable[..., str]) -> None:
    write("fleet/more.yaml", device_slice("node-m", *(gpu(f"gpu-{i}") for i in range(9))))
    assert "  9  h100-80gb  node-m  gpu-0, gpu-1, gpu-2, gpu-3 and 5 more\n" in run("cel", H100, *BASE).stdout


def test_a_single_device(run: Any, write: Callable[..., str]) -> None:
    write("fleet/cluster.yaml", device_slice("node-h", gpu("gpu-0")))
    assert run("cel", "true", *BASE).stdout.startswith("1 device matches\n")
    assert run("cel", "false", *BASE).stdout.startswith("1 device does not match\n")
    found = run("cel", MEMORY, *BASE).stdout
    assert found.startswith("1 device raises an error: no such key: memory\n")


def test_shared_devices_and_those_without_a_model(run: Any, write: Callable[..., str]) -> None:
    write("fleet/cluster.yaml", device_slice({"allNodes": True}, device("d-0", {"model": "x"}), driver="other.example.com"))
    assert run("cel", "true", *BASE).stdout.startswith("1 device matches\n  1  ?other.example.com/x  (several nodes)  d-0\n")


def test_a_class_goes_first(run: Any) -> None:
    found = run("cel", MEMORY.replace("attributes", "capacity"), *BASE, "--class", "a100.example.com")
    assert found.stdout.startswith(
        "4 devices match\n  4  a100-40gb  node-a  gpu-0, gpu-1, gpu-2, gpu-3\n2 devices of other classes"
    )


def test_a_class_that_errs_is_an_error(run: Any, write: Callable[..., str]) -> None:
    write("fleet/more.yaml", OTHER)
    found = run("cel", "true", *BASE, "--class", "h100.example.com", "-o", "json")
    body = json.loads(found.stdout)
    assert (body["match"], body["error"], body["leftOut"]) == (2, 1, 4)


def test_a_class_that_rules_out_everything(run: Any, write: Callable[..., str]) -> None:
    write("fleet/more.yaml", device_class("none.example.com"))
    found = run("cel", "true", *BASE, "--class", "none.example.com")
    assert found.stdout.startswith("there is no device to ask: the class rules out all of them\n")


def test_no_such_class(run: Any) -> None:
    found = run("cel", "true", *BASE, "--class", "nope")
    assert found.exit_code == 2
    assert found.stderr == (
        "error: --class nope: the fleet has no such DeviceClass; it has a100.example.com, gpu.nvidia.com, h100.example.com\n"
    )


def test_a_class_that_does_not_compile(run: Any, write: Callable[..., str]) -> None:
    write("fleet/more.yaml", device_class("bad.example.com", "device.memory"))
    found = run("cel", "true", *BASE, "--class", "bad.example.com")
    assert found.exit_code == 2
    assert found.stderr == (
        "error: --class bad.example.com: a selector of the class does not compile: undefined field 'memory'"
        ' (write device.capacity["gpu.nvidia.com"].memory)\n'
    )


def test_without_a_fleet_it_is_only_compiled(run: Any) -> None:
    found = run("cel", "true")
    assert found.exit_code == 0
    assert found.stdout.startswith("there is no device to ask\n")


def test_a_compile_error_has_a_caret(run: Any) -> None:
    found = run("cel", f"{H100} &&\n  device.drive == 'x'", *BASE)
    assert (found.exit_code, found.stdout) == (1, "")
    assert found.stderr == (
        "error: expression:2:9: undefined field 'drive'; did you mean \"driver\"?\n    device.drive == 'x'\n          ^\n"
    )


def test_a_compile_error_says_what_to_write(run: Any) -> None:
    found = run("cel", 'device.capacity["gpu.nvidia.com"].memory >= "40Gi"', *BASE)
    assert found.stderr == (
        "error: expression:1:42: found no matching overload for '_>=_' applied to '(kubernetes.Quantity, string)'\n"
        '    device.capacity["gpu.nvidia.com"].memory >= "40Gi"\n'
        "                                             ^\n"
        '  a capacity is a quantity: write device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40Gi")) >= 0\n'
    )


def test_a_compile_error_for_machines(run: Any) -> None:
    found = run("cel", "device.drive", *BASE, "-o", "json")
    assert found.exit_code == 1
    body = json.loads(found.stdout)
    message = "undefined field 'drive'; did you mean \"driver\"?"
    assert body["problems"] == [{"line": 1, "column": 7, "message": message, "hint": ""}]
    assert body.keys() == json.loads(run("cel", "true", *BASE, "-o", "json").stdout).keys()


def test_too_costly_is_refused(run: Any) -> None:
    nested = (
        "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, true))))"
    )
    costly = f'["{"a" * 40}"].all(t, {nested} && {nested} && {nested}) && {nested.replace("true", nested)}'
    found = run("cel", costly)
    assert found.exit_code == 1
    assert "too complex, exceeds cost limit" in found.stderr


def test_the_servers_own_cel(run: Any) -> None:
    newer = 'device.attributes["gpu.nvidia.com"].productName.includes("x")'
    assert run("cel", newer, *BASE, "--server-version", "1.36").exit_code == 0
    found = run("cel", newer, *BASE, "--server-version", "1.35")
    assert found.exit_code == 1
    assert "undeclared reference to 'includes'" in found.stderr


def test_json(run: Any, write: Callable[..., str]) -> None:
    write("fleet/cluster.yaml", device_slice("node-h", gpu("gpu-0")))
    body = json.loads(run("cel", MEMORY, *BASE, "-o", "json").stdout)
    assert body == {
        "expression": MEMORY,
        "problems": [],
        "maxCost": body["maxCost"],
        "match": 0,
        "noMatch": 0,
        "error": 1,
        "leftOut": 0,
        "devices": [
            {
                "driver": "gpu.nvidia.com",
                "pool": "node-h",
                "name": "gpu-0",
                "node": "node-h",
                "model": "h100-80gb",
                "outcome": "error",
                "error": "no such key: memory",
                "hint": 'memory is a capacity of this device, not an attribute: write device.capacity["gpu.nvidia.com"].memory',
            }
        ],
        "hint": "",
    }
    assert yaml.safe_load(run("cel", MEMORY, *BASE, "-o", "yaml").stdout) == body


@pytest.mark.parametrize("arguments", [("device.memory",), ()])
def test_hints_are_for_lines(run: Any, arguments: tuple[str, ...]) -> None:
    found = run("cel", "--hints", *arguments)
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == (
        "error: --hints goes with --jsonl only: without it every error is shown with what would help, leave --hints out\n"
    )


def test_no_expression(run: Any) -> None:
    found = run("cel", *BASE)
    assert found.exit_code == 2
    assert found.stderr.startswith("error: there is no expression: fallgate cel")


def test_colours_on_a_terminal_only(folder: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-c", "from webhook.cli import main; main()", "cel", H100, *BASE]
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm-256color"}
    with subprocess.Popen(command, stdout=slave, stderr=subprocess.DEVNULL, env=environment, cwd=folder) as process:
        os.close(slave)
        written = b""
        while True:
            try:
                read = os.read(master, 4096)
            except OSError:
                break
            if not read:
                break
            written += read
        assert process.wait() == 0
    os.close(master)
    assert b"\x1b[1;32m2 devices match" in written


@pytest.mark.parametrize("option", ["--fleet", "--class", "--policies", "--jsonl", "--server-version", "-o"])
def test_options(run: Any, option: str) -> None:
    assert option in run("cel", "--help").stdout
