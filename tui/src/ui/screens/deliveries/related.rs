//! The objects that belong to the delivery under the cursor.
//!
//! The payload of an opened delivery names the run, the pushed commit and the user. Without it, the repository leads to
//! its runs and commits.

use serde_json::Value;

use super::Deliveries;
use crate::ui::screens::Related;

/// Returns a text in a payload; empty if it has none at this path.
fn text<'a>(payload: &'a Value, path: &str) -> &'a str {
    payload.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the run, the push and the user that a payload names. The sender of an event decides about its texts.
fn of_payload(payload: &Value, path: &str) -> Vec<Related> {
    let run = ["/workflow_run/id", "/workflow_job/run_id"].iter().find_map(|at| payload.pointer(at)?.as_i64());
    let commits = ["/after", "/workflow_run/head_sha", "/workflow_job/head_sha", "/sha"].map(|at| text(payload, at));
    let mut all: Vec<Related> = run.filter(|id| *id > 0).map(Related::run).into_iter().collect();
    for commit in commits {
        all.extend(Related::push(path, commit).into_iter().chain(Related::runs_of(commit)));
    }
    let login = text(payload, "/sender/login");
    all.extend((!login.is_empty()).then(|| Related::user(login)));
    all
}

impl Deliveries {
    /// Returns the hook, the repository, the run, the artifacts, the push and the user of the delivery.
    pub(super) fn related_objects(&self) -> Vec<Related> {
        let Some(delivery) = self.rows.list.current() else { return Vec::new() };
        let mut all = vec![Related::hook(delivery.hook)];
        if let Some(path) = delivery.repository() {
            all.push(Related::repository(path));
            let guid = delivery.guid();
            if let Some(detail) = self.inspector.detail.as_ref().filter(|detail| detail.delivery.guid == guid) {
                all.extend(of_payload(&detail.request.payload, path));
            }
            all.extend([Related::runs_in(path), Related::artifacts_of(path), Related::pushes_to(path)]);
        }
        all.push(Related::deliveries_of(delivery.hook));
        Related::unique(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_of_pushes_and_runs_lead_to_the_run_and_the_push() {
        let lines = |payload: &Value| -> Vec<String> {
            Related::unique(of_payload(payload, "a/b")).into_iter().map(|one| one.line).collect()
        };
        let sha = "a1b2c3d4e5f60718293a4b5c6d7e8f9001020304";
        let push = serde_json::json!({ "after": sha, "sender": { "login": "mia" } });
        assert_eq!(lines(&push), [format!("commit a/b {sha}"), sha.to_owned(), "user show mia".to_owned()]);
        let run = serde_json::json!({ "workflow_run": { "id": 51, "head_sha": sha } });
        assert_eq!(lines(&run), ["run show 51".to_owned(), format!("commit a/b {sha}"), sha.to_owned()]);
        let deleted = serde_json::json!({ "after": "0".repeat(40), "workflow_run": { "id": "x; y" } });
        assert_eq!(lines(&deleted), [""; 0]);
        assert_eq!(lines(&Value::Null), [""; 0]);
    }
}
