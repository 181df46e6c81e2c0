"""Metrics of real nodes: read by a real parser, and fetched by whoever is slow, loud, or many."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from aforesaid import Config, Misuse, Node
from aforesaid.node.operating import metrics_port
from aforesaid.node.operating.metrics import CONTENT_TYPE
from aforesaid.node.operating.metrics_port import MetricsPort
from aforesaid.transport import Address, door
from net.net_stage import ANYWHERE, PATIENCE_S, group_configs, placed_configs, run, running, take, until

GET = b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n"


async def closed(*writers: asyncio.StreamWriter) -> None:
    for writer in writers:
        writer.close()
    await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)


async def answer(address: Address | None, request: bytes = GET) -> tuple[str, str, str]:
    """Status line, headers and body."""
    assert address is not None
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request)
    data = await asyncio.wait_for(reader.read(), PATIENCE_S)
    await closed(writer)
    head, _, body = data.decode().partition("\r\n\r\n")
    status, _, headers = head.partition("\r\n")
    return status, headers, body


async def values(node: Node) -> dict[tuple[str, ...], float]:
    """By the name of a sample and the values of its labels."""
    _, _, body = await answer(node.metrics_address)
    assert body.endswith("# EOF\n")
    families = list(text_string_to_metric_families(body))
    assert all(family.documentation for family in families)
    assert all(family.name.endswith(family.unit) for family in families)
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.mark.parametrize("algorithm", ["hybrid_multicast_in_order", "waiting"])
def test_a_parser_reads_what_a_node_tells(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_port, "KEPT_S", 0.0)

    async def main() -> None:
        names = ["alice", "bob", "carol"]
        configs = placed_configs(names, algorithm=algorithm, metrics=ANYWHERE, linger_s=0.0)
        async with running({name: configs[name] for name in ("alice", "bob")}) as nodes:
            alice = nodes["alice"]
            for _ in range(3):
                await alice.broadcast(b"carol is not there")
            await take(nodes["bob"], 3)
            await until(lambda: alice.status()["resent"] > 0, "nothing is sent again to carol")
            found = await values(alice)
            assert found["aforesaid_running",] == 1
            assert found["aforesaid_said_messages_total",] == 3
            assert found["aforesaid_delivered_messages_total",] == found["aforesaid_inbox_messages",] == 3
            assert found["aforesaid_resent_messages_total",] > 0
            assert found["aforesaid_peers", "connected"] == found["aforesaid_peers", "silent"] == 1
            assert found["aforesaid_under_way_messages",] == 3
            assert found["aforesaid_owed_messages", "carol"] >= 3
            assert 0 < found["aforesaid_oldest_wait_seconds", "carol"] < PATIENCE_S
            assert ("aforesaid_oldest_wait_seconds", "bob") not in found
            assert ("aforesaid_journal_unforced_records",) not in found
            assert found["aforesaid_acknowledgment_seconds_count",] == 0, "carol has none of it"
            assert found["aforesaid_inbox_dwell_seconds_count",] == 0, "nobody takes it"
            heard = await values(nodes["bob"])
            assert heard["aforesaid_inbox_dwell_seconds_bucket", "+Inf"] == 3
            assert 0 < heard["aforesaid_inbox_dwell_seconds_sum",] < PATIENCE_S
            alice.evict("carol")
            await until(lambda: alice.status()["latency"]["acknowledged"]["count"] == 3, "bob lacks some")
            found = await values(alice)
            assert found["aforesaid_acknowledgment_seconds_count",] == 3
            assert 0 < found["aforesaid_acknowledgment_seconds_sum",] < 3 * PATIENCE_S
            assert found["aforesaid_evictions_total",] == found["aforesaid_peers", "evicted"] == 1
            assert ("aforesaid_oldest_wait_seconds", "carol") not in found

    run(main())


def test_what_was_refused_is_told_by_reason_and_a_journal_how_far_it_is_behind(tmp_path: Path) -> None:
    async def main() -> None:
        strange = Config.of({"name": "alice", "metrics": ANYWHERE, "cluster": 'c"\\\n'})
        durable = group_configs(["alice"], tmp_path, durability="always", metrics=ANYWHERE)["alice"]
        async with Node(strange) as alice:
            alice._running.refused['a "reason" \\'] = 7
            assert (await values(alice))["aforesaid_refusals_total", 'a "reason" \\'] == 7
        async with Node(durable) as alice:
            saying = asyncio.create_task(alice.broadcast(b"hello"))
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert alice.status()["journal"]["records"] > 0
            await saying
            found = await values(alice)
            assert found["aforesaid_journal_unforced_records",] == 0
            assert found["aforesaid_journal_held_effects",] == 0
            assert found["aforesaid_journal_commit_seconds",] == 0

    run(main())


def test_a_changing_group_tells_its_metrics_too() -> None:
    async def main() -> None:
        facts = {"name": "alice", "algorithm": "prc_spray", "transport": "tcp", "metrics": ANYWHERE}
        async with Node(Config.of(facts)) as alice:
            await alice.broadcast(b"alone")
            found = await values(alice)
            assert (
                found["aforesaid_said_messages_total",] == found["aforesaid_delivered_messages_total",] == 1
            )
            assert ("aforesaid_acknowledgment_seconds_count",) not in found, "it cannot know"

    run(main())


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (GET, "200 OK"),
        (b"GET /metrics?name[]=x HTTP/1.0\r\n\r\n", "200 OK"),
        (b"GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"GET /metrics/../x HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"POST /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n", "405 Method Not Allowed"),
        (b"PRI * HTTP/2.0\r\n\r\n", "400 Bad Request"),
        (b"\x16\x03\x01\x00\r\n\r\n", "400 Bad Request"),
        (b"\r\n\r\n", "400 Bad Request"),
        (b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 100_000, "431 Request Header Fields Too Large"),
    ],
)
def test_one_request_is_answered_and_the_connection_ends(request_: bytes, status: str) -> None:
    async def main() -> None:
        port = MetricsPort(lambda: "# EOF\n")
        await port.open(Address.parse(ANYWHERE))
        try:
            line, headers, body = await answer(port.address, request_)
            assert line == f"HTTP/1.1 {status}"
            assert f"Content-Length: {len(body)}\r\n" in headers
            assert (status != "200 OK") or (f"Content-Type: {CONTENT_TYPE}" in headers and body == "# EOF\n")
        finally:
            await port.close()

    run(main())


async def besieged(siege: Callable[[Address], Awaitable[None]]) -> None:
    port = MetricsPort(lambda: "x" * 1_000_000)
    await port.open(Address.parse(ANYWHERE))
    try:
        await siege(port.address)
        assert len(port._door._strangers) <= door.STRANGERS_MAX + 1
        status, _, _ = await answer(port.address)
        assert status == "HTTP/1.1 200 OK"
    finally:
        await port.close()


def test_who_is_slow_loses_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that never asks, one that asks byte by byte, and one that never takes the answer."""
    monkeypatch.setattr(door, "STRANGE_S", 0.3)

    async def siege(address: Address) -> None:
        callers = [await asyncio.open_connection(*address) for _ in range(3)]
        callers[2][1].write(GET)
        for byte in GET[:-1]:
            callers[1][1].write(bytes([byte]))
            await asyncio.sleep(0.02)
        for number, (reader, writer) in enumerate(callers):
            try:
                data = await asyncio.wait_for(reader.read(), PATIENCE_S)
                assert not data or number == 2
            except ConnectionError:
                pass  # That, too, is an end.
            await closed(writer)

    run(besieged(siege))


def test_many_callers_leave_room_for_one_that_asks() -> None:
    async def siege(address: Address) -> None:
        callers = [await asyncio.open_connection(*address) for _ in range(2 * door.STRANGERS_MAX)]
        (_, _, body), *_ = await asyncio.gather(*(answer(address) for _ in range(5)))
        assert len(body) == 1_000_000
        await closed(*(writer for _, writer in callers))

    run(besieged(siege))


def test_who_asks_again_and_again_has_the_text_made_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        made = count(1)
        monkeypatch.setattr(metrics_port, "KEPT_S", PATIENCE_S)
        port = MetricsPort(lambda: str(next(made)))
        await port.open(Address.parse(ANYWHERE))
        for _ in range(20):
            assert (await answer(port.address))[2] == "1"
        await port.close()

    run(main())


def test_in_the_clear_on_the_network_only_by_the_fearsome_word() -> None:
    facts = {"name": "alice", "metrics": "192.0.2.1:9100", "security": {"cluster_key": "some.key"}}
    with pytest.raises(Misuse, match=r"^metrics: 192\.0\.2\.1:9100 is no loopback address"):
        Config.of(facts)
    Config.of({**facts, "allow_plaintext_on_the_network_which_anyone_can_read_and_forge": True})
    with pytest.raises(Misuse, match=r"^metrics: 'nowhere' is no address"):
        Config.of({**facts, "metrics": "nowhere"})


def test_a_metrics_port_in_use_ends_the_start_in_one_line(tmp_path: Path) -> None:
    async def main() -> None:
        configs = group_configs(["alice", "bob"], tmp_path, metrics=ANYWHERE)
        async with Node(configs["alice"]) as alice:
            at = str(alice.metrics_address)
            taken = Config.of({"name": "bob", "directory": str(tmp_path / "b"), "metrics": at})
            with pytest.raises(Misuse, match=f"cannot listen at {at}"):
                await Node(taken).__aenter__()
            assert not (tmp_path / "b/control.sock").exists()

    run(main())
