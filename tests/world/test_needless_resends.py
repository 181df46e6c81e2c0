"""Over streams nothing is lost while they stand, nor taken for lost: no message is sent again, however far
the other is, after whatever rest, and while it does not run. Only if its application takes nothing, and so it
answers nothing for longer than `RESEND_MS`, it is asked; and what had left is sent again once at most."""

import asyncio

import pytest

from aforesaid import Config, Message, Node
from aforesaid.node.building import RESEND_MS
from aforesaid.protocols.catalog import CATALOG
from world.node_stage import Stage, play

ALGORITHMS = [name for name, entry in CATALOG.items() if entry.deployable and not entry.linked]
NAMES = ("a", "b")
DELAY_S, JITTER_S = 0.1, 0.02
HALTED_S = 2.5
"""Less than three heartbeats, after which the stream is taken for lost, and all on its way with it."""
SAID_FAST = len(NAMES) * (700 + 200 + 500)
UNREAD_S, READS_SLOWLY_S = 40.0, 0.004
ASKED = 3
"""So often is asked meanwhile, with one message each time: after 5, 15 and 35 s."""
QUEUES = {"in_messages": 1024}
UNDER_WAY_MAX = Config(name="anyone").queues.out_messages
"""So much has left, and is not answered. The first answer after a silence may be to any sending."""


class Talk:
    """How much was said, and how often something was sent again."""

    def __init__(self, stage: Stage) -> None:
        self.stage, self.said = stage, 0

    async def say(self, count: int, pause_s: float) -> None:
        """Everyone, until all have heard it."""
        self.said += count * len(NAMES)

        async def speak(name: str) -> None:
            for number in range(count):
                await self.stage.nodes[name].broadcast(b"%d" % number)
                if pause_s:
                    await asyncio.sleep(pause_s)

        machines = self.stage.machines
        await asyncio.gather(
            *(self.stage.world.on(machines[name], lambda name=name: speak(name)) for name in NAMES)  # type: ignore[misc]
        )
        heard = self.stage.heard
        await self.stage.until(lambda: all(len(heard[name]) == self.said for name in NAMES), "all is heard")

    def sent_again(self) -> int:
        return sum(int(node.status()["resent"]) for node in self.stage.nodes.values())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_over_tcp_nothing_is_sent_again_in_vain(algorithm: str) -> None:
    async def scene(stage: Stage) -> None:
        weather = stage.world.network.weather
        weather.delay_s, weather.jitter_s = DELAY_S, JITTER_S
        talk, reads = Talk(stage), asyncio.Event()
        reads.set()
        keep = stage.hear

        async def hear(node: Node, message: Message) -> None:
            if node.name == "b" and talk.said > SAID_FAST:
                await reads.wait()
                await asyncio.sleep(READS_SLOWLY_S)
            await keep(node, message)

        stage.hear = hear
        await stage.group(*NAMES, transport="tcp", algorithm=algorithm, queues=QUEUES)
        await talk.say(700, 0.0)
        await asyncio.sleep(60)
        await talk.say(200, 0.005)
        await asyncio.sleep(3 * RESEND_MS["tcp"] / 1000)
        talking = asyncio.ensure_future(talk.say(500, 0.01))
        await asyncio.sleep(1)
        stage.machines["b"].halt()
        await asyncio.sleep(HALTED_S)
        stage.machines["b"].go_on()
        await talking
        assert talk.sent_again() == 0
        reads.clear()
        assert talk.said == SAID_FAST
        talking = asyncio.ensure_future(talk.say(1800, 0.001))
        await asyncio.sleep(UNREAD_S)
        reads.set()
        await talking
        assert 0 < talk.sent_again() <= ASKED + UNDER_WAY_MAX
        assert stage.nodes["a"].peers == {"b": "connected"}

    play(scene)
