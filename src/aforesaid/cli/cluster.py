"""`aforesaid cluster`: some nodes on this machine, for trying things."""

import json
import os
import select
import signal
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

ANYWHERE = "127.0.0.1:0"
"""A free port, which its node finds and tells."""

STOP_S = 10.0
"""How long a node has to stop before it is killed."""


def run_cluster(count: int, directory: Path, algorithm: str, transport: str | None) -> None:
    """Start the nodes, pass lines between them and the terminal, and stop them in the end."""
    fill_standard_streams()
    transport = transport or ("tcp" if entry_of(algorithm).linked else "udp")
    facts = facts_of(count, directory, absolute(algorithm), transport)
    for number in stopping_signals():
        signal.signal(number, signal.default_int_handler)
    members: list[Member] = []
    try:
        _start(members, facts, directory)
        _introduce(members)
        _converse(members)
    except KeyboardInterrupt:
        show.out.print("stopping, once everyone has what was said; Ctrl-C again: at once")
    finally:
        _stop(members)
    show.out.print(f"stopped; judge what they did: aforesaid ingest {directory} --out traces", markup=False)


def facts_of(count: int, directory: Path, algorithm: str, transport: str) -> dict[str, dict[str, Any]]:
    """What each node is told; where the others are is told when they have found a free port."""
    names = [f"p{number}" for number in range(count)]
    for name in names:
        if (path := directory / f"{name}.toml").exists():
            raise Misuse(f"{path} exists; choose another --directory, or remove {directory}")
    shared = {"algorithm": algorithm, "transport": transport, "listen": ANYWHERE}
    facts: dict[str, dict[str, Any]] = {name: {"name": name, **shared, "directory": name} for name in names}
    if not entry_of(algorithm).linked:
        for name in names:
            facts[name]["peers"] = {peer: ANYWHERE for peer in names if peer != name}
    for each in facts.values():
        Config.of(each)
    return facts


def _start(members: "list[Member]", facts: dict[str, dict[str, Any]], directory: Path) -> None:
    """A changing group is joined through the first; in a fixed one all are told where the others are."""
    founder: Member | None = None
    for name, each in facts.items():
        linked = "peers" not in each
        if linked and founder is not None:
            _until_ready([founder])
            each["contact"] = founder.address
        members.append(Member(name, write_config(directory / f"{name}.toml", each)))
        founder = founder or members[-1]
    _until_ready(members)
    addresses = {member.name: member.address or ANYWHERE for member in members}
    for member in members:
        # In the files, too, for whoever starts them by hand.
        each = facts[member.name] | {"listen": addresses[member.name]}
        if "peers" in each:
            each["peers"] = {peer: addresses[peer] for peer in each["peers"]}
            member.tell({"peers": each["peers"]})
        write_config(member.config, each)


def write_config(path: Path, facts: dict[str, Any]) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(toml_of(facts))
    except OSError as error:
        raise Misuse(f"cannot write {path}: {error.strerror}") from error
    return path


def toml_of(facts: dict[str, Any]) -> str:
    """A configuration as TOML; its values are plain, or tables of plain values."""
    lines = [f"{key} = {json.dumps(value)}" for key, value in facts.items() if not isinstance(value, dict)]
    for key, table in facts.items():
        if isinstance(table, dict):
            lines += ["", f"[{key}]", *(f"{name} = {json.dumps(value)}" for name, value in table.items())]
    return "\n".join(lines) + "\n"


class Member:
    """A node's process, and what is on the way to it and from it."""

    def __init__(self, name: str, config: Path) -> None:
        self.name = name
        self.config = config
        self.address = ""
        """Where it listens, once it is ready."""
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

    def tell(self, request: dict[str, Any]) -> None:
        self.waiting += json.dumps(request).encode() + b"\n"

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
            self.address = self.address or json.loads(line).get("address", "")
            show.out.print(f"{self.name}: {line.decode(errors='replace')}", markup=False)
        if not data:
            self.ended, self.waiting = True, b""


def _until_ready(members: list[Member]) -> None:
    while waiting := [member for member in members if not member.address and not member.ended]:
        _exchange(waiting, [])


def _introduce(members: list[Member]) -> None:
    lines = [f"{len(members)} nodes, each with its configuration, trace and control socket:"]
    for member in members:
        asking = f"aforesaid why {member.config.with_suffix('')}"
        lines.append(f"  {member.name}  {member.address}  {member.config}   ask it: {asking}")
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
    named[name].tell(request)


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
