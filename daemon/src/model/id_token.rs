//! ID tokens of workflow jobs (OpenID Connect): JWTs with which a job proves to other services which job it is.
//!
//! The claims have the names that GitHub gives them, because the policies of cloud providers, package registries and
//! signing services name them.

mod key;
mod rotation;
mod rsa;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use serde::Serialize;
use serde_json::json;

pub use self::{
    key::{Algorithm, KeyPair},
    rotation::{KeyTime, is_removable, next_active_ms, signing},
};
use crate::clock::Millis;

/// How long a token is valid, as on GitHub. Services exchange it at once for credentials of their own.
const LIFE_SECS: i64 = 300;
/// How long before it was issued a token is valid, as on GitHub: the clocks of services may be behind.
const EARLY_SECS: i64 = 600;

/// The claims of a token.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names are those of GitHub, whose documentation describes them")]
pub struct IdTokenClaims {
    pub jti: String,
    pub sub: String,
    pub aud: String,
    pub iss: String,
    pub iat: i64,
    pub nbf: i64,
    pub exp: i64,
    #[serde(flatten)]
    pub job: JobClaims,
}

/// The claims about a job. All values are texts, as on GitHub.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names are those of GitHub, whose documentation describes them")]
pub struct JobClaims {
    #[serde(rename = "ref")]
    pub git_ref: String,
    pub ref_type: &'static str,
    pub ref_protected: &'static str,
    pub sha: String,
    pub repository: String,
    pub repository_id: String,
    pub repository_owner: String,
    pub repository_owner_id: String,
    pub repository_visibility: &'static str,
    pub actor: String,
    pub actor_id: String,
    pub workflow: String,
    pub workflow_ref: String,
    pub workflow_sha: String,
    pub job_workflow_ref: String,
    pub job_workflow_sha: String,
    pub event_name: &'static str,
    pub head_ref: &'static str,
    pub base_ref: &'static str,
    pub run_id: String,
    pub run_number: String,
    pub run_attempt: &'static str,
    pub check_run_id: String,
    pub runner_environment: &'static str,
}

impl IdTokenClaims {
    /// Returns the names of all claims, sorted.
    pub fn names() -> Vec<String> {
        let claims = Self::new(JobClaims::default(), String::new(), String::new(), 0, String::new());
        let value = serde_json::to_value(claims).expect("claims are plain data");
        let mut names: Vec<String> = value.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    }

    /// Creates the claims of a token that is issued at `now_ms` for the service `audience`.
    pub fn new(job: JobClaims, issuer: String, audience: String, now_ms: Millis, jti: String) -> Self {
        let iat = now_ms.div_euclid(1_000);
        // A colon separates the parts of the subject.
        let sub = format!("repo:{}:ref:{}", job.repository, job.git_ref.replace(':', "%3A"));
        Self { jti, sub, aud: audience, iss: issuer, iat, nbf: iat - EARLY_SECS, exp: iat + LIFE_SECS, job }
    }

    /// Returns the token, signed with `key`.
    pub fn sign(&self, key: &KeyPair) -> String {
        let header = json!({ "alg": key.algorithm().name(), "kid": key.id(), "typ": "JWT" }).to_string();
        let payload = serde_json::to_vec(self).expect("claims are plain data");
        let signed = format!("{}.{}", BASE64.encode(header), BASE64.encode(payload));
        let signature = BASE64.encode(key.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_names_repository_and_ref() {
        let job = |git_ref: &str| JobClaims {
            repository: "octo/app".into(),
            git_ref: git_ref.into(),
            ..JobClaims::default()
        };
        let claims = |git_ref| IdTokenClaims::new(job(git_ref), "https://i".into(), "a".into(), 1_000_000, "j".into());
        assert_eq!(claims("refs/heads/main").sub, "repo:octo/app:ref:refs/heads/main");
        assert_eq!(claims("refs/heads/a:environment:b").sub, "repo:octo/app:ref:refs/heads/a%3Aenvironment%3Ab");
        let claims = claims("refs/heads/main");
        assert_eq!((claims.nbf, claims.iat, claims.exp), (400, 1_000, 1_300));
    }

    #[test]
    fn all_claims_have_names_of_github() {
        let names = IdTokenClaims::names();
        assert!(names.is_sorted() && names.len() == 31, "{names:?}");
        for name in ["ref", "sub", "repository_owner_id", "job_workflow_ref", "runner_environment", "exp"] {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
    }
}
