"""A node in a process of its own, spoken to in JSON lines: what kill -9 takes, and what SIGSTOP halts."""

import asyncio
import json
import signal
import tomllib
from pathlib import Path
from typing import Any

from net_stage import PATIENCE_S, command

from aforesaid.cli.cluster import toml_of
from aforesaid.node.control import ask


def write_toml(path: Path, facts: dict[str, Any]) -> Path:
    path.write_text(toml_of(facts))
    assert tomllib.loads(path.read_text()) == facts
    return path


class NodeProcess:
    """One node; its standard output is read all the time, so that it never has to wait for us."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self.directory = str(config.with_suffix(""))
        self.lines: list[dict[str, Any]] = []
        self.ready = asyncio.Event()

    async def start(self) -> None:
        self.process = await asyncio.create_subprocess_exec(
            *command("node", "--config", self.config),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self._reading = asyncio.create_task(self._read())
        await asyncio.wait_for(self.ready.wait(), PATIENCE_S)

    @property
    def delivered(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if "origin" in line]

    def say(self, **request: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")

    async def ask(self, **request: Any) -> Any:
        """Over the control socket."""
        return await asyncio.to_thread(ask, self.directory, request)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)

    def halt(self, halted: bool) -> None:
        self.process.send_signal(signal.SIGSTOP if halted else signal.SIGCONT)

    async def end(self) -> int:
        """Ask it to stop; its exit code."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(self.process.wait(), PATIENCE_S)
        await self._reading
        return code

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            self.lines.append(json.loads(line))
            if "ready" in self.lines[-1]:
                self.ready.set()
