"""What a person does with the page: look, point, click, step; on any screen."""

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page

from aforesaid.check import check
from aforesaid.check.history import History
from aforesaid.check.order import Order
from aforesaid.sim import Scenario, simulate
from aforesaid.sim.states import states_of
from aforesaid.trace import MemoryTrace, label_of_message
from aforesaid.viewer import packed, page
from browser.conftest import Open

Keep = Callable[[Page, str], None]
DEMO = Path(__file__).resolve().parents[2] / "scenarios" / "demo.toml"
PLACE = """([label, process]) => {
    const {run, view, picture} = explorer, message = run.messageOf(label);
    const event = process === null ? run.saidEvent[message] : run.deliveredAt(process, message);
    const box = picture.canvas.getBoundingClientRect();
    const lane = run.processOf(event);
    return [box.left + view.x(run.time[event]) * picture.unit, box.top + view.y(lane) * picture.unit];
}"""

NEAR = """(label) => {
    const {run, view} = explorer, said = run.time[run.saidEvent[run.messageOf(label)]];
    view.span(said - run.end / 1e5, said + run.end / 1e5);
    explorer.redraw();
}"""


@pytest.fixture(scope="module")
def traces() -> dict[str, MemoryTrace]:
    """The two simulated runs of the demo: without an order, and with one."""
    made = {}
    for name, algorithm in (("unordered", "reliable"), ("causal", "waiting")):
        _, trace = simulate(
            Scenario.of({**tomllib.loads(DEMO.read_text()), "algorithm": algorithm, "receipts": True})
        )
        made[name] = replace(trace, run=replace(trace.run, run=name))
    return made


@pytest.fixture(scope="module")
def demo(traces: dict[str, MemoryTrace], tmp_path_factory: pytest.TempPathFactory) -> Path:
    file: Path = tmp_path_factory.mktemp("view") / "demo page.html"
    file.write_text(page([packed(trace, check(trace)) for trace in traces.values()]))
    return file


def place_of(shown: Page, label: str, process: int | None = None) -> tuple[float, float]:
    """Where a saying, or a delivery, is on the screen."""
    x, y = shown.evaluate(PLACE, [label, process])
    return x, y


def test_a_violation_is_found_by_clicking(
    open_page: Open, demo: Path, traces: dict[str, MemoryTrace], keep_picture: Keep
) -> None:
    causal = check(traces["unordered"]).verdicts["causal"]
    shown = open_page(demo)
    assert "not promised, not kept: fifo, causal" in shown.inner_text("#verdict")
    shown.click("summary:has-text('causal')")
    shown.click(f".found:has-text('{causal.witnesses[0].sentence}')")
    # It is marked, its sentence stands beside it, and its story is told with both messages.
    assert shown.inner_text("#callout") == causal.witnesses[0].sentence
    assert shown.inner_text("#story h2") == causal.witnesses[0].message
    assert str(causal.witnesses[0].details["predecessor"]) in shown.inner_text("#story")
    for label in (causal.witnesses[0].message, str(causal.witnesses[0].details["predecessor"])):
        x, y = place_of(shown, label, causal.witnesses[0].process_index)
        assert 60 < x < 1030
        assert 50 < y < 760
    keep_picture(shown, "violation")
    # What was broken next is in sight below the first few; the others come when asked for.
    fifo = check(traces["unordered"]).verdicts["fifo"]
    assert shown.locator("details[open] .found").count() == 2 * 5
    shown.click("details:has-text('fifo') .others")
    assert shown.locator("details:has-text('fifo') .found").count() == min(len(fifo.witnesses), 200)
    # The mark itself can be clicked, too.
    shown.keyboard.press("Escape")
    assert not shown.is_visible("#story")
    shown.mouse.click(*place_of(shown, causal.witnesses[0].message, causal.witnesses[0].process_index))
    assert shown.inner_text("#callout") == causal.witnesses[0].sentence


def test_a_page_of_several_runs_opens_where_something_broke(
    open_page: Open, traces: dict[str, MemoryTrace], tmp_path: Path
) -> None:
    file = tmp_path / "kept first.html"
    file.write_text(page([packed(traces[name], check(traces[name])) for name in ("causal", "unordered")]))
    shown = open_page(file)
    assert shown.evaluate("explorer.run.name") == "unordered"
    shown.keyboard.press("n")
    assert shown.is_visible("#callout")
    assert open_page(file, "#run=causal").evaluate("explorer.run.name") == "causal"


def test_pointing_at_a_message_lights_up_its_past_and_future(
    open_page: Open, demo: Path, traces: dict[str, MemoryTrace], keep_picture: Keep
) -> None:
    trace = traces["causal"]
    order = Order.recorded(History(trace))
    shown = open_page(demo, "#run=causal")
    for message in range(len(trace.messages)):
        lit = shown.evaluate("(message) => Array.from(explorer.coneOf(message).relations())", message)
        assert lit == relations(order, message), f"of {label_of_message(trace, message)}"
    # With the mouse; of what was said at one moment, the first is found.
    _, first_said = np.unique(trace.messages.time_ns, return_index=True)
    for message in first_said[::25].tolist():
        label = label_of_message(trace, message)
        shown.evaluate(NEAR, label)
        shown.mouse.move(0, 0)
        shown.mouse.move(*place_of(shown, label))
        shown.wait_for_function(f"explorer.cone && explorer.cone.message === {message}")
        assert shown.inner_text("#tip").startswith(f"{label}, said at")
    keep_picture(shown, "pointed")


def relations(order: Order, message: int) -> list[int]:
    """How the checker's order has it: 1 came before, 2 after, 3 is the message, 0 none of these."""
    count = order.message_count
    before = order.pasts([[message]]) != 0
    after = np.zeros(count, np.bool_)
    after[message] = True
    for later in order.topological:
        after[later] |= bool(after[order.before(later)].any())
    found = np.where(before, 1, 0) + np.where(after, 2, 0)
    return [int(value) for value in found]


def test_why_a_message_waited_is_told_to_the_root(
    open_page: Open, demo: Path, traces: dict[str, MemoryTrace], keep_picture: Keep
) -> None:
    trace = traces["causal"]
    receipts = trace.story.receipts
    row = int(np.argmax(receipts.waited_ns))
    process, cause = int(receipts.process[row]), int(receipts.cause[row])
    message = int(trace.log(process).message[receipts.position[row]])
    label, waited_ms = label_of_message(trace, message), int(receipts.waited_ns[row]) / 1e6
    shown = open_page(demo, f"#run=causal&m={label.replace('#', '%23')}")
    story = shown.inner_text("#story")
    assert "Why it waited" in story
    assert f"{waited_ms:.1f} ms for {label_of_message(trace, cause)}" in story
    assert "had not come: it came at" in story
    keep_picture(shown, "waited")


def test_what_waited_longest_is_found_without_looking_for_it(
    open_page: Open, demo: Path, traces: dict[str, MemoryTrace]
) -> None:
    trace = traces["causal"]
    waits = {
        (process, position): int(rows.waited_ns[rows.position == position].sum())
        for process, log in trace.logs()
        for rows in [trace.story.receipts.of(process)]
        for position in set(rows.position.tolist())
    }
    process, position = max(waits, key=lambda key: waits[key])
    label = label_of_message(trace, int(trace.log(process).message[position]))
    shown = open_page(demo, "#run=causal")
    first = shown.locator("#panel .waited").first
    assert first.inner_text().startswith(f"{label} at p{process}, ")
    first.locator("button").click()
    assert "Why it waited" in shown.inner_text("#panel")


def test_logical_time_puts_every_delivery_after_its_saying(open_page: Open, demo: Path) -> None:
    shown = open_page(demo)
    shown.keyboard.press("t")
    assert shown.get_attribute("#logical", "aria-pressed") == "true"
    assert shown.evaluate(
        """Array.from(explorer.run.delivery).every((message, d) => {
            const {run} = explorer;
            return run.time[run.deliveryEvent[d]] > run.time[run.saidEvent[message]];
        })"""
    )
    assert shown.url.endswith("&time=logical")


def test_an_address_leads_to_a_message_and_follows_what_is_chosen(open_page: Open, demo: Path) -> None:
    shown = open_page(demo, "#run=causal&m=p2%235")
    assert shown.inner_text("#story h2") == "p2#5"
    shown.fill("#search input", "p1#3")
    shown.press("#search input", "Enter")
    assert shown.inner_text("#story h2") == "p1#3"
    assert shown.url.endswith("#run=causal&m=p1%233")
    shown.fill("#search input", "p1#999")
    shown.press("#search input", "Enter")
    assert shown.inner_text("#story h2") == "p1#3"
    # One that leads nowhere says so; the next one is followed.
    for address, told in (("#run=causal&m=p1%23999", "no message p1#999"), ("#run=other", "no run other")):
        astray = open_page(demo, address)
        assert f"There is {told} here, where the address leads." in astray.inner_text("#findings")
        astray.evaluate("location.hash = '#run=causal&m=p2%235'")
        astray.wait_for_selector("#story h2:has-text('p2#5')")
        assert not astray.query_selector("#lost")


def test_filters_hide_processes_messages_and_what_is_concurrent(open_page: Open, demo: Path) -> None:
    shown = open_page(demo, "#run=causal&m=p2%235")
    shown.keyboard.press("f")
    shown.click("#filters label:has-text('p0')")
    assert shown.evaluate("explorer.view.lanes") == [1, 2, 3, 4]
    shown.fill("#filters input[type=text]", "p2#1-3 p4")
    chosen = "Array.from(explorer.view.only.keys()).filter((m) => explorer.view.only[m])"
    labels = shown.evaluate(f"{chosen}.map((m) => explorer.run.label(m))")
    assert {label for label in labels if label.startswith("p2")} == {"p2#1", "p2#2", "p2#3"}
    assert {label.split("#")[0] for label in labels} == {"p2", "p4"}
    shown.fill("#filters input[type=text]", "")
    shown.click("#filters label:has-text('only what came before or after')")
    assert shown.evaluate(f"{chosen}.every((m) => explorer.coneOf(explorer.chosen).relation(m))")


def test_stepping_shows_what_each_process_had(
    open_page: Open, demo: Path, traces: dict[str, MemoryTrace], keep_picture: Keep
) -> None:
    shown = open_page(demo, "#run=causal")
    shown.keyboard.press("s")
    for _ in range(15):
        shown.keyboard.press(".")
    assert "Step 16 of" in shown.inner_text("#stepping")
    rows = shown.eval_on_selector_all(
        "#stepping tbody tr",
        "rows => rows.map(row => Array.from(row.cells).slice(1, 3).map(c => +c.textContent))",
    )
    assert sum(map(sum, rows)) == 16
    keep_picture(shown, "step")


def test_stepping_shows_what_each_process_holds_and_what_waits_there(
    open_page: Open, traces: dict[str, MemoryTrace], tmp_path: Path, keep_picture: Keep
) -> None:
    """Played again, the run tells the gauges of each process; they agree with what the receipts say."""
    trace = traces["causal"]
    scenario = Scenario.of(json.loads(trace.run.scenario))
    states = states_of(trace.run, scenario)
    assert states is not None
    assert states_of(replace(trace.run, digest="of another version"), scenario) is None
    file = tmp_path / "states.html"
    file.write_text(page([packed(trace, check(trace), states=states)]))
    shown = open_page(file)
    shown.keyboard.press("s")
    shown.evaluate("explorer.stepBy(131)")
    cells = shown.eval_on_selector_all("#stepping tbody tr", "rows => rows.map(row => row.innerText)")
    p1 = next(place for place, text in enumerate(cells) if text.startswith("p1"))
    lying = shown.evaluate("explorer.run.waiting.lyingAt(1, explorer.stepping.clock, 99).length")
    assert lying > 0
    assert f"{lying} pending" in cells[p1]
    assert "p2#4 waits for p4#7, which came before it." in cells[p1 + 1]
    assert "p4#8, p4#9, p4#10 wait for p2#4, which came before it." in cells[p1 + 1]
    keep_picture(shown, "states")


@pytest.mark.parametrize(
    ("width", "height", "scheme"), [(360, 740, "light"), (1400, 800, "dark"), (3840, 2160, "dark")]
)
def test_it_fits_every_screen(
    open_page: Open, demo: Path, keep_picture: Keep, width: int, height: int, scheme: str
) -> None:
    shown = open_page(demo, "", width, height, scheme)
    shown.click(".found")
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert shown.evaluate("explorer.picture.canvas.clientHeight") >= 240
    small = shown.evaluate(
        "Math.min(...Array.from(document.querySelectorAll('header button, #story p, .found'), "
        "(e) => parseFloat(getComputedStyle(e).fontSize)))"
    )
    assert small >= (20 if width > 3400 else 12)
    assert shown.is_visible("#callout")
    keep_picture(shown, f"{scheme}-{width}")
