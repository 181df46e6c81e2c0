"""The report: one page, from whatever tables there are, the same each time, and readable without help."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aforesaid.core import MessageId, Misuse
from aforesaid.report.figures import Panel, growth_figure
from aforesaid.report.findings import read_findings
from aforesaid.report.page import page
from aforesaid.sim import Scenario, simulate_into
from aforesaid.trace import Run, Tracer
from aforesaid.trace.parquet import ParquetSink

SWEPT: dict[str, Any] = {
    "state": "done",
    "processes": 4,
    "seed": 1,
    "ended": "drained",
    "messages": 10,
    "deliveries": 40,
    "verdict": None,
    "evidence": None,
    "error": None,
    "replay": None,
}
SENTENCE = "p0 delivered p3#2 at position 17, but p4#7 <first> only at position 18."


def write(directory: Path, **tables: list[dict[str, Any]]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        pq.write_table(pa.Table.from_pylist(rows), directory / f"{name}.parquet")
    return directory


def sweep_rows() -> list[dict[str, Any]]:
    good = {**SWEPT, "run": "waiting-n4-s1", "algorithm": "waiting"}
    bad = {
        **SWEPT,
        "run": "pak-n4-s1",
        "algorithm": "pak",
        "state": "failed",
        "ended": None,
        "messages": None,
    }
    bad |= {"deliveries": None, "error": "IndexError()", "replay": "aforesaid simulate failed/pak-n4-s1.json"}
    return [good, bad]


def verdict_rows(value: str, note: str = "") -> list[dict[str, Any]]:
    row = {"run": "waiting-n4-s1", "violations": 0, "required": True, "note": note}
    violations = 3 if value == "violated" else 0
    return [
        {**row, "property": "fifo", "value": "kept"},
        {**row, "property": "causal", "value": value, "violations": violations},
        {**row, "property": "stability", "value": "violated", "violations": 9, "required": False},
    ]


def violation_rows() -> list[dict[str, Any]]:
    return [{"run": "waiting-n4-s1", "property": "causal", "required": True, "rank": 1, "sentence": SENTENCE}]


def metric_tables() -> dict[str, list[dict[str, Any]]]:
    """Two algorithms, two sizes, one setting."""
    groups = [(name, size) for name in ("pak", "waiting") for size in (4, 8)]
    latency, histogram, series, growth = [], [], [], []
    for number, (name, size) in enumerate(groups, 1):
        group = {"algorithm": name, "processes": size, "setting": ""}
        times = {f"{share}_ms": 10.0 * number for share in ("mean", "p50", "p90", "p99", "p999", "max")}
        for measure in ("latency", "above_optimum"):
            latency.append({**group, "measure": measure, "deliveries": 100, **times})
        for low in (1.0, 2.0, 4.0):
            histogram.append(
                {**group, "measure": "latency", "low_ms": low, "high_ms": 2 * low, "deliveries": number}
            )
        for time_ms in (0.0, 10.0, 20.0):
            point = {"mean": time_ms * size, "low": time_ms, "high": 2 * time_ms * size}
            series.append({**group, "metric": "pending", "time_ms": time_ms, "runs": 2, **point})
        point = {"mean": 3.0 * size**2, "low": 2.0 * size**2, "high": 4.0 * size**2, "exponent": 2.0}
        growth.append({**group, "metric": "frames_per_message", "runs": 2, **point})
    runs = [
        {
            **SWEPT,
            "run": f"{name}-n{size}-s1",
            "algorithm": name,
            "processes": size,
            "setting": "",
            "optimum": "bound",
        }
        for name, size in groups
    ]
    return {"runs": runs, "latency": latency, "histogram": histogram, "series": series, "growth": growth}


@pytest.fixture
def everything(tmp_path: Path) -> list[Path]:
    audit = write(tmp_path / "audit", verdicts=verdict_rows("violated"), violations=violation_rows())
    told = {"events_read": 50, "events_judged": 48, "events_refused": 2, "refused_because": {"torn": 2}}
    (audit / "summary.json").write_text(json.dumps(told))
    return [
        write(tmp_path / "sweep", sweep=sweep_rows()),
        audit,
        write(tmp_path / "metrics", **metric_tables()),
    ]


def heading(text: str) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", text)
    assert found
    return found[1]


def test_the_headline_is_the_verdict_in_one_sentence(tmp_path: Path) -> None:
    kept = write(tmp_path / "kept", verdicts=verdict_rows("kept")[:2])
    assert heading(page(read_findings([kept]))) == "Kept: all that was required of 1 run was kept."
    unknown = write(tmp_path / "unknown", verdicts=verdict_rows("unknown", "it was cut")[:2])
    text = page(read_findings([unknown]))
    assert heading(text) == "Undecided: nothing was violated, but of 1 of 1 run too little is known."
    assert "Unknown: it was cut" in text
    violated = write(
        tmp_path / "violated", verdicts=verdict_rows("violated")[:2], violations=violation_rows()
    )
    assert heading(page(read_findings([violated]))) == "Violated: 1 of 1 run broke what was required: causal."
    judged = [{**row, "verdict": "kept"} if row["state"] == "done" else row for row in sweep_rows()]
    swept = write(tmp_path / "swept", sweep=judged)
    assert (
        heading(page(read_findings([swept])))
        == "Kept: all that was required of 1 run was kept. 1 scenario failed."
    )
    bare = write(tmp_path / "bare", sweep=sweep_rows()[:1])
    assert heading(page(read_findings([bare]))) == "Not judged: there is no verdict on these runs."


def test_everything_is_on_the_page_in_words_a_person_can_check(everything: list[Path]) -> None:
    text = page(read_findings(everything))
    assert heading(text) == (
        "Violated: 1 of 1 run broke what was required: causal. 1 scenario failed. "
        "Not promised, and not kept: stability in 1 run."
    )
    for words in (
        "p4#7 &lt;first&gt; only at position 18.",
        "aforesaid simulate failed/pak-n4-s1.json",
        "50 events read = 48 judged + 2 refused; 2 torn.",
        "1 of 2; 1 failed",
        "half within 20 ms",
        "n^2.00",
        "Made by aforesaid",
    ):
        assert words in text, words
    assert "What this page lacks" not in text
    # Of latency and of what is held a figure for each of two sizes; growth is of both.
    assert text.count("<svg") == 5


def test_what_was_not_promised_and_not_kept_is_as_loud_as_the_rest(tmp_path: Path) -> None:
    """It counts for no verdict, and stands in the headline and in the matrix all the same."""
    rows = [
        {
            "run": f"reliable-s{seed}",
            "property": name,
            "value": value,
            "violations": 1,
            "required": name == "fifo",
        }
        for seed, causal in enumerate(("violated", "violated", "kept"))
        for name, value in (("fifo", "kept"), ("causal", causal))
    ]
    sweep = [{**SWEPT, "run": f"reliable-s{seed}", "algorithm": "reliable"} for seed in range(3)]
    told = {"run": "reliable-s0", "property": "causal", "required": False, "rank": 1, "sentence": SENTENCE}
    audit = write(
        tmp_path / "audit", verdicts=[{**row, "note": ""} for row in rows], violations=[told], sweep=sweep
    )
    text = page(read_findings([audit]))
    assert heading(text) == (
        "Kept: all that was required of 3 runs was kept. Not promised, and not kept: causal in 2 runs."
    )
    cells = re.findall(r"<td>(.*?)</td>", text)
    # What was broken comes first.
    matrix = cells[cells.index("causal") :][:4]
    assert [re.sub("<[^>]*>", "", cell) for cell in matrix] == [
        "causal",
        "\u2717\u00a0not promised, not kept 2 of 3",
        "fifo",
        "\u2713\u00a0kept 3 of 3",
    ]
    assert 'class="badge violated"' in matrix[1]
    assert "causal (not promised): p0 delivered" in text
    # Of many algorithms each has a row.
    many = [{**row, "run": f"{row['run']}{number}", "note": ""} for number in range(5) for row in rows[:2]]
    text = page(read_findings([write(tmp_path / "many", verdicts=many)]))
    assert '<th scope="col">algorithm</th><th scope="col">causal</th>' in text


def test_a_sweep_that_judged_its_runs_tells_what_was_not_promised_and_not_kept(tmp_path: Path) -> None:
    rows = [
        {
            **SWEPT,
            "run": f"reliable-s{seed}",
            "algorithm": "reliable",
            "verdict": "kept",
            "unpromised": broken,
        }
        for seed, broken in enumerate(("fifo, causal", "causal", None))
    ]
    rows.append({**rows[2], "run": "waiting-s0", "algorithm": "waiting"})
    swept = write(tmp_path / "sweep", sweep=rows)
    text = page(read_findings([swept]))
    assert heading(text) == (
        "Kept: all that was required of 4 runs was kept. "
        "Not promised, and not kept: causal in 2 runs, fifo in 1 run."
    )
    cells = [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", text)]
    told = ["\u2717\u00a0causal in 2, fifo in 1", "3", "0", "0"]
    assert cells == ["reliable", "\u2713\u00a0kept", *told, "waiting", "\u2713\u00a0kept", "", "1", "0", "0"]
    # An audit of one of the runs does not hide what the sweep found of the others.
    verdicts = [{**row, "run": "waiting-s0"} for row in verdict_rows("violated")[:2]]
    both = page(read_findings([swept, write(tmp_path / "audit", verdicts=verdicts)]))
    assert heading(both) == (
        "Violated: 1 of 4 runs broke what was required: causal. "
        "Not promised, and not kept: causal in 2 runs, fifo in 1 run."
    )


def test_every_group_size_and_setting_has_its_figures(tmp_path: Path) -> None:
    tables = metric_tables()
    for name in ("latency", "histogram", "series", "growth", "runs"):
        tables[name] = [
            {**row, "setting": setting} for row in tables[name] for setting in ("loss=0", "loss=0.1")
        ]
    outline = Outline()
    outline.feed(page(read_findings([write(tmp_path / "metrics", **tables)])))
    beginnings = [words.partition(":")[0].partition(". ")[0] for words in outline.described]
    assert beginnings == [
        "Share of deliveries made within a time, 8 processes",
        "Share of deliveries made within a time, 4 processes",
        *(f"Over time, {size} processes, loss={loss}" for size in (8, 4) for loss in ("0.1", "0")),
        "Against the number of processes",
        "Against the number of processes",
    ]


def test_the_first_violation_of_a_run_is_drawn(tmp_path: Path) -> None:
    scenario = {"algorithm": "reliable", "processes": 3, "workload": [{"kind": "rate", "per_second": 40}]}
    with ParquetSink(tmp_path, "r") as sink:
        simulate_into(sink, Scenario.of(scenario), "r")
    found = read_findings([tmp_path / "run=r"])
    text = page(found)
    assert text.count("<svg") == 1
    assert "The first violation of fifo, which was not promised: p" in text
    # Whoever draws a violation has judged, and says so at the top.
    assert heading(text) == (
        "Kept: all that was required of 1 run was kept. "
        "Not promised, and not kept: causal in 1 run, fifo in 1 run."
    )
    assert "What each algorithm promised and kept" in text
    assert f"<code>aforesaid view {tmp_path / 'run=r'}</code>" in text
    # With the explorer's page links lead into it.
    first = found.reports["r"].verdicts["fifo"].witnesses[0]
    found.explorer = "a page.html"
    link = (
        f'<a href="a%20page.html#run=r&amp;m={first.message.replace("#", "%23")}">Explore {first.message}</a>'
    )
    assert page(found).count(link) >= 2
    assert '<a href="a%20page.html#run=r">Explore this run</a>' in page(found)
    assert "<dt>seed</dt><dd>1</dd>" in text
    assert "&quot;algorithm&quot;:&quot;reliable&quot;" in text
    assert re.search(r"of \d{4}-\d\d-\d\d\.</p>", text)


def test_the_page_is_the_same_each_time(everything: list[Path]) -> None:
    assert page(read_findings(everything)) == page(read_findings(everything))


def test_the_page_needs_nothing_from_elsewhere_and_shows_figures_in_its_own_colours(
    everything: list[Path],
) -> None:
    text = page(read_findings(everything))
    urls = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert urls <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert not re.search(r"<(script|link|img|iframe)\b", text)
    assert "var(--line1)" in text
    assert "currentColor" in text
    assert not re.search(r"#[ab]0000\d|#a1000\d", text), "a placeholder colour is left"
    assert len(text) < 200_000


class Outline(HTMLParser):
    """Checks that tags are balanced, and gathers what figures say."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.described: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if attributes.get("role") == "img":
            self.described.append(attributes.get("aria-label") or "")
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """It needs no end."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_well_formed_and_every_figure_is_described(everything: list[Path]) -> None:
    outline = Outline()
    outline.feed(page(read_findings(everything)))
    assert outline.open == []
    assert len(outline.described) == 5
    assert all(len(words) > 20 for words in outline.described)


def test_what_is_missing_is_said_with_the_command_that_makes_it(tmp_path: Path) -> None:
    text = page(read_findings([write(tmp_path / "sweep", sweep=sweep_rows())]))
    assert "aforesaid audit TRACES --out DIR" in text
    assert "aforesaid metrics TRACES --out DIR" in text
    tables = metric_tables()
    del tables["series"]
    text = page(read_findings([write(tmp_path / "metrics", **tables)]))
    assert "the runs were not sampled" in text


def run_of_nodes(root: Path, clock: str) -> Path:
    with ParquetSink(root, "nodes") as sink:
        tracer = Tracer(sink)
        alice, bob = (tracer.began(name, 0, 0) for name in ("alice", "bob"))
        for number in range(1, 4):
            tracer.sent(alice, MessageId("alice", 0, number), number)
            tracer.delivered(alice, MessageId("alice", 0, number), number)
        tracer.delivered(bob, MessageId("alice", 0, 1), 9)
        tracer.ended(bob, "evicted", 10, complete=False)
        tracer.close(Run(run="nodes", algorithm="waiting", clock=clock))
    return root / "run=nodes"


def test_a_run_is_told_with_who_took_part_and_what_was_done(tmp_path: Path) -> None:
    audit = write(tmp_path / "audit", verdicts=verdict_rows("kept"))
    found = read_findings([audit, run_of_nodes(tmp_path / "local", "local")])
    found.note = "bob is killed <-9>\n\nalice goes on\n"
    text = page(found)
    assert "<li>bob is killed &lt;-9&gt;</li>\n<li>alice goes on</li>" in text
    assert "3 said, 4 deliveries" in text
    rows = [re.findall("<td[^>]*>(.*?)</td>", line) for line in text.splitlines()]
    assert ["alice", "alive", "3", "3"] in rows
    assert ["bob", "evicted, its log torn off", "0", "1"] in rows
    assert "order needs no clock" in text
    # Latency cannot be had between clocks of their own: the page does not ask for it.
    assert "What this page lacks" not in text
    text = page(read_findings([audit, run_of_nodes(tmp_path / "global", "global")]))
    assert "aforesaid metrics TRACES --out DIR" in text


def test_many_algorithms_and_rows_do_not_break_it(tmp_path: Path) -> None:
    tables = metric_tables()
    for name in ("latency", "histogram", "series", "growth", "runs"):
        tables[name] = [
            {**row, "algorithm": f"{row['algorithm']}{number}"}
            for row in tables[name]
            for number in range(12)
        ]
    text = page(read_findings([write(tmp_path / "many", **tables)]))
    assert "... and 8 more" in text
    assert "Figures show 8 algorithms and leave out pak6" in text


def test_words_of_others_are_never_html(tmp_path: Path) -> None:
    tables = metric_tables()
    evil = "<script>alert(1)</script>"
    for name, rows in tables.items():
        tables[name] = [{**row, "algorithm": evil, "setting": f"{evil}=1"} for row in rows]
    rows = [{**row, "property": evil, "run": evil} for row in verdict_rows("violated")]
    found = read_findings([write(tmp_path / "audit", verdicts=rows), write(tmp_path / "metrics", **tables)])
    assert "<script" not in page(found)


def test_bad_input_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "sweep.parquet").write_bytes(b"PAR1")
    twice = write(tmp_path / "twice", sweep=sweep_rows())
    for directories, says in (
        ([tmp_path / "missing"], "missing does not exist"),
        ([tmp_path / "empty"], "empty has no tables of sweep, audit or metrics"),
        ([tmp_path / "torn"], r"cannot read .*sweep.parquet"),
        ([twice, twice], "has a table sweep, and so has a directory before it"),
    ):
        with pytest.raises(Misuse, match=says) as error:
            read_findings(directories)
        assert "\n" not in str(error.value)


def test_a_figure_has_its_panels_and_no_empty_ones() -> None:
    line = [(4.0, 1.0, 1.0, 1.0), (8.0, 2.0, 2.0, 2.0)]
    panels = [Panel(f"panel {number}", {"waiting": line}) for number in range(4)]
    text = growth_figure(panels, ["waiting"])
    assert re.findall(r">(panel \d)<", text) == [panel.title for panel in panels]
    assert text.count(">processes<") == 4
    assert ">0.2<" not in text, "an empty panel shows its own scale"
