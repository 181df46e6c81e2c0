"""Chance: right distributions, and the same numbers on every machine."""

from statistics import NormalDist, fmean, pstdev

from aforesaid.sim.chance import QUANTILES, Chance, lognormal_quantiles


def test_the_stream_is_the_same_everywhere() -> None:
    assert [Chance(1, "a").below(10**9), Chance(1, "b").below(10**9)] == [GOLDEN_A, GOLDEN_B]


GOLDEN_A, GOLDEN_B = 974688288, 906677925


def test_exponential_has_the_right_mean_spread_and_tail() -> None:
    chance = Chance(1, "test")
    drawn = [chance.exponential(1_000_000) for _ in range(100_000)]
    assert abs(fmean(drawn) / 1e6 - 1) < 0.02
    assert abs(pstdev(drawn) / 1e6 - 1) < 0.02
    beyond_three_means = sum(value > 3_000_000 for value in drawn) / len(drawn)
    assert abs(beyond_three_means - 0.0498) < 0.003


def test_between_reaches_both_ends_and_nothing_else() -> None:
    chance = Chance(2, "test")
    assert {chance.between(3, 5) for _ in range(200)} == {3, 4, 5}


def test_lognormal_quantiles_rise_around_the_median() -> None:
    table = lognormal_quantiles(10_000_000, 0.5)
    assert len(table) == QUANTILES
    assert list(table) == sorted(table)
    assert abs(table[QUANTILES // 2] / 1e7 - 1) < 0.001
    assert abs(fmean(table) / 1e7 - 1.1331) < 0.005  # exp(sigma^2 / 2)


def test_no_quantile_stands_so_near_a_rounding_edge_that_another_machine_could_round_it_otherwise() -> None:
    # The C library's logarithm may differ in the last bit (1e-16); rounding to 1e-9 hides that unless the
    # tenth digit and those after it are within 1e-12 of a tie. No entry is.
    for share in range(QUANTILES):
        z = NormalDist().inv_cdf((share + 0.5) / QUANTILES)
        scaled = abs(z) * 1e9
        assert abs(scaled - int(scaled) - 0.5) > 1e-5, share


def test_some_are_different_ones_each_as_likely() -> None:
    chance = Chance(1, "test")
    drawn = [chance.some("abcde", 2) for _ in range(5_000)]
    assert all(len(set(pair)) == 2 for pair in drawn)
    counts = [sum(letter in pair for pair in drawn) for letter in "abcde"]
    assert 1_850 < min(counts) <= max(counts) < 2_150
    assert sorted(chance.some("abc", 9)) == ["a", "b", "c"]
