"""A conformance kit for algorithms: `conforms(ENTRY)` runs it through everything that its entry claims.

    from mine import ENTRY
    from aforesaid.testing import conforms

    def test_mine_conforms():
        conforms(ENTRY)

`parts(ENTRY)` gives the same in parts, for `pytest.mark.parametrize`. A failure is `NonConforming`, and its
text has the seed and the command that shows it again.

For tests of applications: `aforesaid.testing.nodes`, a pytest fixture. It does not import the kit, nor does
anybody before one of these names is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aforesaid.testing.conformance import NonConforming, Part, conforms, parts

__all__ = ["NonConforming", "Part", "conforms", "parts"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("aforesaid.testing.conformance"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
