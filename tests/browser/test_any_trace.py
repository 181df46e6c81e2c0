"""The page takes any trace: good ones, spoiled ones, and one of a million events."""

import threading
from dataclasses import replace
from pathlib import Path

from playwright.sync_api import Browser

from aforesaid.check import Report, check
from aforesaid.check.history import MalformedTrace
from aforesaid.viewer import packed, page
from aforesaid.viewer.serving import server_of
from browser.conftest import Open
from browser.million import million
from support.harness import judged, scenario
from support.random_traces import random_trace
from support.scale import scaled

SEEDS = scaled(12, 400)

CALLS_MAX = 12_000
"""Calls of the canvas for one frame, whatever the zoom. What they take: benchmarks/bench_viewer.py."""

LOOK_AT_ALL = """async () => {
    const strange = [];
    for (let place = 0; place < explorer.headers.length; place++) {
        await explorer.open(place);
        const {run} = explorer, time = logicalTime(run);
        for (let p = 0; p < run.processCount; p++) {
            for (let e = run.eventOffsets[p] + 1; e < run.eventOffsets[p + 1]; e++) {
                if (time[e] <= time[e - 1]) strange.push(`${run.name}: event ${e}`);
            }
        }
        for (let m = 0; m < run.messageCount; m++) {
            explorer.choose(m);
            explorer.picture.draw(explorer);
        }
        for (const violation of run.violations) explorer.accuse(violation);
        explorer.toggleStepping();
        for (let step = 0; step < 30; step++) explorer.stepBy(1);
        explorer.setLogical(true);
        explorer.picture.draw(explorer);
    }
    return strange;
}"""

BACKWARDS = """(() => {
    const {run} = explorer;
    return Array.from(run.delivery).filter((message, d) =>
        run.time[run.deliveryEvent[d]] < run.time[run.saidEvent[message]]).length;
})()"""

COUNT_CALLS = """async () => {
    let calls = 0;
    const canvas = CanvasRenderingContext2D.prototype, counts = [];
    for (const name of ["stroke", "fill", "fillRect", "strokeRect", "fillText", "drawImage"]) {
        const original = canvas[name];
        canvas[name] = function (...all) { calls++; return original.apply(this, all); };
    }
    for (const zoom of [1, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003]) {
        explorer.view.fit();
        explorer.view.zoom(zoom);
        for (const moving of [false, true]) {
            calls = 0;
            explorer.moving = moving;
            explorer.picture.draw(explorer);
            counts.push(calls);
        }
    }
    return counts;
}"""


def test_spoiled_traces_are_shown_without_complaint(open_page: Open, tmp_path: Path) -> None:
    runs = []
    for seed in range(SEEDS):
        trace, _ = random_trace(seed)
        try:
            runs.append(packed(trace, check(trace)))
        except MalformedTrace:
            continue
    file = tmp_path / "spoiled.html"
    file.write_text(page(runs))
    assert len(runs) > SEEDS // 2
    assert open_page(file).evaluate(LOOK_AT_ALL) == []


def test_clocks_that_contradict_causality_are_shifted_until_they_do_not(
    open_page: Open, tmp_path: Path
) -> None:
    _, trace, report = judged(scenario(workload=[{"kind": "rate", "per_second": 40}]))
    local = replace(trace, run=replace(trace.run, clock="local"))
    # The clock of p2 is a second fast, that of p3 two.
    for process, fast_ns in ((2, 10**9), (3, 2 * 10**9)):
        trace.messages.time_ns[trace.messages.origin == process] += fast_ns
        trace.delivery_time_ns[slice(*trace.delivery_offsets[process : process + 2])] += fast_ns
    file = tmp_path / "skewed.html"
    file.write_text(page([packed(trace, report), packed(local, report)]))
    shown = open_page(file)
    backwards = []
    for place in (0, 1):
        shown.evaluate("(place) => explorer.open(place)", place)
        backwards.append(shown.evaluate(BACKWARDS))
    assert backwards[0] > 0
    assert backwards[1] == 0
    assert "Lanes are shifted" in shown.inner_text("#findings")


def test_a_name_cannot_break_out_of_the_page(open_page: Open, tmp_path: Path) -> None:
    trace, _ = random_trace(1)
    trace.processes.name[0] = "</script><img src=x onerror=console.error(1)>{{runs}}"
    file = tmp_path / "named.html"
    file.write_text(page([packed(trace, Report(trace.run, {}, ()))]))
    shown = open_page(file)
    assert trace.processes.name[0] in shown.evaluate("explorer.run.processes.label[0]")
    assert shown.query_selector("img") is None


def test_a_run_in_which_nothing_happened_is_shown_too(open_page: Open, tmp_path: Path) -> None:
    trace = million(processes=2, messages=0)
    file = tmp_path / "nothing.html"
    file.write_text(page([packed(trace, check(trace))]))
    shown = open_page(file)
    for key in ("j", "n", "t", "s", ".", "f", "0", "+", "Escape"):
        shown.keyboard.press(key)
    assert "0 messages, 0 deliveries" in shown.inner_text("#findings")


def test_a_served_page_fetches_its_runs(browser: Browser) -> None:
    trace, _ = random_trace(1)
    with server_of([packed(trace, Report(trace.run, {}, ()))], 0) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with browser.new_context() as context:
            shown = context.new_page()
            shown.goto(f"http://127.0.0.1:{server.server_port}/")
            shown.evaluate("opened")
            assert shown.evaluate("explorer.run.messageCount") == len(trace.messages)
        server.shutdown()


def test_a_million_events_are_drawn_with_few_calls(open_page: Open, tmp_path: Path) -> None:
    trace = million()
    file = tmp_path / "million.html"
    file.write_text(page([packed(trace, Report(trace.run, {}, ()))]))
    shown = open_page(file)
    assert shown.evaluate("explorer.run.eventCount") == 1_020_000
    assert max(shown.evaluate(COUNT_CALLS)) <= CALLS_MAX
