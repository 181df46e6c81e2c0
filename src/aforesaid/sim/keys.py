"""Keys of a scenario as people write them: `network.loss`, `workload[0].per_second`, into plain data."""

import re
import tomllib
from typing import Any

from aforesaid.core import Misuse


def put(data: dict[str, Any], key: str, value: Any, where: str) -> None:
    """Set what a key names; tables on the way are made, items of lists must be there. Errors say `where`."""
    if not re.fullmatch(r"\w+(\[\d+\])*(\.\w+(\[\d+\])*)*", key):
        raise Misuse(f"{where}: a key looks like network.loss or workload[0].per_second")
    *parents, last = [int(name) if name.isdecimal() else name for name in re.findall(r"\w+", key)]
    table: Any = data
    for name in parents:
        if isinstance(name, str) and isinstance(table, dict):
            table = table.setdefault(name, {})
        else:
            table = _item(table, name, where)
    if isinstance(table, list):
        _item(table, last, where)
    elif not isinstance(table, dict):
        raise Misuse(f"{where}: the scenario has no table there")
    table[last] = value


def _item(table: Any, name: int | str, where: str) -> Any:
    if not isinstance(table, list) or not isinstance(name, int) or name >= len(table):
        raise Misuse(f"{where}: the scenario has no item {name} there")
    return table[name]


def setting(text: str) -> tuple[str, Any]:
    """`network.loss=0.1`: a key of the scenario and a value as in TOML, or text."""
    key, equals, value = text.partition("=")
    if not equals:
        raise Misuse(f"--set {text}: write KEY=VALUE, as in --set network.loss=0.1")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value
