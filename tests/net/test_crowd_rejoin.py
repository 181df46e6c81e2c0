"""How members that were cut off find their group again, and who may join through whom meanwhile."""

import asyncio
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from aforesaid import Config, Misuse, Node
from aforesaid.node.carrying.book import Book
from aforesaid.node.carrying.greeting import HELLO_S
from aforesaid.node.carrying.notes import Entry, entry_of
from aforesaid.node.carrying.streams import StreamCarrier
from aforesaid.protocols.overlay.living import Living
from net.crowd import PRC
from net.net_stage import PATIENCE_S, free_addresses, links_of, run, take, until


def entries(count: int) -> list[Entry]:
    return [entry_of(f"p{n}", 7, f"127.0.0.1:{7000 + n}") for n in range(count)]


def order(book: Book) -> list[str]:
    """By the last digits of their ports."""
    return [str(address)[-1] for address in book.best(but="p0")]


def test_who_is_reached_is_tried_first_and_who_is_lost_last() -> None:
    book = Book()
    book.learn(entries(5))
    assert order(book) == ["4", "3", "2", "1"]
    book.reached("p2")
    book.doubt("p4")
    assert order(book) == ["2", "3", "1", "4"]
    book.learn(entries(5))
    assert order(book) == ["2", "3", "1", "4"], "what is told again is no news"


def test_who_said_goodbye_is_gone_though_others_still_tell_of_it() -> None:
    book = Book()
    book.learn(entries(3))
    book.forget("p2", 7)
    book.forget("p3", 7)
    book.learn(entries(4))
    assert order(book) == ["1"]
    assert book.address("p2") is None
    assert book.entry("p2") is None
    assert book.anyone({"p0", "p1"}, lambda label, count: 0) is None
    book.forget("p1", 6)
    book.learn([entry_of("p2", 8, "127.0.0.1:7002")])
    assert order(book) == ["2", "1"], "another incarnation is another matter"


def carrier(node: Node) -> StreamCarrier:
    found = node._running.carrier
    assert isinstance(found, StreamCarrier)
    return found


def cut_off(node: Node) -> None:
    """All its streams break."""
    for peer in list(carrier(node).peers.values()):
        if peer.stream is not None:
            peer.stream._transport.abort()


@contextmanager
def silence() -> Iterator[str]:
    """An address where calls are taken and nothing is ever said."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


async def rejoined_after_s(addresses: list[str]) -> float:
    """How long a member that is cut off takes to join again, if it knows these best."""
    async with Node(Config.of({"name": "a", **PRC})) as a:
        others = [Config.of({"name": name, **PRC, "contact": str(a.address)}) for name in "bc"]
        async with Node(others[0]) as b, Node(others[1]):
            first = b.incarnation
            carrier(b)._book.learn([entry_of(f"gone{n}", 7, at) for n, at in enumerate(addresses)])
            began = time.monotonic()
            cut_off(b)
            await until(lambda: b._member.is_set() and b.incarnation > first, "b joins again")
            took_s = time.monotonic() - began
            await a.broadcast(b"welcome back")
            assert [message.payload for message in await take(b, 1)] == [b"welcome back"]
            return took_s


def test_a_member_that_was_cut_off_passes_over_those_that_are_not_there() -> None:
    async def main() -> None:
        assert await rejoined_after_s(free_addresses(10)) < HELLO_S

    run(main())


def test_a_member_that_was_cut_off_does_not_wait_long_where_nothing_answers() -> None:
    async def main() -> None:
        with silence() as address:
            assert await rejoined_after_s([address]) < HELLO_S

    run(main())


def test_nobody_joins_through_a_newcomer_that_is_no_member_yet() -> None:
    """Else c would be in a group of b's, and b then in another: what c said, nobody there would ever hear."""

    async def main() -> None:
        [at] = free_addresses(1)
        with silence() as address:
            b = Node(Config.of({"name": "b", **PRC, "listen": at, "contact": address}))
            entering = asyncio.create_task(b.__aenter__())
            await asyncio.sleep(0.1)
            with pytest.raises(Misuse, match=f"cannot reach a member at {at}: no member ever"):
                await Node(Config.of({"name": "c", **PRC, "contact": at})).__aenter__()
            entering.cancel()
            await asyncio.gather(entering, return_exceptions=True)

    run(main())


def test_members_that_were_all_cut_off_at_once_are_one_group_again() -> None:
    """Their founder has left: the first of them by name founds the group anew."""

    async def main() -> None:
        async with Node(Config.of({"name": "a", **PRC})) as a:
            facts = {**PRC, "contact": str(a.address), "heartbeat_s": 0.3}
            nodes = [await Node(Config.of({"name": name, **facts})).__aenter__() for name in "bcd"]
            await until(lambda: all(len(links_of(n)) > 1 for n in nodes), "all are linked")
        before = [node.incarnation for node in nodes]
        for node in nodes:
            cut_off(node)
        await until(
            lambda: all(n._member.is_set() and n.incarnation > i for n, i in zip(nodes, before, strict=True)),
            "all are members again",
        )
        await nodes[2].broadcast(b"here we are")
        for node in nodes:
            assert [message.payload for message in await take(node, 1)] == [b"here we are"]
        for node in nodes:
            await node.close()

    run(main())


def test_who_stays_alone_after_all_others_have_left_can_be_joined() -> None:
    """Though it had been cut off before, and was a newcomer itself then."""

    async def main() -> None:
        async with Node(Config.of({"name": "a", **PRC})) as a:
            others = [Config.of({"name": name, **PRC, "contact": str(a.address)}) for name in "bcd"]
            async with Node(others[0]) as b, Node(others[1]):
                first = a.incarnation
                await until(lambda: len(links_of(b)) > 1, "b and c are linked")
                cut_off(a)
                await until(lambda: a._member.is_set() and a.incarnation > first, "a joins again")
                await until(lambda: len(links_of(a)) > 1, "a knows both")
            await until(lambda: not links_of(a), "a is alone")
            async with Node(others[2]) as d:
                await a.broadcast(b"not alone any more")
                assert [message.payload for message in await take(d, 1)] == [b"not alone any more"]

    run(main())


def test_who_comes_back_is_known_at_its_new_incarnation() -> None:
    """A rolling restart: b hands its links over to c, whom it had told of an earlier a, and to the new a."""

    async def main() -> None:
        here, there = free_addresses(2)
        quiet = {**PRC, "options": {}}
        facts = {name: {"name": name, **quiet} for name in "abc"}
        facts["a"]["listen"], facts["b"]["listen"] = here, there
        async with Node(Config.of(facts["a"])) as a:
            b = await Node(Config.of({**facts["b"], "contact": here})).__aenter__()
            c = await Node(Config.of({**facts["c"], "contact": here})).__aenter__()
            await until(lambda: all(len(links_of(n)) == 2 for n in (a, b, c)), "all are linked")
        async with Node(Config.of({**facts["a"], "contact": there})) as a:
            began = time.monotonic()
            await b.close(linger_s=PATIENCE_S)
            assert time.monotonic() - began < PATIENCE_S / 2
            await a.broadcast(b"still one group")
            assert [message.payload for message in await take(c, 1)] == [b"still one group"]
            await c.close()

    run(main())


def test_who_calls_somebody_that_is_no_member_is_called_back() -> None:
    """a looks for a member that is gone; b looks for a, and knows nobody else. They become a group."""

    async def main() -> None:
        here, there, nowhere = free_addresses(3)
        facts = {**PRC, "heartbeat_s": 0.2}
        a = Node(Config.of({"name": "a", **facts, "listen": here, "contact": nowhere}))
        b = Node(Config.of({"name": "b", **facts, "listen": there, "contact": here}))
        rejoining = [asyncio.create_task(node._rejoin(0, None)) for node in (a, b)]
        await asyncio.wait_for(asyncio.gather(*rejoining), PATIENCE_S)
        await a.broadcast(b"found you")
        assert [message.payload for message in await take(b, 1)] == [b"found you"]
        await b.close()
        await a.close()

    run(main())


def test_a_link_to_somebody_whose_address_nobody_knows_fails_at_once() -> None:
    async def main() -> None:
        async with Node(Config.of({"name": "a", **PRC})) as a:
            host, machine = a._running, a._running.machine
            assert isinstance(machine, Living)
            links = machine.prc.state
            machine.open("nobody", ("b",), host.now(), host)
            assert links.with_peer("nobody")
            host.end_turn()
            assert not links.with_peer("nobody")

    run(main())
