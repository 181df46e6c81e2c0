"""The SQL of the metrics: from the rows that tasks measured ({rows}) and the runs ({runs}) to tables.

{counted} is COUNTED, {by_run} the percentiles of each run, {measures} what MEASURES gave. Spark puts
DataFrames in their place, and no view of ours stays in a user's session.
"""

from aforesaid.pipeline.measuring.measure import BINS_PER_OCTAVE

COUNTED = """
SELECT run, algorithm, processes, setting, metric AS measure, slot AS bin,
    sum(count) AS deliveries, sum(total) AS total_ns, max(high) AS high_ns
FROM {rows} JOIN {runs} USING (run) WHERE kind = 'histogram' GROUP BY ALL
"""
"""Deliveries by run, measure and bin."""


def percentiles(group: str) -> str:
    """Percentiles of each group of runs, from the bins: the middle of the bin where the share is reached."""

    def at(share: float) -> str:
        reached = f"min(IF(upto >= {share} * whole, bin, NULL))"
        middle = f"pow(2D, ({reached} + 0.5D) / {BINS_PER_OCTAVE})"
        return f"IF({reached} < 0, 0D, least({middle}, max(high_ns))) / 1e6"

    return f"""
    WITH summed AS (
        SELECT {group}, measure, bin, sum(deliveries) AS deliveries, sum(total_ns) AS total_ns,
            max(high_ns) AS high_ns
        FROM {{counted}} GROUP BY {group}, measure, bin
    ), running AS (
        SELECT *, sum(deliveries) OVER (PARTITION BY {group}, measure ORDER BY bin) AS upto,
            sum(deliveries) OVER (PARTITION BY {group}, measure) AS whole
        FROM summed
    )
    SELECT {group}, measure, max(whole) AS deliveries, sum(total_ns) / max(whole) / 1e6 AS mean_ms,
        {at(0.5)} AS p50_ms, {at(0.9)} AS p90_ms, {at(0.99)} AS p99_ms, {at(0.999)} AS p999_ms,
        max(high_ns) / 1e6 AS max_ms
    FROM running GROUP BY {group}, measure ORDER BY {group}, measure
    """


HISTOGRAM = f"""
SELECT algorithm, processes, setting, measure,
    IF(bin < 0, 0D, pow(2D, bin / {BINS_PER_OCTAVE}D) / 1e6) AS low_ms,
    IF(bin < 0, 0D, pow(2D, (bin + 1) / {BINS_PER_OCTAVE}D) / 1e6) AS high_ms,
    sum(deliveries) AS deliveries
FROM {{counted}} GROUP BY algorithm, processes, setting, measure, bin
ORDER BY algorithm, processes, setting, measure, bin
"""

SERIES = """
SELECT algorithm, processes, setting, metric, slot * CAST({bucket_ms} AS DOUBLE) AS time_ms,
    avg(total) AS mean, min(total) AS low, max(total) AS high, count(*) AS runs
FROM {rows} JOIN {runs} USING (run) WHERE kind = 'series'
GROUP BY algorithm, processes, setting, metric, slot ORDER BY algorithm, processes, setting, metric, slot
"""

MEASURES = """
WITH long AS (
    SELECT run, concat(measure, '_', name) AS metric, value FROM {by_run}
    LATERAL VIEW stack(4, 'mean_ms', mean_ms, 'p50_ms', p50_ms, 'p99_ms', p99_ms, 'max_ms', max_ms)
        AS name, value
    UNION ALL
    SELECT run, concat(metric, '_mean_per_process'), avg(total) / max(processes)
    FROM {rows} JOIN {runs} USING (run) WHERE kind = 'series' GROUP BY run, metric
    UNION ALL
    SELECT run, concat(metric, '_peak'), max(high) FROM {rows} WHERE kind = 'series' GROUP BY run, metric
    UNION ALL
    SELECT run, metric, total FROM {rows} WHERE kind = 'fact'
)
SELECT run, algorithm, processes, setting, seed, metric, value FROM long JOIN {runs} USING (run)
ORDER BY run, metric
"""
"""One number per run and metric."""

GROWTH = """
WITH sized AS (
    SELECT algorithm, setting, metric, processes, count(*) AS runs,
        avg(value) AS mean, min(value) AS low, max(value) AS high
    FROM {measures} GROUP BY algorithm, setting, metric, processes
)
SELECT *, regr_slope(IF(mean > 0, ln(mean), NULL), ln(processes))
    OVER (PARTITION BY algorithm, setting, metric) AS exponent
FROM sized ORDER BY metric, algorithm, setting, processes
"""
"""Each metric against the size of the group; the exponent e of the power law n^e that fits best."""
