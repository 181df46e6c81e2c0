"""Logs for operators: JSON lines, and no flood of them."""

import json
import logging
from itertools import product
from pathlib import Path

import pytest

from aforesaid import Config, Node
from aforesaid.node.operating.logs import AGAIN_S, JsonLines, Seldom
from net.net_stage import ANYWHERE, group_configs, run, running, take


def told(event: str, at: float, **fields: object) -> logging.LogRecord:
    record = logging.LogRecord("aforesaid.node", logging.WARNING, "", 0, "%s", (event,), None)
    record.created, record.fields = at, fields
    return record


def test_what_happens_again_and_again_is_written_once_in_a_while() -> None:
    seldom = Seldom()
    passed = [seldom.filter(told("restarted", 1000 + each / 100, peer="bob")) for each in range(100)]
    assert passed == [True, *[False] * 99]
    assert seldom.filter(told("restarted", 1000.5, peer="carol")), "another peer is another event"
    again = told("restarted", 1000 + AGAIN_S, peer="bob")
    assert seldom.filter(again)
    line = json.loads(JsonLines().format(again))
    assert (line["event"], line["peer"], line["held_back"]) == ("restarted", "bob", 99)
    once_more = told("restarted", 1001 + 2 * AGAIN_S, peer="bob")
    assert seldom.filter(once_more)
    assert "held_back" not in json.loads(JsonLines().format(once_more))


def test_every_line_names_the_node_that_tells_it(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    async def main() -> None:
        async with running(group_configs(["alice", "bob"], tmp_path, transport="tcp")) as nodes:
            await nodes["alice"].broadcast(b"hello")
            await take(nodes["bob"], 1)
        async with Node(Config.of({"name": "carol", "peers": {"dave": ANYWHERE}, "linger_s": 0.01})) as carol:
            await carol.broadcast(b"is anyone there?")
            carol.evict("dave")

    caplog.set_level(logging.DEBUG, "aforesaid.node")
    run(main())
    lines = [json.loads(JsonLines().format(record)) for record in caplog.records]
    assert {(line["event"], line["name"]) for line in lines} >= {
        *product(("started", "met", "connected"), ("alice", "bob")),
        ("peer gone", "carol"),
    }
    assert {line["name"] for line in lines} == {"alice", "bob", "carol"}
