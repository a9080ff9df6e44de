//! Identifies the job in which this process runs.
//!
//! A claim of the runtime token contains the ids of the run and the job. The token is decoded but not verified;
//! the daemon verifies it.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use farrier_common::client::RunScope;
use serde::Deserialize;

/// The variable that contains the runtime token.
pub(crate) const TOKEN_VARIABLE: &str = "ACTIONS_RUNTIME_TOKEN";

#[derive(Deserialize)]
struct Claims {
    scp: String,
}

/// Returns the ids in a runtime token; `None` if it is not a runtime token. Same rules as the official
/// client's.
pub(crate) fn scope(token: &str) -> Option<RunScope> {
    let mut parts = token.trim().split('.');
    let (Some(_), Some(claims), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return None;
    };
    let claims = URL_SAFE_NO_PAD.decode(claims.trim_end_matches('=')).ok()?;
    let claims: Claims = serde_json::from_slice(&claims).ok()?;
    let entry = claims.scp.split(' ').map(|entry| entry.split(':').collect::<Vec<_>>());
    match entry.into_iter().find(|parts| parts[0] == "Actions.Results")?.as_slice() {
        [_, run, job] => Some(RunScope { run: (*run).to_owned(), job: (*job).to_owned() }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(claims: &str) -> String {
        format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims))
    }

    #[test]
    fn run_and_job_are_read_from_the_first_artifact_scope() {
        let cases = [
            (r#"{"scp":"Actions.Results:21:49"}"#, Some(("21", "49"))),
            (r#"{"exp":1,"scp":"a Actions.Results:a-b:c Actions.Results:x:y"}"#, Some(("a-b", "c"))),
            (r#"{"scp":"Actions.Results::"}"#, Some(("", ""))),
            (r#"{"scp":"Actions.Results:1"}"#, None),
            (r#"{"scp":"Actions.Results:1:2:3"}"#, None),
            (r#"{"scp":"actions.results:1:2"}"#, None),
            (r#"{"scp":""}"#, None),
            (r#"{"scp":7}"#, None),
            ("{}", None),
            ("nonsense", None),
        ];
        for (claims, expected) in cases {
            let found = scope(&token(claims));
            let expected = expected.map(|(run, job)| RunScope { run: run.into(), job: job.into() });
            assert_eq!(found, expected, "{claims}");
        }
    }

    #[test]
    fn an_invalid_token_has_no_scope() {
        let good = token(r#"{"scp":"Actions.Results:1:2"}"#);
        assert!(scope(&format!("{good}\n")).is_some());
        for bad in ["", "a.b", "a.b.c.d", "..", "a.!!.c", &format!("{good}.x")] {
            assert_eq!(scope(bad), None, "{bad}");
        }
    }
}
