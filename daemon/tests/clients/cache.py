"""Runs operations of OpenDAL's cache client (ghac) and prints their results, like client.mjs.

Arguments: a version of the entries and a JSON list such as [{"call": "write", "path": "a", "text": "b"}].
"""

import json
import sys

import opendal

operator = opendal.Operator("ghac", root="/", version=sys.argv[1])


def run(operation):
    path = operation["path"]
    match operation["call"]:
        case "write":
            operator.write(path, operation["text"].encode())
            return None
        case "read":
            return bytes(operator.read(path)).decode()
        case "size":
            return operator.stat(path).content_length
        case "range":
            with operator.open(path, "rb") as file:
                file.seek(operation["offset"])
                return bytes(file.read(operation["length"])).decode()
        case "exists":
            return operator.exists(path)


results = []
for operation in json.loads(sys.argv[2]):
    try:
        results.append({"ok": run(operation)})
    except Exception as error:
        results.append({"error": type(error).__name__, "message": str(error)})
print("\nRESULT " + json.dumps(results))
