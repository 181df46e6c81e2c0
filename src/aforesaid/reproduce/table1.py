"""The PRC-broadcast paper's Table 1 as text: its terms beside measured figures."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from aforesaid.reproduce.asking import Asked
from aforesaid.reproduce.costs import SIZES, TERMS, Row, best_case, measure
from aforesaid.reproduce.telling import Rows, Telling


def table_1(asked: Asked, telling: Telling) -> Rows:
    """Measure, and write the table as text; the rows are for the CSV."""
    sizes = asked.processes or SIZES
    rows = []
    with telling("table 1", len(TERMS) * len(sizes)) as move:
        for name in TERMS:
            for n in sizes:
                move(note=f"{name}, {n} processes")
                rows.append(measure(name, n))
                move(completed=len(rows))
    (asked.out / "table1.txt").write_text("\n".join(lines(rows)) + "\n")
    return [asdict(row) for row in rows]


def lines(rows: Sequence[Row]) -> Iterator[str]:
    yield f"{'':20}{'overhead':>12}{'lines per receipt':>24}{'entries of a process':>24}{'control/link':>22}"
    heads = "".join(f"{head:>12}" for head in ("bytes", "first", "later", "speaking", "at rest", "mediated"))
    yield f"{'':12}{'n':>8}{heads}{'flooded':>10}"
    for name, (overhead, delivery, space, control) in TERMS.items():
        yield f"{name:12}{'paper':>8}{overhead:>12}{delivery:>24}{space:>24}{control:>22}"
        for row in rows:
            if row.algorithm == name:
                yield _line(row)
    best = ", ".join(f"{name} {count}" for name, count in best_case().items())
    yield f"The paper's best case, a ring of three one-way links: {best} messages"


def _line(row: Row) -> str:
    mediated, flooded = (
        "-" if cost is None else str(cost) for cost in (row.control_mediated, row.control_flooded)
    )
    return (
        f"{'':12}{row.processes:8}{row.overhead_bytes:12.0f}{row.lines_first:12.0f}{row.lines_later:12.0f}"
        f"{row.entries_speaking:12.1f}{row.entries_at_rest:12.1f}{mediated:>12}{flooded:>10}"
    )
