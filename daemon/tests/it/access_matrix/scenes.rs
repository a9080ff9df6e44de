//! The request for each route: its path, its body, and the object that must be created for it first.

use serde_json::{Value, json};

use crate::support::ssh_key;

/// The request for one route.
pub(super) struct Scene {
    pub(super) path: String,
    pub(super) body: Value,
    /// A request that the administrator sends first: method, path and body.
    pub(super) before: Option<(&'static str, String, Value)>,
}

/// The request for a route in column `n`. Names of new objects contain `n`, so that columns do not collide.
pub(super) fn scene(word: &str, path: &str, n: usize) -> Scene {
    let plain =
        || Scene { path: path.to_owned(), body: if word == "patch" { json!({}) } else { Value::Null }, before: None };
    let route = path.strip_prefix("/api/v1").unwrap_or(path);
    account_scene(word, route, n, plain())
        .or_else(|| repository_scene(word, route, n, plain()))
        .or_else(|| hook_scene(word, route, plain()))
        .unwrap_or_else(plain)
}

fn account_scene(word: &str, route: &str, n: usize, mut scene: Scene) -> Option<Scene> {
    let (path, fresh) = (scene.path.clone(), format!("fresh{n}"));
    match (word, route) {
        ("post", "/users/{name}/tokens" | "/admin/users/{name}/tokens") => {
            let name = format!("{fresh}-{}", route.len());
            scene.body = json!({ "name": name, "scopes": ["public-only", "read:user"] });
        }
        ("delete", "/users/{name}/tokens/{token}" | "/admin/users/{name}/tokens/{token}") => {
            let name = format!("gone{n}-{}", route.len());
            scene.path = path.replace("{token}", &name);
            let body = json!({ "name": name, "scopes": ["read:user"] });
            scene.before = Some(("post", "/api/v1/users/octo/tokens".into(), body));
        }
        ("post", "/admin/users") => {
            let email = format!("{fresh}@example.org");
            scene.body = json!({ "username": fresh, "email": email, "password": "long enough" });
        }
        ("delete", "/admin/users/{name}") => {
            let name = format!("gone{n}");
            scene.path = path.replace("{name}", &name);
            let body = json!({ "username": name, "email": format!("{name}@example.org") });
            scene.before = Some(("post", "/api/v1/admin/users".into(), body));
        }
        ("post", "/admin/users/{name}/rename") => scene.body = json!({ "new_username": "Octo" }),
        ("post", "/orgs/{org}/rename") => scene.body = json!({ "new_name": "Acme" }),
        ("post", "/orgs" | "/admin/users/{name}/orgs") => {
            scene.body = json!({ "username": format!("{fresh}-{}", route.len()) });
        }
        ("delete", "/orgs/{org}") => {
            let name = format!("gone-org{n}");
            scene.path = path.replace("{org}", &name);
            scene.before = Some(("post", "/api/v1/admin/users/boss/orgs".into(), json!({ "username": name })));
        }
        ("put" | "delete", "/orgs/{org}/members/{user}" | "/teams/{team}/members/{user}") => {
            scene.path = path.replace("{user}", "helper");
            scene.before = Some(("put", "/api/v1/teams/{team}/members/helper".into(), Value::Null));
        }
        ("post", "/orgs/{org}/teams") => scene.body = json!({ "name": fresh, "units": ["repo.code"] }),
        (_, "/teams/{team}/repos/{owner}/{repo}") => {
            let name = format!("{word}{n}");
            scene.path = path.replace("{owner}/{repo}", &format!("acme/{name}"));
            scene.before = Some(("post", "/api/v1/orgs/acme/repos".into(), json!({ "name": name, "private": true })));
        }
        ("post", "/user/keys" | "/admin/users/{name}/keys" | "/repos/{owner}/{repo}/keys") => {
            let title = format!("{fresh}-{}", route.len());
            scene.body = json!({ "title": title, "key": ssh_key(&title) });
        }
        // The key does not exist.
        (
            _,
            "/user/keys/{id}"
            | "/user/gpg_keys/{id}"
            | "/admin/users/{name}/keys/{id}"
            | "/repos/{owner}/{repo}/keys/{id}",
        ) => {
            scene.path = path.replace("{id}", "999");
        }
        ("post", "/user/gpg_keys" | "/user/gpg_key_verify") => scene.body = json!({ "armored_public_key": "no key" }),
        ("post", "/user/emails") => scene.body = json!({ "emails": [format!("{fresh}-other@example.org")] }),
        ("delete", "/user/emails") => scene.body = json!({ "emails": ["nothing@example.org"] }),
        ("get", "/gitignore/templates/{template}") => scene.path = path.replace("{template}", "Rust"),
        ("get", "/label/templates/{template}") => scene.path = path.replace("{template}", "Default"),
        _ => return None,
    }
    Some(scene)
}

#[expect(clippy::too_many_lines, reason = "one arm for each route")]
fn repository_scene(word: &str, route: &str, n: usize, mut scene: Scene) -> Option<Scene> {
    let (path, fresh) = (scene.path.clone(), format!("fresh{n}"));
    match (word, route) {
        ("delete", "/orgs/{name}/repos") => {
            let org = format!("gone-repos{n}");
            scene.path = path.replace("{name}", &org);
            scene.before = Some(("post", "/api/v1/admin/users/boss/orgs".into(), json!({ "username": org })));
        }
        (_, "/orgs/{name}/repos" | "/org/{name}/repos") => {
            scene.path = path.replace("{name}", "acme");
            scene.body = json!({ "name": format!("{fresh}-{}", route.len()) });
        }
        ("post", "/repos/migrate" | "/checks/migration") => {
            scene.body = json!({ "clone_addr": "ext::sh", "repo_name": fresh });
        }
        // Repository "hidden" is no mirror. The push mirror does not exist.
        ("post", "/repos/{owner}/{repo}/push_mirrors") => {
            scene.body = json!({ "remote_address": "http://8.8.8.8/a", "interval": "0" });
        }
        // Repository "open" has no push mirrors.
        ("post", "/repos/{owner}/{repo}/push_mirrors-sync") => {
            scene.path = "/api/v1/repos/octo/open/push_mirrors-sync".into();
        }
        (_, "/repos/{owner}/{repo}/push_mirrors/{mirror}") => scene.path = path.replace("{mirror}", "nothing"),
        ("get", "/repositories/{id}") => scene.path = path.replace("{id}", "1"),
        ("delete", "/repos/{owner}/{repo}") => {
            let name = format!("gone{n}");
            scene.path = path.replace("{repo}", &name);
            let body = json!({ "name": name, "private": true });
            scene.before = Some(("post", "/api/v1/admin/users/octo/repos".into(), body));
        }
        ("put", "/repos/{owner}/{repo}/collaborators/{user}") => {
            scene.path = path.replace("{user}", "helper");
            scene.body = json!({ "permission": "read" });
        }
        ("delete", "/repos/{owner}/{repo}/collaborators/{user}") => scene.path = path.replace("{user}", "helper"),
        ("get", "/repos/{owner}/{repo}/collaborators/{user}/permission") => {
            scene.path = path.replace("{user}", "octo");
        }
        ("post", "/user/repos" | "/admin/users/{name}/repos") => {
            scene.body = json!({ "name": format!("{fresh}-{}", route.len()) });
        }
        ("post", "/repos/{owner}/{repo}/forks") => {
            let name = format!("forked{n}");
            scene.path = path.replace("{repo}", &name);
            scene.body = json!({ "name": format!("fork{n}") });
            let body = json!({ "name": name, "private": true });
            scene.before = Some(("post", "/api/v1/admin/users/octo/repos".into(), body));
        }
        ("post", "/repos/{owner}/{repo}/merge-upstream") => scene.body = json!({ "branch": "main" }),
        ("post", "/repos/{owner}/{repo}/contents") => {
            scene.body = json!({ "files": [{ "operation": "create", "path": format!("several-{fresh}") }] });
        }
        ("post" | "put", "/repos/{owner}/{repo}/contents/{*path}") => {
            scene.path = path.replace("{*path}", &format!("{word}-{fresh}"));
            scene.body = json!({});
        }
        // The file does not exist.
        ("delete", "/repos/{owner}/{repo}/contents/{*path}") => {
            scene.path = "/api/v1/repos/octo/open/contents/nothing".into();
            scene.body = json!({ "sha": "ab" });
        }
        ("post", "/repos/{owner}/{repo}/diffpatch") => scene.body = json!({ "content": "no diff" }),
        // Repository "hidden" has releases of drafts only, and the deleted and changed one does not exist.
        ("post", "/repos/{owner}/{repo}/releases") => scene.body = json!({ "tag_name": fresh, "draft": true }),
        (_, route) if route.contains("/releases/{id}") => scene.path = path.replace("{id}", "999"),
        ("post", "/repos/{owner}/{repo}/statuses/{*ref}") => scene.body = json!({ "state": "success" }),
        ("put", "/repos/{owner}/{repo}/topics") => scene.body = json!({ "topics": [fresh] }),
        ("delete", "/repos/{owner}/{repo}/topics/{topic}") => {
            scene.before = Some(("put", "/api/v1/repos/octo/hidden/topics/ci".into(), Value::Null));
        }
        ("post", "/repos/{owner}/{repo}/branch_protections") => {
            scene.body = json!({ "rule_name": format!("rule-{fresh}"), "enable_push": true });
        }
        ("post", "/repos/{owner}/{repo}/branch_protections/priority") => scene.body = json!({ "ids": [] }),
        ("post", "/repos/{owner}/{repo}/tag_protections") => {
            scene.body = json!({ "name_pattern": format!("rule-{fresh}"), "whitelist_usernames": ["octo"] });
        }
        // The rule does not exist.
        (_, "/repos/{owner}/{repo}/branch_protections/{*rule}" | "/repos/{owner}/{repo}/tag_protections/{id}") => {
            scene.path = path.replace("{*rule}", "nothing").replace("{id}", "999");
        }
        ("post", "/repos/{owner}/{repo}/transfer") => {
            scene.path = path.replace("{repo}", &format!("{fresh}-moved"));
            scene.body = json!({ "new_owner": "acme" });
            let body = json!({ "name": format!("{fresh}-moved"), "private": true });
            scene.before = Some(("post", "/api/v1/admin/users/octo/repos".into(), body));
        }
        ("post", "/repos/{owner}/{repo}/generate") => {
            scene.path = "/api/v1/repos/octo/pattern/generate".into();
            scene.body = json!({ "name": format!("{fresh}-made"), "git_content": true });
        }
        ("post", "/admin/cron/{cron}") => scene.path = path.replace("{cron}", "sweep"),
        ("post", "/repos/{owner}/{repo}/branches") => scene.body = json!({ "new_branch_name": fresh }),
        ("post", "/repos/{owner}/{repo}/tags") => scene.body = json!({ "tag_name": fresh }),
        // The branch or tag does not exist. Callers with access get 404 and change nothing.
        (
            "delete" | "patch" | "put",
            "/repos/{owner}/{repo}/branches/{*branch}" | "/repos/{owner}/{repo}/tags/{*tag}",
        ) => {
            let kind = if route.contains("tags") { "tags" } else { "branches" };
            scene.path = format!("/api/v1/repos/octo/open/{kind}/nothing");
            scene.body = json!({ "name": "else" });
        }
        ("get", "/{owner}/{repo}/info/refs") => scene.path = format!("{path}?service=git-upload-pack"),
        ("post", "/{owner}/{repo}/info/lfs/objects/batch") => scene.body = json!({ "operation": "download" }),
        ("post", "/{owner}/{repo}/info/lfs/locks") => scene.body = json!({ "path": fresh }),
        ("post", "/{owner}/{repo}/info/lfs/locks/{id}/unlock") => scene.path = path.replace("{id}", "999"),
        ("delete", "/repos/{owner}/{repo}/actions/artifacts/{id}") => {
            scene.path = "/api/v1/repos/octo/open/actions/artifacts/999".into();
        }
        // No entry has the key. Callers with access get 404 and delete nothing.
        ("delete", "/repos/{owner}/{repo}/actions/caches") => {
            scene.path = "/api/v1/repos/octo/open/actions/caches?key=nothing".into();
        }
        ("delete", "/repos/{owner}/{repo}/actions/caches/{id}") => {
            scene.path = "/api/v1/repos/octo/open/actions/caches/999".into();
        }
        ("patch", "/api/farrier/v1/artifacts/{id}") => scene.body = json!({ "days": 5 }),
        ("post", "/api/farrier/v1/artifacts/deletions") => scene.body = json!({ "ids": [999] }),
        (_, route) if route.starts_with("/api/farrier/v1/deleted/") => scene.path = path.replace("{id}", "999"),
        (_, "/api/farrier/v1/tasks/{task}" | "/api/farrier/v1/tasks/{task}/cancel") => {
            scene.path = path.replace("{task}", "999");
        }
        ("post", "/api/farrier/v1/backup") => scene.body = json!({ "destination": "/nonexistent" }),
        ("post", "/api/farrier/v1/backup/tar") => scene.body = json!({}),
        ("post", "/api/farrier/v1/jobs") => scene.body = json!({ "repo": "octo/hidden" }),
        ("post", "/api/farrier/v1/jobs/{job}/end") => scene.body = json!({ "conclusion": "success" }),
        _ => return None,
    }
    Some(scene)
}

fn hook_scene(word: &str, route: &str, mut scene: Scene) -> Option<Scene> {
    match word {
        "post" if route.ends_with("/hooks") => {
            scene.body = json!({ "type": "gitea", "config": { "url": "http://203.0.113.9/", "content_type": "json" } });
        }
        // The hook does not exist. Callers with access get 404 and remove nothing.
        "delete" if route.ends_with("/hooks/{id}") => {
            scene.path = scene.path.replace("{id}", "999999").replace("{repo}", "open");
        }
        _ => return None,
    }
    Some(scene)
}
