"""An effects sink that notes what it is asked for, and asks another one, if there is one."""

from typing import Any


class Noting:
    """Choices are not noted: whoever is told again does not ask for them."""

    def __init__(self, host: Any = None) -> None:
        self.host = host
        self.noted: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        def effect(*arguments: Any) -> Any:
            if name != "choose":
                self.noted.append((name, *arguments))
            return None if self.host is None else getattr(self.host, name)(*arguments)

        return effect
