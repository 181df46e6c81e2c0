"""Keys in files: for the owner only, never overwritten, and read with care."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from aforesaid.core import Misuse
from aforesaid.security.keyfiles import (
    load_authority,
    load_cluster_key,
    load_credentials,
    write_authority,
    write_cluster_key,
    write_nodes,
)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_secrets_are_for_the_owner_only(tmp_path: Path) -> None:
    paths = [*write_authority(tmp_path / "keys"), *write_nodes(tmp_path / "keys", ["alice"])]
    write_cluster_key(tmp_path / "cluster.key")
    assert [path.name for path in paths] == ["authority.pem", "authority.key", "alice.pem", "alice.key"]
    for path in (*paths, tmp_path / "cluster.key"):
        assert mode(path) == (0o644 if path.suffix == ".pem" else 0o600)
        assert (b"PRIVATE" in path.read_bytes()) == (path.parent.name == "keys" and path.suffix == ".key")


def test_the_name_is_in_the_certificate(tmp_path: Path) -> None:
    write_authority(tmp_path)
    write_nodes(tmp_path, ["alice"], days=30)
    certificate = x509.load_pem_x509_certificate((tmp_path / "alice.pem").read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == ["aforesaid:alice"]
    certificate.verify_directly_issued_by(load_authority(tmp_path).certificate)
    assert 30 <= (certificate.not_valid_after_utc - certificate.not_valid_before_utc).days <= 31


def test_nothing_is_overwritten_and_nothing_half_done(tmp_path: Path) -> None:
    write_authority(tmp_path)
    write_nodes(tmp_path, ["bob"])
    write_cluster_key(tmp_path / "cluster.key")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(Misuse, match="exists"):
        write_authority(tmp_path)
    with pytest.raises(Misuse, match=r"bob\.pem exists"):
        write_nodes(tmp_path, ["alice", "bob"])
    with pytest.raises(Misuse, match="exists"):
        write_cluster_key(tmp_path / "cluster.key")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_cluster_key_is_read_as_it_was_written(tmp_path: Path) -> None:
    key = write_cluster_key(tmp_path / "cluster.key")
    assert load_cluster_key(tmp_path / "cluster.key") == key
    assert len(key.secret) == 32
    assert write_cluster_key(tmp_path / "other.key").id != key.id


def test_secrets_do_not_show_when_printed(tmp_path: Path) -> None:
    write_authority(tmp_path)
    write_nodes(tmp_path, ["alice"])
    key = write_cluster_key(tmp_path / "cluster.key")
    assert repr(key) == "ClusterKey()"
    assert "PRIVATE" not in repr(load_credentials(tmp_path, "alice"))
    assert "PRIVATE" not in repr(load_authority(tmp_path))


@pytest.mark.parametrize("name", ["", "../x", "a/b", "-x", ".x", "a b", "x" * 65, "authority"])
def test_names_that_are_no_names_of_files_are_a_misuse(tmp_path: Path, name: str) -> None:
    write_authority(tmp_path)
    with pytest.raises(Misuse):
        write_nodes(tmp_path, [name])


@pytest.mark.parametrize(
    "text", ["", "text", "aforesaid-cluster-key-1:", "aforesaid-cluster-key-1:AAAA", "\xff"]
)
def test_a_file_that_is_no_cluster_key_is_a_misuse(tmp_path: Path, text: str) -> None:
    path = tmp_path / "cluster.key"
    path.touch(0o600)
    path.write_text(text)
    with pytest.raises(Misuse, match="no cluster key"):
        load_cluster_key(path)


def test_a_secret_that_others_can_read_is_a_misuse(tmp_path: Path) -> None:
    write_authority(tmp_path)
    write_nodes(tmp_path, ["alice"])
    write_cluster_key(tmp_path / "cluster.key")
    for secret in ("authority.key", "alice.key", "cluster.key"):
        (tmp_path / secret).chmod(0o640)
    for load in (
        lambda: load_authority(tmp_path),
        lambda: load_credentials(tmp_path, "alice"),
        lambda: load_cluster_key(tmp_path / "cluster.key"),
    ):
        with pytest.raises(Misuse, match="chmod 600"):
            load()


def test_files_that_are_missing_or_wrong_are_a_misuse(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="aforesaid keys authority"):
        write_nodes(tmp_path, ["alice"])
    write_authority(tmp_path)
    with pytest.raises(Misuse, match="cannot read"):
        load_credentials(tmp_path, "alice")
    write_authority(tmp_path / "other")
    (tmp_path / "authority.key").write_bytes((tmp_path / "other" / "authority.key").read_bytes())
    with pytest.raises(Misuse, match="is not the key of"):
        load_authority(tmp_path)
    (tmp_path / "authority.key").write_bytes(b"rubbish")
    with pytest.raises(Misuse, match="is not the key of"):
        load_authority(tmp_path)
    (tmp_path / "authority.pem").write_bytes(b"rubbish")
    with pytest.raises(Misuse, match="no certificate"):
        load_authority(tmp_path)
    with pytest.raises(Misuse, match="cannot make the directory"):
        write_authority(tmp_path / "authority.pem" / "x")


def test_a_certificate_that_others_would_turn_away_is_a_misuse(tmp_path: Path) -> None:
    write_authority(tmp_path)
    write_nodes(tmp_path, ["alice", "bob"])
    now = datetime.now(UTC)
    assert load_credentials(tmp_path, "alice").name == "alice"
    with pytest.raises(Misuse, match=r"alice\.pem expired on .*make new ones"):
        load_credentials(tmp_path, "alice", now + timedelta(days=900))
    with pytest.raises(Misuse, match=r"alice\.pem is valid from .*clock"):
        load_credentials(tmp_path, "alice", now - timedelta(days=1))
    for suffix in ("pem", "key"):
        (tmp_path / f"zoe.{suffix}").write_bytes((tmp_path / f"bob.{suffix}").read_bytes())
    with pytest.raises(Misuse, match=r"zoe\.pem is not for zoe but for bob"):
        load_credentials(tmp_path, "zoe")
    own = (tmp_path / "alice.key").read_bytes()
    (tmp_path / "alice.key").write_bytes((tmp_path / "bob.key").read_bytes())
    with pytest.raises(Misuse, match=r"alice\.key is not the key of .*alice\.pem"):
        load_credentials(tmp_path, "alice")
    (tmp_path / "alice.key").write_bytes(own)
    write_authority(tmp_path / "other")
    ours = (tmp_path / "authority.pem").read_bytes()
    other = (tmp_path / "other/authority.pem").read_bytes()
    (tmp_path / "authority.pem").write_bytes(other)
    with pytest.raises(Misuse, match=r"alice\.pem is not signed by .*authority\.pem"):
        load_credentials(tmp_path, "alice")
    (tmp_path / "authority.pem").write_bytes(other + ours)
    assert load_credentials(tmp_path, "alice").authorities == other + ours, "while an authority is replaced"
