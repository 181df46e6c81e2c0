"""The parts of a world: its clock, its deaths, its streams and disks."""

import asyncio
import errno
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from aforesaid.ground import ground
from aforesaid.transport import Address, Door, Stream, dial
from aforesaid.world.disk import WorldDisk
from aforesaid.world.machine import RESERVED, Machine
from aforesaid.world.plan import Fault, plan_of
from aforesaid.world.shrink import shrink
from aforesaid.world.witness import Witness
from aforesaid.world.world import World, quiet_burial


@pytest.fixture
def world() -> Iterator[World]:
    made = World(5)
    with quiet_burial():
        yield made
        made.bury()


def test_an_hour_passes_at_once(world: World) -> None:
    world.run(asyncio.sleep(3600))
    assert 3600 <= world.now_s < 3601


def test_who_never_rests_does_not_stop_the_clock(world: World) -> None:

    async def busy() -> None:
        while True:
            await asyncio.sleep(0)

    async def main() -> None:
        task = asyncio.ensure_future(busy())
        await asyncio.sleep(0.01)
        task.cancel()

    world.run(main())


def test_a_killed_machine_does_no_more_and_a_halted_one_later(world: World) -> None:
    did: list[str] = []

    async def count(name: str) -> None:
        while True:
            did.append(name)
            await asyncio.sleep(1)

    async def main() -> None:
        a, b = world.boot("a"), world.boot("b")
        world.on(a, lambda: count("a"))
        world.on(b, lambda: count("b"))
        await asyncio.sleep(2.5)
        a.kill()
        b.halt()
        await asyncio.sleep(5)
        assert did.count("a") == did.count("b") == 3
        b.go_on()
        await asyncio.sleep(2.2)
        assert (did.count("a"), did.count("b")) == (3, 6)

    world.run(main())


def test_every_machine_has_its_own_clocks_and_chance(world: World) -> None:

    async def look() -> tuple[int, int, bytes]:
        here = ground()
        return here.monotonic_ns(), here.time_ns(), here.urandom(8)

    async def main() -> None:
        one, other = [await world.on(world.boot(name), look) for name in "ab"]
        assert all(mine != theirs for mine, theirs in zip(one, other, strict=True))

    world.run(main())


async def _take_calls(world: World, machine: Machine, streams: list[Stream]) -> Address:
    async def take_calls() -> Address:
        def take(stream: Stream) -> None:
            assert door.let_in(stream)
            streams.append(stream)

        door = Door(None, take, print)
        return await door.open(Address(machine.host, 7000))

    return await world.on(machine, take_calls)


def test_a_prefix_of_what_a_killed_process_wrote_arrives_and_then_its_end_is_heard(world: World) -> None:
    streams: list[Stream] = []
    heard = bytearray()
    data = bytes(range(256)) * 2000

    async def main() -> None:
        a, b = world.boot("a"), world.boot("b")
        address = await _take_calls(world, b, streams)
        ended = asyncio.Event()

        async def write() -> None:
            stream = await dial(address, None)
            while True:
                stream.write(data)
                await asyncio.sleep(0.001)

        world.on(a, write)
        await asyncio.sleep(0.05)
        streams[0].on_data, streams[0].on_lost = heard.extend, ended.set
        await asyncio.sleep(0.05)
        a.kill()
        await asyncio.wait_for(ended.wait(), 5)
        whole = data * (len(heard) // len(data) + 2)
        assert heard
        assert whole.find(bytes(heard)) >= 0

    world.run(main())


def test_what_a_cut_keeps_back_arrives_in_order_when_it_is_healed(world: World) -> None:
    streams: list[Stream] = []
    heard = bytearray()

    async def main() -> None:
        a, b = world.boot("a"), world.boot("b")
        address = await _take_calls(world, b, streams)
        stream = await world.on(a, lambda: dial(address, None))
        await asyncio.sleep(0.1)
        streams[0].on_data = heard.extend
        for number in range(100):
            stream.write(bytes([number]))
            if number == 20:
                world.network.cut("a", "b")
            if number == 50:
                world.network.heal()
            await asyncio.sleep(0.03)
        await asyncio.sleep(1)
        assert heard == bytes(range(100))

    world.run(main())


def test_a_full_disk_takes_a_part_and_without_power_what_was_not_forced_is_gone(world: World) -> None:
    disk = WorldDisk()
    machine = world.boot("a")
    opened: Any = disk.of(machine)
    disk.room = 10
    file = opened.append_to(Path("x/log"))
    assert opened.write(file, b"12345678") == 8
    assert opened.write(file, b"12345678") == 2
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        opened.write(file, b"1")
    disk.room = None
    opened.replace(Path("x/number"), b"7\n")
    disk.lose_power(Random(3))
    assert opened.read(Path("x/number")) == b"7\n"
    assert disk.files[Path("x/log")].data != b"1234567812"


def test_who_writes_to_a_slow_disk_stands_still_meanwhile(world: World) -> None:
    did: list[float] = []

    async def write() -> None:
        file = ground().disk.append_to(Path("log"))
        for _ in range(10):
            ground().disk.write(file, b"x")
            await asyncio.sleep(0)
            did.append(world.now_s)

    async def main() -> None:
        machine = world.boot("a")
        world.disks["a"].slow_s = 1.0
        await world.on(machine, write)

    world.run(main())
    assert 3 < did[-1] < 20
    assert world.network.did["slow write"] == 10


def test_a_door_in_a_world_has_a_limit_and_the_kernel_keeps_callers_waiting(world: World) -> None:
    refused: Counter[str] = Counter()

    async def take_calls() -> Address:
        return await Door(None, lambda stream: None, lambda why: refused.update([why])).open(
            Address(world.host("b"), 7000)
        )

    async def main() -> None:
        a, b = world.boot("a"), world.boot("b")
        b.descriptors_max = 40
        address = await world.on(b, take_calls)
        calls = [world.on(a, lambda: dial(address, None)) for _ in range(300)]
        await asyncio.sleep(1)
        assert len(b.open) <= 40 - RESERVED + 1
        assert refused["no descriptors"]
        await asyncio.sleep(10)
        for call in calls:
            call.cancel()

    world.run(main())


def test_descriptors_run_out(world: World) -> None:
    machine = world.boot("a")
    machine.descriptors_max = 2
    machine.disk.append_to(Path("1"))
    machine.disk.append_to(Path("2"))
    with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
        machine.disk.append_to(Path("3"))


def test_the_witness_sees_order_doubles_and_what_is_lacking() -> None:
    from aforesaid.core import MessageId

    picture, comment = MessageId("b", 0, 1), MessageId("a", 0, 1)
    witness = Witness()
    witness.said("b", picture, ["a", "c"])
    witness.heard("a", picture, [])
    witness.said("a", comment, ["c"])
    witness.heard("c", comment, [])
    assert witness.lacking({"a", "b", "c"}) == ["c has not heard b#1"]
    assert witness.lacking({"a", "c"}) == []
    witness.heard("c", picture, [])
    witness.heard("c", picture, [])
    assert witness.judge({"a", "b", "c"}) == [
        "c heard b#1 twice",
        "c heard a#1 before b#1, which came before it",
    ]


def test_a_plan_is_made_smaller_as_long_as_it_fails() -> None:
    guilty = Fault(1.0, "cut", ("p0", "p1"), 0.5)
    plan = next(plan for plan in (plan_of(seed, "fixed") for seed in range(99)) if len(plan.names) > 3)
    plan = replace(plan, faults=(*plan.faults, guilty))
    smallest = shrink(plan, lambda smaller: guilty in smaller.faults)
    assert smallest.faults == (guilty,)
    assert smallest.names == ("p0", "p1")
    assert smallest.seconds == 1.5
