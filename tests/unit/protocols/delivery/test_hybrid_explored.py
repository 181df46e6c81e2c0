"""Every schedule of small scripts, the judge watching: 3 processes, up to 4 messages, any network order."""

import pytest

from oracle.campaign import VARIANTS
from oracle.exhaust import Script, explore

UNICASTS: tuple[Script, ...] = (
    (((1,), (2,)), ((2,),), ()),
    (((1,), (2,)), ((2,),), ((1,),)),
    (((1,), (1,)), ((2,),), ((0,),)),
    (((0,), (1,)), ((0,), (2,)), ()),
)
MULTICASTS: tuple[Script, ...] = (
    (((1, 2),), ((2,),), ()),
    (((1, 2),), ((2,),), ((1,),)),
    (((1, 2),), ((0, 2),), ()),
    (((), (1, 0)), ((2, 0),), ()),
)


@pytest.mark.parametrize("script", range(4))
@pytest.mark.parametrize("name", ["basic", "sps", "multicast", "multicast_sps"])
def test_every_schedule(name: str, script: int) -> None:
    build, optimal, multicast = VARIANTS[name]
    assert explore(build, optimal, (MULTICASTS if multicast else UNICASTS)[script]) > 100
