"""`import aforesaid` offers what its users need, and imports none of it before it is asked for."""

import subprocess
import sys

import pytest

import aforesaid
import aforesaid.node
import aforesaid.pipeline

HEAVY = (
    "numpy",
    "pyarrow",
    "msgspec",
    "typer",
    "rich",
    "cryptography",
    "uvloop",
    "numba",
    "pyspark",
    "matplotlib",
)


def fresh(code: str) -> str:
    """What a Python program prints that has imported nothing else."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_everything_offered_is_there_and_listed() -> None:
    assert {"Closed", "Config", "Message", "Node", "Queues", "Receipt", "Security"} < set(aforesaid.__all__)
    assert set(aforesaid.__all__) <= set(dir(aforesaid))
    for name in aforesaid.__all__:
        assert getattr(aforesaid, name) is not None
    assert set(aforesaid.node.__all__) <= set(aforesaid.__all__)
    assert aforesaid.Security is aforesaid.node.Security


def test_what_is_not_offered_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="module 'aforesaid' has no attribute 'Nod'"):
        aforesaid.Nod  # noqa: B018


def test_the_import_is_light() -> None:
    """Nothing beside the standard library, no event loop, and none of our rooms but core."""
    loaded = fresh("import sys, aforesaid; dir(aforesaid); print(*sys.modules)").split()
    assert set(loaded).isdisjoint({*HEAVY, "asyncio", "socket", "ssl", "threading"})
    assert {name.split(".")[1] for name in loaded if name.startswith("aforesaid.")} == {"core"}


def test_names_are_imported_on_first_use() -> None:
    code = "import sys, aforesaid; aforesaid.Closed; print('aforesaid.node' in sys.modules)"
    assert fresh(code) == "True\n"


@pytest.mark.parametrize("command", ["--version", "algorithms"])
def test_python_m_aforesaid_is_the_command_line(command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "aforesaid", command], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert ("\nstate format " if command == "--version" else "hybrid_sps") in done.stdout


def test_the_pipeline_offers_its_functions_and_imports_no_spark_before() -> None:
    code = "import sys, aforesaid.pipeline as rooms; print('pyspark' in sys.modules, *dir(rooms))"
    spark, *offered = fresh(code).split()
    assert spark == "False"
    assert {"AuditOptions", "SparkOptions", "audit", "metrics", "spark_session", "sweep"} <= set(offered)
    assert all(callable(getattr(aforesaid.pipeline, name)) for name in aforesaid.pipeline.__all__)
    with pytest.raises(AttributeError, match=r"module 'aforesaid\.pipeline' has no attribute 'audits'"):
        _ = aforesaid.pipeline.audits
