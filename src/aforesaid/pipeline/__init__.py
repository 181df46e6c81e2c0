"""The data pipeline on Spark: sweep, audit, metrics. Only this package imports pyspark."""
