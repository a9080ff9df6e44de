//! The token of a workflow job: a JWT from which the Actions clients read the ids of run and job.
//!
//! HS256 only. Clients read only the claims `scp` and, for caches, `ac`. farrier itself uses only the ids of run and
//! job; what a job may do follows from its rows. The caller must check on every use that the job is still running.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    cache_refs::CacheRefs,
    secret::{SigningKey, equal},
};
use crate::clock::Millis;

/// The scope that contains run and job.
const SCOPE: &str = "Actions.Results";
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
/// How far the clock may be behind the time at which a token was issued: the clock of a machine can be set back while
/// jobs are running.
const ISSUED_LEEWAY_SECS: i64 = 3_600;
/// Longest accepted token, in bytes. Bounds the work on hostile input; farrier's own tokens are shorter.
const LENGTH_MAX: usize = 4_096;

/// The claims of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// `Actions.Results:<run>:<job>`, perhaps together with other scopes.
    pub scp: String,
    /// The refs whose cache entries the job reads and writes: JSON as text, see [`access_controls`]. The cache client
    /// for Go refuses tokens without it. Tokens of version 0.1 do not have it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ac: String,
    /// Issued at, in seconds since the epoch.
    pub iat: i64,
    /// Not valid before, in seconds since the epoch.
    pub nbf: i64,
    /// Expires at, in seconds since the epoch.
    pub exp: i64,
    /// Unique id of the token.
    pub jti: String,
    /// The run.
    #[serde(rename = "RunID")]
    pub run_id: u64,
    /// The job.
    #[serde(rename = "JobID")]
    pub job_id: u64,
}

/// Permissions in the claim `ac`.
const READ: u8 = 1;
const READ_AND_WRITE: u8 = 3;

/// Returns the value of the claim `ac`: the refs of a job with what the job may do with their cache entries.
pub fn access_controls(refs: &CacheRefs) -> String {
    let permission = |scope: &str| if scope == refs.own() { READ_AND_WRITE } else { READ };
    let rows = refs.readable().map(|scope| json!({ "Scope": scope, "Permission": permission(scope) }));
    rows.collect::<serde_json::Value>().to_string()
}

/// The part of a token's header that is read.
#[derive(Deserialize)]
struct Header {
    alg: String,
}

impl Claims {
    /// Creates claims for one job, valid until `exp` (seconds since the epoch), without the claim `ac`.
    pub fn new(run_id: u64, job_id: u64, now_ms: Millis, exp: i64, jti: String) -> Self {
        let now = now_ms.div_euclid(1_000);
        let scp = format!("{SCOPE}:{run_id}:{job_id}");
        Self { scp, ac: String::new(), iat: now, nbf: now, exp, jti, run_id, job_id }
    }

    /// Returns the signed token.
    pub fn sign(&self, key: &SigningKey) -> String {
        let payload = serde_json::to_vec(self).expect("claims are plain data");
        let signed = format!("{}.{}", BASE64.encode(HEADER), BASE64.encode(payload));
        let signature = BASE64.encode(key.sign_plain(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// Returns the claims of `token` if it is authentic and valid at `now_ms`. All errors look the same, since details
    /// would only help an attacker.
    pub fn verify(token: &str, key: &SigningKey, now_ms: Millis) -> Option<Self> {
        if token.len() > LENGTH_MAX {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        if !equal(&BASE64.decode(signature).ok()?, &key.sign_plain(signed.as_bytes())) {
            return None;
        }
        // Checked although the signature covers the header: a token for another algorithm is never valid.
        let header: Header = serde_json::from_slice(&BASE64.decode(header).ok()?).ok()?;
        let claims: Self = serde_json::from_slice(&BASE64.decode(payload).ok()?).ok()?;
        let now = now_ms.div_euclid(1_000);
        (header.alg == "HS256" && claims.nbf <= now + ISSUED_LEEWAY_SECS && now < claims.exp).then_some(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = 1_764_000_000_000;

    fn key() -> SigningKey {
        SigningKey::derive(b"root", "runtime-token")
    }

    fn claims() -> Claims {
        Claims::new(21, 49, NOW, NOW / 1_000 + 60, "a".into())
    }

    #[test]
    fn a_token_contains_run_and_job_in_the_scp_claim() {
        let token = claims().sign(&key());
        assert_eq!(token.split('.').count(), 3);
        let payload = BASE64.decode(token.split('.').nth(1).expect("payload")).expect("base64url");
        let json: serde_json::Value = serde_json::from_slice(&payload).expect("JSON");
        assert_eq!(json["scp"], "Actions.Results:21:49");
        assert_eq!(Claims::verify(&token, &key(), NOW), Some(claims()));
    }

    #[test]
    fn the_ac_claim_is_a_json_text_with_the_refs_of_the_job() {
        let ac = access_controls(&CacheRefs::of_job("feature", "main"));
        let token = Claims { ac, ..claims() }.sign(&key());
        let payload = BASE64.decode(token.split('.').nth(1).expect("payload")).expect("base64url");
        let json: serde_json::Value = serde_json::from_slice(&payload).expect("JSON");
        assert!(json["exp"].is_i64() && json["nbf"].is_i64(), "{json}");
        let rows: serde_json::Value = serde_json::from_str(json["ac"].as_str().expect("a text")).expect("JSON");
        let expected = json!([
            { "Scope": "refs/heads/feature", "Permission": 3 }, { "Scope": "refs/heads/main", "Permission": 1 },
        ]);
        assert_eq!(rows, expected);
        assert_eq!(access_controls(&CacheRefs::of_job("", "main")).matches("Scope").count(), 1);
    }

    #[test]
    fn tokens_with_the_longest_refs_and_tokens_without_the_ac_claim_are_valid() {
        let ac = access_controls(&CacheRefs::of_job(&"\"".repeat(255), &"日".repeat(133)));
        for ac in [ac, String::new()] {
            let claims = Claims { ac, ..claims() };
            assert_eq!(Claims::verify(&claims.sign(&key()), &key(), NOW), Some(claims));
        }
    }

    #[test]
    fn a_token_stays_valid_when_the_clock_is_set_back_by_an_hour() {
        let token = claims().sign(&key());
        assert_eq!(Claims::verify(&token, &key(), NOW - 3_600_000), Some(claims()));
    }

    #[test]
    fn expired_early_foreign_unsigned_and_broken_tokens_are_refused() {
        let token = claims().sign(&key());
        assert_eq!(Claims::verify(&token, &key(), NOW + 60_000), None, "expired");
        assert_eq!(Claims::verify(&token, &key(), NOW - 3_601_000), None, "not yet valid");
        assert_eq!(Claims::verify(&token, &SigningKey::derive(b"other", "runtime-token"), NOW), None);
        let (signed, signature) = token.rsplit_once('.').expect("three parts");
        let payload = signed.split_once('.').expect("two parts").1;
        let none = BASE64.encode(r#"{"alg":"none","typ":"JWT"}"#);
        for bad in [
            format!("{none}.{payload}."),
            format!("{none}.{payload}.{signature}"),
            format!("{signed}."),
            signed.to_owned(),
            format!("{signed}.{signature}A"),
            "a.b.c".into(),
            "..".into(),
            String::new(),
            "x".repeat(5_000),
        ] {
            assert_eq!(Claims::verify(&bad, &key(), NOW), None, "{bad}");
        }
        // Signed by us, but for another algorithm.
        let signed = format!("{none}.{payload}");
        let forged = format!("{signed}.{}", BASE64.encode(key().sign_plain(signed.as_bytes())));
        assert_eq!(Claims::verify(&forged, &key(), NOW), None);
    }
}
