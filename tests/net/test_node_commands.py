"""`aforesaid node`, `cluster`, `why`, `evict` and `ingest`, as a person or a program uses them."""

import base64
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aforesaid import Misuse
from aforesaid.check import check
from aforesaid.node.operating.control import ask
from aforesaid.trace.parquet import open_trace
from net.net_stage import PATIENCE_S, cluster_of_two, command, finished, free_addresses
from net.node_process import write_toml


def two_configs(root: Path) -> tuple[Path, Path]:
    alice, bob = free_addresses(2)
    common = {"linger_s": 10.0}
    return (
        write_toml(
            root / "alice.toml",
            {"name": "alice", "listen": alice, "directory": "alice", **common, "peers": {"bob": bob}},
        ),
        write_toml(
            root / "bob.toml",
            {"name": "bob", "listen": bob, "directory": "bob", **common, "peers": {"alice": alice}},
        ),
    )


def test_two_nodes_on_standard_input_and_output(tmp_path: Path) -> None:
    alice_config, bob_config = two_configs(tmp_path)
    lines = [
        {"payload": "grüße"},
        {"to": ["bob"], "payload_base64": base64.b64encode(b"\xff\x00").decode()},
        {"to": ["dave"], "payload": "who?"},
        {"to": ["bob"]},
        ["no object"],
    ]
    with subprocess.Popen(
        command("node", "--config", bob_config), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as bob:
        assert bob.stdin is not None
        assert bob.stdout is not None
        assert json.loads(bob.stdout.readline())["ready"] == "bob"
        text = "\n".join(map(json.dumps, lines)) + "\nno json\n"
        alice = finished("node", "--config", alice_config, input=text)
        heard = [json.loads(bob.stdout.readline()) for _ in range(2)]
        bob.stdin.close()
        assert bob.wait(20) == 0
    assert alice.returncode == 0, alice.stderr
    assert [(line["origin"], line.get("payload"), line.get("payload_base64")) for line in heard] == [
        ("alice", "grüße", None),
        ("alice", None, "/wA="),
    ]
    told = [json.loads(line) for line in alice.stdout.splitlines()]
    assert [next(iter(line)) for line in told if "origin" not in line] == [
        "ready",
        "said",
        "said",
        *["error"] * 4,
    ]
    assert [line["payload"] for line in told if "origin" in line] == ["grüße"]
    assert "dave is not in the group: alice, bob" in next(line["error"] for line in told if "error" in line)

    made = finished("ingest", tmp_path, "--out", tmp_path / "traces")
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("alice, bob alive\n")
    assert check(open_trace(tmp_path / "traces/run=nodes")).value() == "kept"


def test_lines_tell_what_messages_follow(tmp_path: Path) -> None:
    facts = {"name": "alice", "algorithm": "prc_spray", "transport": "tcp", "options": {"frontier": True}}
    config = write_toml(tmp_path / "alice.toml", {**facts, "linger_s": 1.0})
    ran = finished("node", "--config", config, input='{"payload": "one"}\n{"payload": "two"}\n')
    heard = [line for line in map(json.loads, ran.stdout.splitlines()) if "origin" in line]
    assert [line["after"] for line in heard] == [[], [heard[0]["id"]]], ran


def test_a_cluster_that_can_be_asked_and_stopped(tmp_path: Path) -> None:
    directory = tmp_path / "c"
    cluster = cluster_of_two(directory)
    said, heard = cluster.stdin, cluster.stdout
    assert said is not None
    assert heard is not None
    read: list[str] = []

    def read_until(part: str) -> None:
        while not (read and part in read[-1]):
            read.append(heard.readline())
            assert read[-1], read

    read_until("ready")
    read_until("ready") if sum("ready" in line for line in read) < 2 else None
    said.write("p0 hello\n")
    read_until('"payload": "hello"')
    asked = finished("why", directory / "p1", "p0#7")
    assert asked.returncode == 0, asked.stderr
    assert "has not arrived; the last of p0 delivered here is 1" in " ".join(asked.stdout.split())
    (reason,) = json.loads(finished("why", directory / "p1", "p0#7", "--json").stdout)["reasons"]
    assert (reason["kind"], reason["peer"], reason["number"]) == ("not arrived", "p0", 1)
    assert ask(str(directory / "p1"), {"peers": True}) == {"p0": "connected"}
    with pytest.raises(Misuse, match="'nonsense' is no message; write alice#5"):
        ask(str(directory / "p0"), {"why": "nonsense"})
    with pytest.raises(Misuse, match="a request is"):
        ask(str(directory / "p0"), {"what": 1})
    assert finished("evict", directory / "p0", "p1").returncode == 0
    assert ask(str(directory / "p0"), {"peers": True}) == {"p1": "evicted"}
    cluster.send_signal(signal.SIGINT)
    rest = cluster.communicate(timeout=PATIENCE_S)[0]
    assert cluster.returncode == 0
    assert "stopped; judge what they did" in rest
    nobody = finished("why", directory / "p0")
    assert (nobody.returncode, nobody.stderr.count("\n")) == (2, 1)
    assert "no node runs in" in nobody.stderr


def test_a_wrong_configuration_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "node.toml"
    path.write_text('name = "alice"\nlisten = "192.0.2.1:7000"')
    ran = finished("node", "--config", path)
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "allow_plaintext_on_the_network" in ran.stderr


def test_importing_the_package_is_light() -> None:
    script = """
import sys, aforesaid
heavy = {"asyncio", "numpy", "msgspec", "cryptography", "ssl"} & set(sys.modules)
assert not heavy, heavy
from aforesaid import Node
heavy = {"numpy", "pyarrow", "cryptography", "typer"} & set(sys.modules)
assert not heavy, heavy
assert Node.__name__ == "Node"
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
