"""A conformance kit for algorithms: `conforms(ENTRY)` runs it through everything that its entry claims.

    from mine import ENTRY
    from aforesaid.testing import conforms

    def test_mine_conforms():
        conforms(ENTRY)

`parts(ENTRY)` gives the same in parts, for `pytest.mark.parametrize`. A failure is `NonConforming`, and its
text has the seed and the command that shows it again.
"""

from aforesaid.testing.conformance import NonConforming, Part, conforms, parts

__all__ = ["NonConforming", "Part", "conforms", "parts"]
