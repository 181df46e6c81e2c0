"""What tests of several rooms ask for."""

from support.s3 import bucket, s3

__all__ = ["bucket", "s3"]
