"""From a URI to PyArrow's file system, configured as Hadoop's would be.

Spark's users configure stores by Hadoop's settings (`spark.hadoop.fs.s3a.endpoint` and the like) and by the
environment of the driver, which Spark hands on to executors; so do we. What a user put into the URI itself,
in PyArrow's way (`s3://key:secret@bucket/x?endpoint_override=...`), goes before both. Secrets are not
shown.
"""

import os
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as fs

from aforesaid.core import Misuse

LOCAL = "file"
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/")
_SAME = {"s3a": "s3", "s3n": "s3", "abfss": "abfs", "gcs": "gs"}
SECONDS_MAX = 20.0
"""How long a store may take to accept a connection, or to say the next word."""


def plain_scheme(written: str) -> str:
    """A URI's scheme, of several names for a store the one that PyArrow knows; a path has LOCAL."""
    found = _SCHEME.match(written)
    scheme = found[1].lower() if found else LOCAL
    return _SAME.get(scheme, scheme)


def file_system(scheme: str, written: str, settings: Mapping[str, str]) -> tuple[Any, str, str] | None:
    """The file system of a URI, the path in it, and what stands before such paths; None if there is none."""
    parts = urlsplit(written)
    root = f"{written.partition(':')[0]}://"
    bucket = parts.netloc.rpartition("@")[2]
    try:
        if scheme == "s3" and not parts.query and "@" not in parts.netloc:
            return fs.S3FileSystem(**_s3(bucket, settings)), f"{bucket}{parts.path}", root
        if scheme in ("s3", "gs", "gcs", "abfs", "hdfs"):
            store, path = fs.FileSystem.from_uri(written.replace(f"{parts.scheme}:", f"{scheme}:", 1))
            # PyArrow's paths in HDFS begin at its root, and do not name its host.
            return store, path, f"{root}{bucket}" if scheme == "hdfs" else root
    except (OSError, pa.ArrowException, ValueError) as error:
        if scheme == "hdfs":
            # Without Hadoop's own library there is Spark's reader still.
            return None
        raise Misuse(f"cannot use {root}{bucket}{parts.path}: {str(error).splitlines()[0]}") from error
    return None


def _s3(bucket: str, settings: Mapping[str, str]) -> dict[str, Any]:
    def setting(name: str, *variables: str) -> str | None:
        for key in (f"fs.s3a.bucket.{bucket}.{name}", f"fs.s3a.{name}"):
            if settings.get(key):
                return settings[key]
        return next((os.environ[variable] for variable in variables if os.environ.get(variable)), None)

    options: dict[str, Any] = {
        "access_key": setting("access.key", "AWS_ACCESS_KEY_ID"),
        "secret_key": setting("secret.key", "AWS_SECRET_ACCESS_KEY"),
        "session_token": setting("session.token", "AWS_SESSION_TOKEN"),
        "region": setting("endpoint.region", "AWS_REGION", "AWS_DEFAULT_REGION"),
        "connect_timeout": SECONDS_MAX,
        "request_timeout": SECONDS_MAX,
        # A small file in one request instead of three.
        "allow_delayed_open": True,
    }
    endpoint = setting("endpoint", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
    if endpoint:
        secure = setting("connection.ssl.enabled") != "false"
        scheme, _, host = endpoint.rpartition("://")
        options |= {"endpoint_override": host, "scheme": scheme or ("https" if secure else "http")}
        # Without one, PyArrow asks the network where the bucket is.
        options["region"] = options["region"] or "us-east-1"
    return {name: value for name, value in options.items() if value is not None}
