"""Records of a trace segment: up to the first one that is torn, or that a loss of power left as zeros."""

from aforesaid.wire.segments import record_of, whole_records


def test_zeros_are_no_records() -> None:
    """A length of nothing and a checksum of nothing go together."""
    record = record_of([("p", "bob", 1)])
    assert [end for end, _ in whole_records(record + bytes(64))] == [len(record)]
    assert [end for end, _ in whole_records(record + record)] == [len(record), 2 * len(record)]
    assert [end for end, _ in whole_records(record + record[:-1])] == [len(record)]
