"""`aforesaid keys` as its users meet it."""

from pathlib import Path

import pytest

from aforesaid.security.keyfiles import load_cluster_key, load_credentials
from support.commands import Run, command


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `aforesaid keys ARGUMENTS` in an empty directory; gives the exit code and what was printed."""
    monkeypatch.chdir(tmp_path)

    return command(monkeypatch, capsys, "keys")


def test_an_authority_and_its_nodes(keys: Run) -> None:
    code, out, _ = keys("authority", "k")
    assert (code, out.splitlines()) == (
        0,
        ["wrote k/authority.pem (not secret)", "wrote k/authority.key (secret)"],
    )
    code, out, _ = keys("node", "k", "alice", "bob", "alice")
    assert (code, len(out.splitlines())) == (0, 4)
    assert load_credentials(Path("k"), "bob").name == "bob"


def test_a_cluster_key(keys: Run) -> None:
    code, out, _ = keys("cluster", "c.key")
    assert (code, load_cluster_key(Path("c.key")).id.hex() in out) == (0, True)


def test_misuse_is_one_line_and_exit_code_2(keys: Run) -> None:
    keys("authority", "k")
    keys("cluster", "c.key")
    for arguments, says in (
        (("authority", "k"), "never overwritten"),
        (("cluster", "c.key"), "never overwritten"),
        (("node", "k", "../evil"), "letters, digits"),
        (("node", "nowhere", "alice"), "aforesaid keys authority nowhere"),
        (("cluster", "nowhere/c.key"), "cannot write"),
    ):
        code, out, err = keys(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert says in err


def test_help_teaches(keys: Run) -> None:
    code, out, _ = keys("--help")
    assert code == 0
    for word in ("authority", "node", "cluster", "aforesaid keys node keys alice bob carol"):
        assert word in out
