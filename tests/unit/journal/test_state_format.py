"""Snapshots of one state format are all of one shape, or a node would come back as something else."""

from aforesaid.core.version import STATE_FORMAT
from vectors.make_state import PLACE, lines


def changed(before: list[str], now: list[str]) -> str:
    """In one line what to do; nothing: they are the same."""
    differ = [line for line in before if line not in now] + [line for line in now if line not in before]
    if not differ:
        return ""
    what = ", ".join(dict.fromkeys(line.split(" ")[0] for line in differ))
    return (
        f"snapshots of nodes have another shape ({what}): add one to STATE_FORMAT in core/version.py, unless "
        "that was done since the last release, say so in CHANGELOG.md, and run tests/vectors/make_state.py"
    )


def test_what_snapshots_hold_has_the_shape_of_its_state_format() -> None:
    recorded = PLACE.read_text().splitlines()
    assert recorded[0] == f"state format {STATE_FORMAT}", "run tests/vectors/make_state.py"
    told = changed(recorded, lines())
    assert not told, told


def test_a_changed_class_is_named() -> None:
    recorded = PLACE.read_text().splitlines()
    (place,) = (number for number, line in enumerate(recorded) if ".repair.Tally(" in line)
    other = [*recorded[:place], f"{recorded[place]}; more", *recorded[place + 1 :]]
    assert "another shape (aforesaid.protocols.repair.Tally())" in changed(recorded, other)
    assert not changed(recorded, recorded)
