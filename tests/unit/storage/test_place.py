"""Places: what works in a directory works in a bucket."""

import pickle

import pytest

from aforesaid.core import Misuse
from aforesaid.storage import Place, Remote, place, remove_tree, total_size
from support.s3 import Bucket


def test_files_and_directories_are_the_same_everywhere(somewhere: Place) -> None:
    inside = somewhere / "one" / "two"
    inside.mkdir(parents=True)
    (inside / "file").write_text("text")
    assert (inside / "file").read_bytes() == b"text"
    with (inside / "file").open("rb") as file:
        file.seek(2)
        assert file.read() == b"xt"
    assert [child.name for child in inside.iterdir()] == ["file"]
    assert (inside / "file").is_file()
    assert inside.is_dir()
    assert not (inside / "other").exists()
    assert total_size(somewhere) == total_size(inside / "file") == 4
    (inside / "file").unlink()
    (inside / "file").unlink(missing_ok=True)
    with pytest.raises(FileNotFoundError):
        (inside / "file").read_bytes()
    remove_tree(somewhere / "one")
    assert not inside.exists()


def test_a_place_travels_with_its_credentials(bucket: Bucket) -> None:
    (bucket.place / "file").write_text("text")
    there: Remote = pickle.loads(pickle.dumps(bucket.place / "file"))
    assert there.read_text() == "text"
    assert {bucket.place / "file": "found"}[there] == "found"
    assert str(there) == f"{bucket.uri}/file"


def test_a_file_uri_is_a_path(tmp_path: Place) -> None:
    assert place(f"file://{tmp_path}/a%20b") == tmp_path / "a b"
    assert place(tmp_path) == tmp_path
    with pytest.raises(Misuse, match="names the machine host"):
        place("file://host/path")


def test_a_store_that_nobody_knows_is_told() -> None:
    with pytest.raises(Misuse, match=r"ftp://host/x: aforesaid cannot read ftp:// by itself"):
        place("ftp://host/x")
