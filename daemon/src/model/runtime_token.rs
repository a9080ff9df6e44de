//! The token of a workflow job: a JWT that the Actions clients read their ids from.
//!
//! HS256 only. Clients read the claim `scp` and nothing else; that the job still runs is checked
//! by the caller on every use.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use serde::{Deserialize, Serialize};

use super::secret::{SigningKey, equal};
use crate::clock::Millis;

/// The scope that carries run and job.
const SCOPE: &str = "Actions.Results";
const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
/// Longer tokens were not made here; bounds the work on hostile ones. Bytes.
const LENGTH_MAX: usize = 4_096;

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// `Actions.Results:<run>:<job>`, perhaps among other scopes.
    pub scp: String,
    /// Seconds since the epoch: made, valid from, valid until.
    pub iat: i64,
    /// See `iat`.
    pub nbf: i64,
    /// See `iat`.
    pub exp: i64,
    /// Unique to the token.
    pub jti: String,
    /// The run.
    #[serde(rename = "RunID")]
    pub run_id: u64,
    /// The job.
    #[serde(rename = "JobID")]
    pub job_id: u64,
}

/// What is read of a token's head.
#[derive(Deserialize)]
struct Header {
    alg: String,
}

impl Claims {
    /// Claims for one job, valid until `exp` (seconds since the epoch).
    pub fn new(run_id: u64, job_id: u64, now_ms: Millis, exp: i64, jti: String) -> Self {
        let now = now_ms.div_euclid(1_000);
        Self { scp: format!("{SCOPE}:{run_id}:{job_id}"), iat: now, nbf: now, exp, jti, run_id, job_id }
    }

    /// The token that makes these claims.
    pub fn sign(&self, key: &SigningKey) -> String {
        let payload = serde_json::to_vec(self).expect("claims are plain data");
        let signed = format!("{}.{}", BASE64.encode(HEADER), BASE64.encode(payload));
        let signature = BASE64.encode(key.sign_plain(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// The claims of `token`, if it is genuine and valid at `now_ms`. There is one answer for all
    /// that may be wrong: what exactly helps only those who forge.
    pub fn verify(token: &str, key: &SigningKey, now_ms: Millis) -> Option<Self> {
        if token.len() > LENGTH_MAX {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        if !equal(&BASE64.decode(signature).ok()?, &key.sign_plain(signed.as_bytes())) {
            return None;
        }
        // The signature covers the header, yet another algorithm must never be believed.
        let header: Header = serde_json::from_slice(&BASE64.decode(header).ok()?).ok()?;
        let claims: Self = serde_json::from_slice(&BASE64.decode(payload).ok()?).ok()?;
        let now = now_ms.div_euclid(1_000);
        (header.alg == "HS256" && claims.nbf <= now && now < claims.exp).then_some(claims)
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
    fn a_token_carries_run_and_job_where_clients_look() {
        let token = claims().sign(&key());
        assert_eq!(token.split('.').count(), 3);
        let payload = BASE64.decode(token.split('.').nth(1).expect("payload")).expect("base64url");
        let json: serde_json::Value = serde_json::from_slice(&payload).expect("JSON");
        assert_eq!(json["scp"], "Actions.Results:21:49");
        assert_eq!(Claims::verify(&token, &key(), NOW), Some(claims()));
    }

    #[test]
    fn expired_early_foreign_unsigned_and_broken_tokens_are_refused() {
        let token = claims().sign(&key());
        assert_eq!(Claims::verify(&token, &key(), NOW + 60_000), None, "expired");
        assert_eq!(Claims::verify(&token, &key(), NOW - 1_000), None, "not yet valid");
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
