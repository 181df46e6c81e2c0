"""A node in a process of its own, spoken to in JSON lines: what kill -9 takes, and what SIGSTOP halts."""

import asyncio
import json
import signal
import tomllib
from pathlib import Path
from typing import Any

from aforesaid.cli.cluster import toml_of
from aforesaid.node.operating.control import ask
from net.net_stage import PATIENCE_S, command


def write_toml(path: Path, facts: dict[str, Any]) -> Path:
    path.write_text(toml_of(facts))
    assert tomllib.loads(path.read_text()) == facts
    return path


class NodeProcess:
    """One node; its standard output is read all the time, so that it never has to wait for us."""

    def __init__(self, config: Path, version: str = "") -> None:
        self.config, self.version = config, version
        self.name = config.stem
        self.directory = str(config.with_suffix(""))
        self.address = ""
        self.lines: list[dict[str, Any]] = []
        self.heard: set[str] = set()
        """The payloads that were delivered to it."""
        self.ready = asyncio.Event()
        self._log = config.with_suffix(".log")
        self._reading: asyncio.Task[None] | None = None

    async def start(self) -> None:
        with self._log.open("wb") as log:
            self.process = await asyncio.create_subprocess_exec(
                *command("node", "--config", self.config, version=self.version),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        self._reading = asyncio.create_task(self._read())
        await asyncio.wait_for(self.ready.wait(), PATIENCE_S)
        assert self.address, self.log

    @property
    def delivered(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if "origin" in line]

    @property
    def log(self) -> str:
        """What it has warned of, in JSON lines; or why it did not start."""
        return self._log.read_text()

    async def broadcast(self, payload: bytes) -> None:
        self.say(payload=payload.decode())

    def say(self, **request: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request).encode() + b"\n")

    async def ask(self, **request: Any) -> Any:
        """Over the control socket."""
        return await asyncio.to_thread(ask, self.directory, request)

    async def emptied(self, patience_s: float = PATIENCE_S) -> None:
        """Returns once it holds nothing for later."""
        gauges: dict[str, int] = {}
        for _ in range(round(patience_s / 0.05)):
            gauges = await self.ask(gauges=True)
            if not any(gauges.values()):
                return
            await asyncio.sleep(0.05)
        raise AssertionError(f"{self.name} still holds {gauges}")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)

    def halt(self, halted: bool) -> None:
        self.process.send_signal(signal.SIGSTOP if halted else signal.SIGCONT)

    async def end(self, by_signal: bool = True) -> int:
        """Ask it to stop, by SIGTERM or by the end of its input; its exit code."""
        if not by_signal and self.process.stdin is not None:
            self.process.stdin.close()
        elif self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        code = await asyncio.wait_for(self.process.wait(), PATIENCE_S)
        await self.destroy()
        return code

    async def destroy(self) -> None:
        """Whatever became of it, nothing is left."""
        if self._reading is not None:
            if self.process.returncode is None:
                self.kill()
            await self.process.wait()
            await self._reading

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            told = json.loads(line)
            self.lines.append(told)
            if "origin" in told:
                self.heard.add(told.get("payload", ""))
            if "ready" in told:
                self.address = told["address"]
                self.ready.set()
        self.ready.set()  # It ended: nobody shall wait for it.
