"""`aforesaid cluster`: some nodes on this machine, for trying things."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from aforesaid.cli import show
from aforesaid.core import Misuse
from aforesaid.node import Config

STOP_S = 10.0
"""How long a node has to stop before it is killed."""


def run_cluster(count: int, directory: Path, algorithm: str, transport: str) -> None:
    """Start the nodes, pass lines between them and the terminal, and stop them in the end."""
    configs = write_configs(count, directory, algorithm, transport)
    nodes = {name: _start(path) for name, path in configs.items()}
    try:
        _introduce(configs)
        _converse(nodes)
    except KeyboardInterrupt:
        pass
    finally:
        _stop(list(nodes.values()))
    segments = directory / "*" / "segments"
    show.out.print(f"stopped; judge what they did: aforesaid ingest {directory} --out traces   ({segments})")


def write_configs(count: int, directory: Path, algorithm: str, transport: str) -> dict[str, Path]:
    """A configuration for each node; a changing group is joined through the first one."""
    names = [f"p{number}" for number in range(count)]
    addresses = dict(zip(names, _free_addresses(count, transport), strict=True))
    paths = {}
    for name in names:
        facts: dict[str, Any] = {
            "name": name,
            "algorithm": algorithm,
            "transport": transport,
            "listen": addresses[name],
            "directory": name,
        }
        if algorithm == "prc_spray":
            facts |= {} if name == names[0] else {"contact": addresses[names[0]]}
        else:
            facts["peers"] = {peer: at for peer, at in addresses.items() if peer != name}
        Config.of(facts)
        paths[name] = directory / f"{name}.toml"
        if paths[name].exists():
            raise Misuse(f"{paths[name]} exists; choose another directory")
        directory.mkdir(parents=True, exist_ok=True)
        paths[name].write_text(toml_of(facts))
    return paths


def toml_of(facts: dict[str, Any]) -> str:
    """A configuration as TOML; its values are plain, or tables of plain values."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in facts.items() if not isinstance(value, dict)]
    for key, table in facts.items():
        if isinstance(table, dict):
            lines += ["", f"[{key}]", *(f"{name} = {json.dumps(value)}" for name, value in table.items())]
    return "\n".join(lines) + "\n"


def _free_addresses(count: int, transport: str) -> list[str]:
    """Ports of loopback that are free just now."""
    kind = socket.SOCK_DGRAM if transport == "udp" else socket.SOCK_STREAM
    held = [socket.socket(type=kind) for _ in range(count)]
    try:
        for each in held:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in held]
    finally:
        for each in held:
            each.close()


def _start(config: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "aforesaid.cli", "node", "--config", str(config)]
    # In a session of its own: Ctrl-C is for this process, which then stops them in order.
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def _introduce(configs: dict[str, Path]) -> None:
    show.out.print(f"{len(configs)} nodes, each with its configuration, trace and control socket:")
    for name, path in configs.items():
        listen = Config.from_file(path).listen
        show.out.print(f"  {name}  {listen}  {path}   ask it: aforesaid why {path.with_suffix('')}")
    show.out.print('Say something to everyone: "p0 hello", or to some: "p0>p1,p2 hello". Ctrl-C stops.')


def _converse(nodes: "dict[str, subprocess.Popen[str]]") -> None:
    """Lines of the terminal to the nodes, lines of the nodes to the terminal."""
    named = {node.stdout.fileno(): name for name, node in nodes.items() if node.stdout is not None}
    sources = [*named, sys.stdin.fileno()]
    parts: dict[int, str] = dict.fromkeys(named, "")
    while named:
        for source in select.select(sources, [], [])[0]:
            if source == sys.stdin.fileno():
                line = sys.stdin.readline()
                if not line:
                    sources.remove(source)
                _speak(nodes, line.strip())
                continue
            data = os.read(source, 65536).decode(errors="replace")
            if not data:
                sources.remove(source)
                show.out.print(f"{named.pop(source)} has ended")
                continue
            *lines, parts[source] = (parts[source] + data).split("\n")
            for line in lines:
                show.out.print(f"{named[source]}: {line}", markup=False)


def _speak(nodes: "dict[str, subprocess.Popen[str]]", line: str) -> None:
    head, _, text = line.partition(" ")
    name, _, targets = head.partition(">")
    if not text:
        return
    node = nodes.get(name)
    if node is None or node.stdin is None or node.poll() is not None:
        show.out.print(f"no node {name}; there are: {', '.join(nodes)}", markup=False)
        return
    request: dict[str, Any] = {"payload": text}
    if targets:
        request["to"] = targets.split(",")
    node.stdin.write(json.dumps(request) + "\n")
    node.stdin.flush()


def _stop(nodes: "list[subprocess.Popen[str]]") -> None:
    for node in nodes:
        if node.poll() is None:
            node.send_signal(signal.SIGTERM)
    for node in nodes:
        try:
            node.wait(STOP_S)
        except subprocess.TimeoutExpired:
            node.kill()
            node.wait()
