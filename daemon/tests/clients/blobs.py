"""Uploads and downloads with the storage client of Azure.

argv: "upload" or "download", and a signed URL. The last line on standard output is "RESULT " and JSON.
"""

import datetime
import json
import sys

from azure.core import MatchConditions
from azure.core.exceptions import AzureError
from azure.storage.blob import BlobBlock, BlobClient


def client(**options):
    return BlobClient.from_blob_url(sys.argv[2], retry_total=0, **options)


def attempt(call):
    """Returns the name of the exception that `call` raises, and its error code."""
    try:
        call()
    except AzureError as error:
        code = getattr(error, "error_code", None)
        return [type(error).__name__, getattr(code, "value", code)]
    return None


def upload():
    blob = client()
    single = blob.upload_blob(b"first")
    results = {
        "single": sorted(key for key in ("etag", "last_modified", "request_id") if single[key]),
        "exists": attempt(lambda: blob.upload_blob(b"second")),
        "changed": attempt(
            lambda: blob.upload_blob(
                b"second", overwrite=True, etag='"other"', match_condition=MatchConditions.IfNotModified
            )
        ),
    }
    replaced = blob.upload_blob(
        b"second", overwrite=True, etag=single["etag"], match_condition=MatchConditions.IfNotModified
    )
    results["replaced"] = replaced["etag"] != single["etag"]
    # More than one request: blocks, then a list with the condition that nothing was uploaded.
    chunked = client(max_single_put_size=4, max_block_size=4)
    results["chunked_exists"] = attempt(lambda: chunked.upload_blob(b"in several blocks"))
    chunked.upload_blob(b"in several blocks", overwrite=True, max_concurrency=3)
    for name in ("YQ==", "Yi8+"):
        blob.stage_block(name, name.encode())
    blob.commit_block_list([BlobBlock("YQ=="), BlobBlock("Yi8+")])
    return results


def download():
    blob = client(max_single_get_size=3, max_chunk_get_size=3)
    about = blob.get_blob_properties()
    before = about.last_modified - datetime.timedelta(seconds=1)
    get = lambda **conditions: lambda: client().download_blob(**conditions).readall()
    return {
        "exists": blob.exists(),
        "size": about.size,
        "type": about.blob_type,
        # Every part after the first has the condition that the content is the same.
        "parts": blob.download_blob(max_concurrency=2).readall().decode(),
        "range": blob.download_blob(offset=2, length=4).readall().decode(),
        "same": get(etag=about.etag, match_condition=MatchConditions.IfNotModified)().decode(),
        "other": attempt(get(etag='"other"', match_condition=MatchConditions.IfNotModified)),
        "known": attempt(get(etag=about.etag, match_condition=MatchConditions.IfModified)),
        "unmodified": get(if_unmodified_since=about.last_modified)().decode(),
        "modified": attempt(get(if_unmodified_since=before)),
        "not_modified_since": attempt(get(if_modified_since=about.last_modified)),
    }


print("\nRESULT " + json.dumps({"upload": upload, "download": download}[sys.argv[1]]()))
