"""Logs for operators: JSON lines, and no flood of them."""

import json
import logging

from aforesaid.node.operating.logs import AGAIN_S, JsonLines, Seldom


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
