"""Manages users, organizations and tokens with pyforgejo. The arguments are the base URL and the token of an
administrator. Prints "RESULT " and a JSON object with the results."""

import base64
import json
import sys

from pyforgejo import PyforgejoApi
from pyforgejo.core.api_error import ApiError

url, token = sys.argv[1:]
api = PyforgejoApi(base_url=f"{url}/api/v1", api_key=f"token {token}")
seen = {}


def status(call, *args, **kwargs):
    """The status of the error response, or 0 if the request succeeds."""
    try:
        call(*args, **kwargs)
        return 0
    except ApiError as refused:
        return refused.status_code


seen["version"] = api.miscellaneous.get_version().version
seen["me"] = api.user.get_current().login
made = api.admin.create_user(
    username="py-user", email="py@example.org", password="long enough", must_change_password=False
)
seen["user"] = {"login": made.login, "created": made.created.year > 2000, "active": made.active}
edited = api.admin.edit_user("py-user", login_name="", source_id=0, full_name="P. Y.", visibility="limited")
seen["edited"] = [edited.full_name, edited.visibility]
seen["found"] = [user.login for user in api.user.search(q="py-").data]
org = api.admin.create_org("py-user", username="py-org", description="a")
seen["org"] = {"name": org.name, "visibility": org.visibility, "description": org.description}
seen["edited_org"] = api.organization.org_edit("py-org", full_name="Py Org").description
seen["orgs"] = [org.name for org in api.organization.org_list_user_orgs("py-user")]
seen["teams"] = [team.name for team in api.organization.org_list_teams("py-org")]
seen["permissions"] = api.organization.org_get_user_permissions("py-user", "py-org").is_owner
seen["taken"] = status(api.organization.org_create, username="py-user")
made = api.user.create_token("py-user", name="ci", scopes=["write:repository", "read:user"])
seen["token"] = {"length": len(made.sha1), "scopes": made.scopes}
seen["tokens"] = [[token.name, token.sha1] for token in api.user.get_tokens("py-user")]
seen["untoken"] = status(api.user.delete_access_token, "py-user", "ci")


def key(byte):
    blob = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes([byte]) * 32
    return f"ssh-ed25519 {base64.b64encode(blob).decode()} py"


made = api.user.current_post_key(title="py", key=key(1))
seen["key"] = [made.title, made.key_type, made.user.login, made.created_at.year > 2000]
seen["keys"] = [one.title for one in api.user.list_keys("boss")]
seen["unkey"] = status(api.user.current_delete_key, made.id)
api.repository.create_current_user_repo(name="py-repo")
made = api.repository.repo_create_key("boss", "py-repo", title="ci", key=key(2), read_only=True)
seen["deploy"] = [made.title, made.read_only]
seen["deploys"] = [one.repository.name for one in api.repository.repo_list_keys("boss", "py-repo")]
seen["undeploy"] = status(api.repository.repo_delete_key, "boss", "py-repo", made.id)
seen["renamed"] = status(api.admin.rename_user, "py-user", new_username="py-two")
seen["moved"] = api.user.get("py-user").login
seen["unorg"] = status(api.organization.org_delete, "py-org")
seen["deleted"] = status(api.admin.delete_user, "py-two")
seen["gone"] = status(api.user.get, "py-two")
seen["templates"] = "Rust" in api.miscellaneous.list_gitignores_templates()
print("RESULT", json.dumps(seen))
