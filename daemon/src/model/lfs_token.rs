//! The token of `git-lfs-authenticate`: a JWT for the LFS routes of one repository.
//!
//! HS256 only. The caller must check on every use that the account or the deploy key still has the right for the
//! operation.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use serde::{Deserialize, Serialize};

use super::secret::{SigningKey, equal};
use crate::clock::Millis;

const HEADER: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
/// Longest accepted token, in bytes.
const LENGTH_MAX: usize = 1_024;

/// What the holder of a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LfsAccess {
    /// Download objects.
    Download,
    /// Download and upload objects, and use locks.
    Upload,
}

/// The claims of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LfsClaims {
    /// The only repository.
    pub repository: u64,
    /// The account, or 0 for a deploy key of the repository.
    pub account: u64,
    /// The SSH key that was used, or 0. The token is refused when the key was deleted.
    #[serde(default)]
    pub key: u64,
    /// What the token allows.
    pub operation: LfsAccess,
    /// Expires at, in seconds since the epoch.
    pub exp: i64,
}

/// Returns whether `text` has the form of a token. Access tokens contain no dots.
pub fn has_form(text: &str) -> bool {
    text.bytes().filter(|byte| *byte == b'.').count() == 2
}

impl LfsClaims {
    /// Returns the signed token.
    pub fn sign(&self, key: &SigningKey) -> String {
        let payload = serde_json::to_vec(self).expect("claims are plain data");
        let signed = format!("{}.{}", BASE64.encode(HEADER), BASE64.encode(payload));
        let signature = BASE64.encode(key.sign_plain(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// Returns the claims of `token` if it is authentic and valid at `now_ms`.
    pub fn verify(token: &str, key: &SigningKey, now_ms: Millis) -> Option<Self> {
        if token.len() > LENGTH_MAX {
            return None;
        }
        let (signed, signature) = token.rsplit_once('.')?;
        if !equal(&BASE64.decode(signature).ok()?, &key.sign_plain(signed.as_bytes())) {
            return None;
        }
        // The key signs only tokens with this header.
        let payload = signed.strip_prefix(&BASE64.encode(HEADER))?.strip_prefix('.')?;
        let claims: Self = serde_json::from_slice(&BASE64.decode(payload).ok()?).ok()?;
        (now_ms.div_euclid(1_000) < claims.exp).then_some(claims)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_valid_until_it_expires_and_only_unchanged() {
        let key = SigningKey::derive(b"root", "lfs-token");
        let claims = LfsClaims { repository: 3, account: 7, key: 4, operation: LfsAccess::Download, exp: 100 };
        let token = claims.sign(&key);
        assert!(has_form(&token) && !has_form("0123456789abcdef"));
        assert_eq!(LfsClaims::verify(&token, &key, 99_999), Some(claims));
        assert_eq!(LfsClaims::verify(&token, &key, 100_000), None, "expired");
        assert_eq!(LfsClaims::verify(&token, &SigningKey::derive(b"root", "runtime-token"), 0), None);
        let (signed, _) = token.rsplit_once('.').expect("three parts");
        for bad in [format!("{token}A"), format!("{signed}."), signed.to_owned(), "..".into(), "x".repeat(5_000)] {
            assert_eq!(LfsClaims::verify(&bad, &key, 0), None, "{bad}");
        }
    }
}
