"""Five real nodes on a bad network, and one of them killed: the part of `make demo` that is not simulated.

Usage: python scenarios/cluster_demo.py DIRECTORY

Each node is a process, `aforesaid node`, told what to say on its standard input. They know each other by the
addresses of a relay on loopback, which loses, doubles and reorders what they send. What the nodes did stays
below DIRECTORY as trace segments; DIRECTORY/what-happened.txt tells it in words.
"""

import asyncio
import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from aforesaid.node.operating.control import ask
from aforesaid.transport.address import Address
from aforesaid.transport.proxy import LossyRelay, Weather

NAMES = ["alice", "bob", "carol", "dave", "erin"]
VICTIM = NAMES[-1]
WEATHER = Weather(loss=0.03, duplication=0.03, delay_s_max=0.01, spike=0.005, spike_s=0.2)
PER_SECOND = 20
REPLY = 0.3
"""The share of messages that are answered: what makes one message depend on another's."""
COMMAND = [sys.executable, "-m", "aforesaid"]


class Member:
    """A node's process, and an application that says things to some others and answers some of theirs."""

    def __init__(self, config: Path, chance: random.Random) -> None:
        self.config, self.chance = config, chance
        self.name, self.directory = config.stem, config.with_suffix("")
        self.others = [name for name in NAMES if name != self.name]
        self.said: list[list[str]] = []
        """To whom its first message went, its second one, ..."""
        self.ready, self.quiet = asyncio.Event(), False

    async def start(self) -> None:
        with self.config.with_suffix(".log").open("w") as log:
            self.process = await asyncio.create_subprocess_exec(
                *COMMAND,
                *("node", "--config", self.config, "--log", "info"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._tasks = [asyncio.create_task(self._hear()), asyncio.create_task(self._speak())]
        await asyncio.wait_for(self.ready.wait(), 30)

    async def settled(self) -> None:
        """Until the node holds nothing that others wait for."""
        for _ in range(200):
            if not any((await asyncio.to_thread(ask, str(self.directory), {"gauges": True})).values()):
                return
            await asyncio.sleep(0.1)
        raise SystemExit(f"{self.name} still holds something after 20 s")

    async def end(self) -> int:
        """Ask it to stop; its exit code."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        await asyncio.gather(*self._tasks)
        return await asyncio.wait_for(self.process.wait(), 30)

    def say(self, text: str) -> None:
        targets = self.chance.sample(self.others, self.chance.randint(1, len(self.others)))
        if not self.quiet:
            self.said.append(targets)
            self.tell({"to": targets, "payload": text})

    def tell(self, request: dict[str, Any]) -> None:
        if self.process.stdin is not None:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")

    async def _speak(self) -> None:
        await self.ready.wait()
        while not self.quiet:
            self.say("something")
            await asyncio.sleep(self.chance.expovariate(PER_SECOND))

    async def _hear(self) -> None:
        while self.process.stdout is not None and (line := await self.process.stdout.readline()):
            match json.loads(line):
                case {"ready": _, "address": str(address)}:
                    self.address = Address.parse(address)
                    self.ready.set()
                case {"id": message} if self.chance.random() < REPLY:
                    self.say(f"an answer to {message}")
        self.quiet = True


async def write_configs(directory: Path) -> list[Path]:
    """A configuration for each; they find free ports themselves, and are told where the others are."""
    await run("keys", "cluster", directory / "cluster.key")
    paths = []
    for name in NAMES:
        lines = [f'name = "{name}"', f'directory = "{name}"', "linger_s = 20", "receipts = true"]
        lines += ["[security]", 'cluster_key = "cluster.key"', "[peers]"]
        lines += [f'{peer} = "127.0.0.1:0"' for peer in NAMES if peer != name]
        paths.append(directory / f"{name}.toml")
        paths[-1].write_text("\n".join(lines) + "\n")
    return paths


async def introduce(members: dict[str, Member], relay: LossyRelay) -> None:
    """Others are where the relay takes what is for them."""
    for name, member in members.items():
        others = {peer: other.address for peer, other in members.items() if peer != name}
        member.tell({"peers": {peer: str(await relay.route(name, peer, at)) for peer, at in others.items()}})


async def run(*arguments: object) -> str:
    """What an `aforesaid` command prints; the relay goes on meanwhile."""
    command = [*COMMAND, *map(str, arguments)]
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE)
    output, _ = await asyncio.wait_for(process.communicate(), 30)
    if process.returncode != 0:
        raise SystemExit(f"aforesaid {' '.join(map(str, arguments))}: exit code {process.returncode}")
    return output.decode().strip()


def show(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


async def shown(*arguments: object, about: str) -> None:
    """A command and the last of what it prints about somebody."""
    lines = [line for line in (await run(*arguments)).splitlines() if about in line]
    show(f"\n$ aforesaid {' '.join(map(str, arguments))} | grep {about} | tail -3")
    show("\n".join(lines[-3:]))


class Story:
    """What happened, told as it happens and kept for the report."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._began = asyncio.get_running_loop().time()

    def tell(self, text: str) -> None:
        self.lines.append(f"{asyncio.get_running_loop().time() - self._began:4.1f} s: {text}")
        show(f"   {self.lines[-1]}")


async def live(directory: Path) -> Story:
    """The whole run."""
    relay = LossyRelay(WEATHER, seed=5)
    configs = await write_configs(directory)
    members = {path.stem: Member(path, random.Random(path.stem)) for path in configs}
    try:
        return await drama(members, relay)
    finally:
        for member in members.values():
            if getattr(member, "process", None) and member.process.returncode is None:
                member.process.kill()
        relay.close()


async def drama(members: dict[str, Member], relay: LossyRelay) -> Story:
    await asyncio.gather(*(member.start() for member in members.values()))
    await introduce(members, relay)
    story, victim = Story(), members[VICTIM]
    survivors = [member for member in members.values() if member is not victim]
    story.tell(f"{', '.join(NAMES)} are up and talk to each other, each to some others at a time")
    await asyncio.sleep(2)
    relay.part(NAMES[:2], NAMES[2:])
    story.tell(f"the network parts: nothing passes between {' and '.join(NAMES[:2])} and the others")
    await asyncio.sleep(1)
    relay.heal()
    story.tell(f"it heals; {relay.did['parted']:,} datagrams were cut off")
    await asyncio.sleep(1)
    asked = survivors[0]
    before = len(asked.said)
    victim.process.kill()
    await victim.process.wait()
    story.tell(f"{VICTIM} is killed (kill -9) in the middle of a sentence; the others wait for it")
    await asyncio.sleep(1)
    waits = next(number for number, to in enumerate(asked.said, 1) if number > before and VICTIM in to)
    await shown("why", asked.directory, f"{asked.name}#{waits}", about=VICTIM)
    await run("evict", asked.directory, VICTIM)
    show(f"\n$ aforesaid evict {asked.directory} {VICTIM}\n")
    story.tell(f"{asked.name} is told that {VICTIM} will not come back, and tells the others")
    await asyncio.sleep(2)
    for member in survivors:
        member.quiet = True
    # Nobody leaves while somebody owes it a message: of who left early the audit would ask less.
    for member in survivors:
        await member.settled()
    if set(await asyncio.gather(*(member.end() for member in survivors))) != {0}:
        raise SystemExit("a node did not end in order")
    await victim.end()
    did = relay.did
    story.tell(
        f"everyone stopped in order. The relay passed on {did['passed']:,} datagrams in any order, lost "
        f"{did['lost']:,}, doubled {did['doubled']:,}, held {did['spiked']:,} back for {WEATHER.spike_s} s"
    )
    unfired = [fault for fault in ("lost", "doubled", "spiked", "parted") if not did[fault]]
    if unfired:
        raise SystemExit(f"these faults never happened: {', '.join(unfired)}")
    return story


def main(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    story = asyncio.run(live(directory))
    (directory / "what-happened.txt").write_text("\n".join(story.lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
