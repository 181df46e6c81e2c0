"""`aforesaid cluster`: some nodes on this machine, for trying things."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from aforesaid.cli import show
from aforesaid.cli.node import stopping_signals
from aforesaid.cli.standard_streams import CHUNK_BYTES, STDIN, WRITE_BYTES, fill_standard_streams
from aforesaid.core import Misuse
from aforesaid.node import Config
from aforesaid.protocols.catalog import algorithm as entry_of
from aforesaid.protocols.outside import absolute

STOP_S = 10.0
"""How long a node has to stop before it is killed."""


def run_cluster(count: int, directory: Path, algorithm: str, transport: str | None) -> None:
    """Start the nodes, pass lines between them and the terminal, and stop them in the end."""
    fill_standard_streams()
    transport = transport or ("tcp" if entry_of(algorithm).linked else "udp")
    configs = write_configs(count, directory, absolute(algorithm), transport)
    for number in stopping_signals():
        signal.signal(number, signal.default_int_handler)
    members: list[Member] = []
    try:
        members += (Member(name, path) for name, path in configs.items())
        _introduce(configs)
        _converse(members)
    except KeyboardInterrupt:
        show.out.print("stopping, once everyone has what was said; Ctrl-C again: at once")
    finally:
        _stop(members)
    show.out.print(f"stopped; judge what they did: aforesaid ingest {directory} --out traces", markup=False)


def write_configs(count: int, directory: Path, algorithm: str, transport: str) -> dict[str, Path]:
    """A configuration for each node; a changing group is joined through the first one."""
    names = [f"p{number}" for number in range(count)]
    addresses = dict(zip(names, _free_addresses(count, transport), strict=True))
    paths = {name: directory / f"{name}.toml" for name in names}
    for path in paths.values():
        if path.exists():
            raise Misuse(f"{path} exists; choose another --directory, or remove {directory}")
    for name in names:
        facts: dict[str, Any] = {
            "name": name,
            "algorithm": algorithm,
            "transport": transport,
            "listen": addresses[name],
            "directory": name,
        }
        if entry_of(algorithm).linked:
            facts |= {} if name == names[0] else {"contact": addresses[names[0]]}
        else:
            facts["peers"] = {peer: at for peer, at in addresses.items() if peer != name}
        Config.of(facts)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            paths[name].write_text(toml_of(facts))
        except OSError as error:
            raise Misuse(f"cannot write {paths[name]}: {error.strerror}") from error
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


class Member:
    """A node's process, and what is on the way to it and from it."""

    def __init__(self, name: str, config: Path) -> None:
        self.name = name
        command = [sys.executable, "-m", "aforesaid", "node", "--config", str(config)]
        # In a session of its own: Ctrl-C is for this process, which then stops them in order.
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        )
        self.waiting = b""
        """Lines for it that its input has not taken."""
        self._part = b""
        self.ended = False

    @property
    def input(self) -> int:
        return self.process.stdin.fileno() if self.process.stdin else -1

    @property
    def output(self) -> int:
        return self.process.stdout.fileno() if self.process.stdout else -1

    def feed(self) -> None:
        try:
            self.waiting = self.waiting[os.write(self.input, self.waiting[:WRITE_BYTES]) :]
        except BrokenPipeError:
            self.waiting = b""

    def show(self) -> None:
        """What it says; nothing: it has ended."""
        data = os.read(self.output, CHUNK_BYTES)
        *lines, self._part = (self._part + data).split(b"\n")
        for line in lines:
            show.out.print(f"{self.name}: {line.decode(errors='replace')}", markup=False)
        if not data:
            self.ended, self.waiting = True, b""


def _introduce(configs: dict[str, Path]) -> None:
    lines = [f"{len(configs)} nodes, each with its configuration, trace and control socket:"]
    for name, path in configs.items():
        listen = Config.from_file(path).listen
        lines.append(f"  {name}  {listen}  {path}   ask it: aforesaid why {path.with_suffix('')}")
    lines.append('Say something to everyone: "p0 hello", or to some: "p0>p1,p2 hello". Ctrl-C stops.')
    show.out.print("\n".join(lines), markup=False)


def _converse(members: list[Member]) -> None:
    """Lines of the terminal to the nodes, lines of the nodes to the terminal, until all have ended."""
    listening, part = True, b""
    while living := [member for member in members if not member.ended]:
        # Nobody waits here for a node that waits for us: each gets what it takes.
        taking = listening and not any(member.waiting for member in living)
        heard = _exchange(living, [STDIN] if taking else [])
        if STDIN in heard:
            data = os.read(STDIN, CHUNK_BYTES)
            *lines, part = (part + data).split(b"\n") if data else (part, b"")
            for line in lines:
                _speak(members, line.decode(errors="replace").strip())
            listening = bool(data)
        for member in living:
            if member.ended:
                show.out.print(f"{member.name} has ended")


def _exchange(living: list[Member], others: list[int], timeout_s: float | None = None) -> list[int]:
    """One turn: what can be read is shown, what can be written is; which of the others can be read."""
    outputs = {member.output: member for member in living}
    inputs = {member.input: member for member in living if member.waiting}
    readable, writable, _ = select.select([*outputs, *others], inputs, [], timeout_s)
    for number in writable:
        inputs[number].feed()
    for number in readable:
        if number in outputs:
            outputs[number].show()
    return readable


def _speak(members: list[Member], line: str) -> None:
    head, _, text = line.partition(" ")
    name, _, targets = head.partition(">")
    if not line:
        return
    if not text:
        show.out.print(f'"{line}": to have p0 say hello, type "p0 hello"', markup=False)
        return
    named = {member.name: member for member in members if not member.ended}
    if name not in named:
        show.out.print(f"no node {name}; there are: {', '.join(named)}", markup=False)
        return
    request: dict[str, Any] = {"payload": text}
    if targets:
        request["to"] = targets.split(",")
    named[name].waiting += json.dumps(request).encode() + b"\n"


def _stop(members: list[Member]) -> None:
    """In order; interrupted, at once."""
    until = time.monotonic() + STOP_S
    try:
        _signal(members)
        _until_ended(members, until)
    except KeyboardInterrupt:
        _signal(members)
        _until_ended(members, until)
    finally:
        for member in members:
            member.process.kill()
            member.process.wait()


def _signal(members: list[Member]) -> None:
    for member in members:
        if member.process.poll() is None:
            member.process.send_signal(signal.SIGTERM)


def _until_ended(members: list[Member], until: float) -> None:
    while living := [member for member in members if not member.ended]:
        left = until - time.monotonic()
        if left < 0:
            return
        _exchange(living, [], left)
