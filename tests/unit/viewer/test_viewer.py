"""What goes into the page: columns that give back the trace, from a file or from a port."""

import gzip
import re
import threading
from http.client import HTTPConnection
from typing import Any

import numpy as np
import numpy.typing as npt

from aforesaid.check import check
from aforesaid.trace import MemoryTrace
from aforesaid.viewer import Packed, packed, page, page_of_addresses
from aforesaid.viewer.serving import server_of
from support.harness import judged, scenario


def column(run: Packed, name: str) -> npt.NDArray[Any]:
    first, length, kind = run.header["columns"][name]
    return np.frombuffer(gzip.decompress(run.body), f"<{kind}4", length, 4 * first)


def made() -> tuple[MemoryTrace, Packed]:
    workload = [{"kind": "rate", "per_second": 40}]
    _, trace, report = judged(scenario(workload=workload, receipts=True, sample_ms=50))
    return trace, packed(trace, report)


def test_the_columns_are_the_trace() -> None:
    trace, run = made()
    assert column(run, "message_origin").tolist() == trace.messages.origin.tolist()
    assert column(run, "delivery").tolist() == trace.delivery_message.tolist()
    assert column(run, "delivery_offsets").tolist() == trace.delivery_offsets.tolist()
    first_ns = int(min(trace.messages.time_ns.min(), trace.processes.began_ns.min()))
    assert run.header["tick_ns"] == 1
    assert (column(run, "delivery_time") + first_ns).tolist() == trace.delivery_time_ns.tolist()
    # What waited came when the trace says that it came.
    receipts = trace.story.receipts
    assert column(run, "receipt_waited").tolist() == receipts.waited_ns.tolist()
    rows = trace.delivery_offsets[receipts.process] + receipts.position
    assert column(run, "receipt_delivery").tolist() == rows.tolist()
    assert len(column(run, "sample_value")) == len(trace.samples.metric) > 0


def test_times_of_a_long_run_fit_into_32_bits() -> None:
    trace, _ = made()
    hour = 3_600 * 10**9
    trace.delivery_time_ns[-1] += hour
    run = packed(trace, check(trace))
    times, tick = column(run, "delivery_time"), run.header["tick_ns"]
    assert tick > 1
    assert abs(int(times[-1]) * tick - int(trace.delivery_time_ns[-1])) < 2 * tick


def test_the_same_run_makes_the_same_page() -> None:
    assert page([made()[1]]) == page([made()[1]])


def test_a_served_page_is_for_this_machine_and_fetches_its_runs() -> None:
    _, run = made()
    with server_of([run], 0) as server:
        assert server.server_address[0] == "127.0.0.1"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        answers = {}
        for path in ("/", "/run-0.bin", "/run-1.bin"):
            host.request("GET", path)
            answer = host.getresponse()
            answers[path] = answer.status, answer.read()
        server.shutdown()
    assert answers["/"] == (200, page_of_addresses([run], ["run-0.bin"]).encode())
    assert re.search(rb'"address": "run-0.bin"', answers["/"][1])
    assert answers["/run-0.bin"] == (200, run.body)
    assert answers["/run-1.bin"][0] == 404
