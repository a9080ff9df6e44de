"""Manages rules that protect branches and tags with pyforgejo. The arguments are the base URL and a token of the owner
of ann/demo. Prints "RESULT " and a JSON object with the results."""

import json
import sys

from pyforgejo import PyforgejoApi
from pyforgejo.core.api_error import ApiError

url, token = sys.argv[1:]
api = PyforgejoApi(base_url=f"{url}/api/v1", api_key=f"token {token}")
rules = api.repository
repo = ("ann", "demo")
seen = {}


def status(call, *args, **kwargs):
    """The status of the error response, or 204 if the request succeeds."""
    try:
        call(*args, **kwargs)
        return 204
    except ApiError as refused:
        return refused.status_code


rule = {"rule_name": "release/*", "enable_push": True, "enable_push_whitelist": True}
made = rules.repo_create_branch_protection(*repo, **rule, push_whitelist_usernames=["bob"])
seen["created"] = [made.rule_name, made.enable_push_whitelist, made.push_whitelist_usernames]
seen["listed"] = [one.rule_name for one in rules.repo_list_branch_protection(*repo)]
seen["found"] = rules.repo_get_branch_protection(*repo, "release/*").rule_name
edited = rules.repo_edit_branch_protection(*repo, "release/*", push_whitelist_usernames=[])
seen["edited"] = [edited.push_whitelist_usernames, edited.enable_push]
seen["again"] = status(rules.repo_create_branch_protection, *repo, **rule)
seen["deleted"] = status(rules.repo_delete_branch_protection, *repo, "release/*")
seen["gone"] = status(rules.repo_get_branch_protection, *repo, "release/*")
tag = rules.repo_create_tag_protection(*repo, name_pattern="v*", whitelist_usernames=["ann"])
seen["tag"] = [tag.name_pattern, tag.whitelist_usernames]
seen["tags"] = [one.name_pattern for one in rules.repo_list_tag_protection(*repo)]
seen["tagEdited"] = rules.repo_edit_tag_protection(*repo, tag.id, whitelist_usernames=[]).whitelist_usernames
seen["untag"] = status(rules.repo_delete_tag_protection, *repo, tag.id)
print("RESULT", json.dumps(seen))
