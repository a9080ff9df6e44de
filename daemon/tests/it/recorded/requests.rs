//! The recorded requests, by client.

use serde_json::{Value, json};

/// How a client authenticates.
#[derive(Clone, Copy)]
pub(super) enum Auth {
    /// `Authorization: token …`
    Token,
    /// `Authorization: Bearer …`
    Bearer,
    /// Basic authentication with the token as the user name and no password.
    TokenAsName,
    /// Basic authentication with a password, and a one-time password that the server does not need.
    Password,
    /// No header: the token is in the URL.
    Address,
}

/// A request and the expected response: client, authentication, method, path, body, status, and values at JSON
/// pointers.
pub(super) type Recorded = (&'static str, Auth, &'static str, &'static str, Value, u16, Value);

const FJ: &str = "fj";
const PY: &str = "py-gitea";
const GO: &str = "go sdk";
const RENOVATE: &str = "renovate";

/// The body with which `fj` creates a repository: all keys, most of them null.
fn fj_create(name: &str) -> Value {
    json!({
        "auto_init": null, "default_branch": "main", "description": null, "gitignores": null, "issue_labels": null,
        "license": null, "name": name, "object_format_name": null, "private": null, "readme": "", "template": null,
        "trust_model": "default",
    })
}

pub(super) fn fj_requests() -> Vec<Recorded> {
    let get = |path, status, has| (FJ, Auth::Token, "GET", path, Value::Null, status, has);
    let post = |path, body, has| (FJ, Auth::Token, "POST", path, body, 201, has);
    vec![
        get("/repos/search?limit=1", 200, json!({ "/ok": true, "/data/0/ssh_url": "" })),
        get("/user?", 200, json!({ "/login": "ops" })),
        (FJ, Auth::Bearer, "GET", "/user?", Value::Null, 200, json!({ "/login": "ops" })),
        (FJ, Auth::Password, "GET", "/user?", Value::Null, 200, json!({ "/login": "ops" })),
        get("/repos/ops/demo?", 200, json!({ "/full_name": "ops/demo", "/clone_url": "{root}/ops/demo.git" })),
        post(
            "/user/repos?",
            fj_create("fj-own"),
            json!({ "/default_branch": "main", "/empty": true, "/private": false }),
        ),
        post("/orgs/acme/repos?", fj_create("fj-org"), json!({ "/owner/login": "acme" })),
        get("/repos/ops/demo/contents?", 200, json!({ "/0/name": "README.md", "/0/type": "file" })),
        get("/repos/ops/demo/raw/README.md?", 200, json!({})),
        get("/orgs?page=1", 200, json!({ "/0/name": "acme", "/0/visibility": "public" })),
        get("/user/orgs?", 200, json!({ "/0/username": "acme" })),
        get("/repos/ops/demo/tags?page=1&limit=20", 200, json!({ "/0/name": "v1" })),
        get("/user/repos?page=1&limit=50", 200, json!({ "/0/name": "demo" })),
        get("/repos/ops/demo/archive/feature%2Fx.zip", 200, json!({})),
        get("/repos/ops/demo/branches/feature%2Fx", 200, json!({ "/name": "feature/x" })),
        get("/repos/ops/demo/commits?", 200, json!({ "/0/commit/message": "second\n" })),
    ]
}

pub(super) fn renovate_requests() -> Vec<Recorded> {
    let get = |path, status, has| (RENOVATE, Auth::Bearer, "GET", path, Value::Null, status, has);
    vec![
        get("/user", 200, json!({ "/login": "ops" })),
        get("/version", 200, json!({})),
        get(
            "/repos/search?uid={id}&archived=false&mode=source&sort=alpha&order=asc&limit=2&page=1",
            200,
            json!({ "/ok": true, "/data/0/name": "demo", "/data/0/permissions/push": true, "/data/0/archived": false,
                "/data/0/mirror": false, "/data/0/has_pull_requests": false, "/data/0/allow_rebase": false }),
        ),
        get("/repos/ops/demo", 200, json!({ "/default_branch": "main", "/owner/login": "ops", "/empty": false })),
        get("/repos/ops/demo/branches/main", 200, json!({ "/name": "main", "/protected": false })),
        get("/repos/ops/demo/contents/README.md?ref=feature%2Fx", 200, json!({ "/encoding": "base64" })),
        get("/repos/ops/demo/contents/renovate.json?ref=main", 404, json!({})),
        get("/orgs/acme", 200, json!({ "/name": "acme" })),
        get("/orgs/ops", 404, json!({})),
        get("/repos/ops/demo/releases?draft=false", 200, json!({})),
        (RENOVATE, Auth::TokenAsName, "GET", "/user", Value::Null, 200, json!({ "/login": "ops" })),
    ]
}

pub(super) fn py_gitea_requests() -> Vec<Recorded> {
    let get = |path, status, has| (PY, Auth::Token, "GET", path, json!({}), status, has);
    let create = |name: &str| {
        json!({ "name": name, "description": null, "private": false, "auto_init": true, "gitignores": null,
            "license": null, "issue_labels": null, "readme": "Default", "default_branch": "master" })
    };
    let user = json!({ "source_id": 0, "login_name": "py-new", "full_name": "py-new", "username": "py-new",
        "email": "py-new@example.org", "password": "long enough", "send_notify": true,
        "must_change_password": true });
    let migrate = json!({ "auth_password": null, "auth_token": null, "auth_username": null, "description": "",
        "clone_addr": "http://127.0.0.1:9/x", "issues": true, "labels": true, "milestones": true, "mirror": false,
        "mirror_interval": "10m", "private": false, "pull_requests": true, "releases": true, "repo_name": "py-copy",
        "repo_owner": "ops", "service": "2", "uid": 0, "wiki": true });
    let admin = |method, path, body, status, has| (PY, Auth::Token, method, path, body, status, has);
    vec![
        get("/version", 200, json!({})),
        admin("POST", "/admin/users", user.clone(), 201, json!({ "/login": "py-new", "/email": "py-new@example.org" })),
        admin("POST", "/admin/users", user, 422, json!({})),
        admin(
            "POST",
            "/admin/users/ops/orgs",
            json!({ "username": "py-org", "full_name": "", "description": "",
            "website": "", "location": "", "visibility": "public", "repo_admin_change_team_access": false }),
            201,
            json!({ "/username": "py-org" }),
        ),
        admin(
            "POST",
            "/orgs/py-org/repos",
            create("py-repo"),
            201,
            json!({ "/default_branch": "master", "/empty": false }),
        ),
        admin(
            "POST",
            "/admin/users/ops/repos",
            create("py-own"),
            201,
            json!({ "/owner/login": "ops", "/owner/email": "ops@example.org" }),
        ),
        admin("POST", "/user/repos?sudo=ops", create("py-sudo"), 201, json!({ "/owner/login": "ops" })),
        admin("POST", "/user/repos?sudo=ops", create("PY-SUDO"), 409, json!({})),
        get("/repos/py-org/py-repo/commits?page=1", 200, json!({ "/0/commit/message": "Initial commit\n" })),
        get("/repos/py-org/py-repo/commits?page=2", 200, json!([])),
        get("/user/repos?sudo=ops&page=3", 200, json!([])),
        get("/repos/ops/void/commits", 409, json!({})),
        admin("POST", "/repos/migrate", migrate, 422, json!({ "/field": "clone_addr" })),
        admin("DELETE", "/repos/py-org/py-repo", json!({}), 204, json!({})),
        admin("DELETE", "/orgs/py-org", json!({}), 204, json!({})),
        admin("DELETE", "/admin/users/py-new", json!({}), 204, json!({})),
    ]
}

pub(super) fn go_requests() -> Vec<Recorded> {
    let tea = json!({ "name": "tea", "description": "", "private": false, "issue_labels": "", "auto_init": false,
        "template": false, "gitignores": "", "license": "", "readme": "", "default_branch": "", "trust_model": "",
        "object_format_name": "" });
    vec![
        (GO, Auth::Token, "GET", "/version", Value::Null, 200, json!({})),
        (
            GO,
            Auth::Token,
            "POST",
            "/org/acme/repos",
            tea,
            201,
            json!({ "/default_branch": "main", "/owner/login": "acme" }),
        ),
        (GO, Auth::Address, "GET", "/user?token={token}", Value::Null, 200, json!({ "/login": "ops" })),
        (GO, Auth::Password, "GET", "/users/ops/tokens?page=1&limit=10", Value::Null, 200, json!({ "/0/sha1": "" })),
        (
            GO,
            Auth::Password,
            "POST",
            "/users/ops/tokens",
            json!({ "name": "tea", "scopes": ["read:user"] }),
            201,
            json!({ "/name": "tea" }),
        ),
        (GO, Auth::Password, "DELETE", "/users/ops/tokens/tea", Value::Null, 204, json!({})),
        (GO, Auth::Token, "GET", "/repos/ops/demo/archive/feature/x.tar.gz", Value::Null, 200, json!({})),
        (GO, Auth::Token, "GET", "/repos/ops/nothing", Value::Null, 404, json!({ "/url": "{root}/api/swagger" })),
    ]
}

pub(super) fn other_requests() -> Vec<Recorded> {
    vec![
        (
            "giteapy",
            Auth::Address,
            "POST",
            "/org/acme/repos?access_token={token}",
            json!({ "name": "giteapy" }),
            201,
            json!({ "/full_name": "acme/giteapy" }),
        ),
        (
            "giteapy",
            Auth::Address,
            "GET",
            "/repos/ops/demo/branches?access_token={token}",
            Value::Null,
            200,
            json!({ "/0/name": "feature/x" }),
        ),
        (
            "pyforgejo",
            Auth::Token,
            "GET",
            "/repos/ops/demo/contents/src/a%20b",
            Value::Null,
            200,
            json!({ "/path": "src/a b" }),
        ),
        (
            "pyforgejo",
            Auth::Token,
            "GET",
            "/repos/ops/demo/contents/src%2Fa%20b",
            Value::Null,
            200,
            json!({ "/path": "src/a b" }),
        ),
        (
            "gitea-js",
            Auth::Bearer,
            "GET",
            "/repos/ops/demo/branches/feature/x",
            Value::Null,
            200,
            json!({ "/name": "feature/x" }),
        ),
        (
            "gitea-sdk",
            Auth::Token,
            "GET",
            "/repos/ops/demo/branches/",
            Value::Null,
            200,
            json!({ "/0/name": "feature/x" }),
        ),
        (
            "gitea-sdk",
            Auth::Token,
            "GET",
            "//repos//ops/demo/commits/",
            Value::Null,
            200,
            json!({ "/0/parents/0/sha": "{first}" }),
        ),
        (
            "gitea-sdk",
            Auth::Token,
            "PATCH",
            "/repos/ops/demo",
            json!({ "description": "new", "website": null, "name": null }),
            200,
            json!({ "/description": "new", "/name": "demo" }),
        ),
    ]
}
