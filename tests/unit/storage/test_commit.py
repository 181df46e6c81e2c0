"""Directories that appear complete, or not at all."""

import pytest

from aforesaid.core import Misuse
from aforesaid.storage import Draft, Place, appearing, listing

MARK = "mark"


def put(there: Place, mark: str, overwrite: bool = False, **files: str) -> None:
    with appearing(there, MARK, overwrite) as directory:
        (directory / MARK).write_text(mark)
        for name, content in files.items():
            (directory / name).write_text(content)


def found(there: Place) -> dict[str, str]:
    return {name: (there / name).read_text() for name in listing(there)} if there.is_dir() else {}


def test_it_appears_when_it_is_complete(somewhere: Place) -> None:
    there = somewhere / "results"
    draft = Draft(there, MARK)
    (draft.directory / "part").write_text("1")
    assert found(there) == {}
    draft.discard()
    assert found(there) == {}
    put(there, "one", part="1")
    assert found(there) == {MARK: "one", "part": "1"}
    assert [place.name for place in somewhere.iterdir()] == ["results"]


def test_what_is_there_is_left_alone_unless_it_is_to_be_replaced(somewhere: Place) -> None:
    there = somewhere / "results"
    put(there, "one", part="1", other="2")
    with pytest.raises(Misuse, match="exists; choose another --out or pass --force"):
        put(there, "two")
    put(there, "two", overwrite=True, part="3")
    assert found(there) == {MARK: "two", "part": "3"}
    assert [place.name for place in somewhere.iterdir()] == ["results"]


def test_what_is_damaged_is_replaced_by_the_same(somewhere: Place) -> None:
    """Its mark is whole, and says nothing of the rest."""
    there = somewhere / "results"
    put(there, "one", part="whole")
    (there / "part").write_text("w")
    put(there, "one", overwrite=True, part="whole")
    assert found(there) == {MARK: "one", "part": "whole"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_two_attempts_at_once_make_one(somewhere: Place, overwrite: bool) -> None:
    there = somewhere / "results"
    if overwrite:
        put(there, "old", part="0")
    drafts = [Draft(there, MARK, overwrite) for _ in range(2)]
    for draft in drafts:
        (draft.directory / MARK).write_text("one")
        (draft.directory / "part").write_text("1")
    for draft in drafts:
        draft.publish()
        draft.discard()
    assert found(there) == {MARK: "one", "part": "1"}
    assert [place.name for place in somewhere.iterdir()] == ["results"]


def test_two_that_differ_are_not_mixed(somewhere: Place) -> None:
    there = somewhere / "results"
    late = Draft(there, MARK)
    (late.directory / MARK).write_text("two")
    put(there, "one", part="1")
    with pytest.raises(Misuse, match="exists"):
        late.publish()
    late.discard()
    assert found(there) == {MARK: "one", "part": "1"}
