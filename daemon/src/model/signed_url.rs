//! Signed addresses of artifact bytes: what they grant and how it is written.
//!
//! Signed are operation, artifact, generation and expiry; not the host, so one address works on
//! every listener and behind every proxy. The signature is hexadecimal because clients of the
//! Azure family drop what follows a second `=` in a query value.

use super::secret::{SigningKey, equal};
use crate::clock::Millis;

/// First path segment of all signed addresses. No account can have it: names begin with a letter
/// or digit.
pub const PREFIX: &str = "_blob";

/// What an address may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `GET` and `HEAD`.
    Read,
    /// `PUT` of blocks and block list.
    Write,
}

impl Operation {
    /// The word in the address.
    pub fn word(self) -> &'static str {
        match self {
            Self::Read => "r",
            Self::Write => "w",
        }
    }
}

/// One right, for one generation of one artifact, until a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What may be done.
    pub operation: Operation,
    /// The artifact.
    pub artifact: u64,
    /// Its generation: bytes of one upload.
    pub generation: u64,
    /// Seconds since the epoch at which the right ends.
    pub expires_secs: i64,
}

/// Why an address does not grant what it is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The signature does not fit the rest, or the address is not complete.
    #[error("the signature of this address is not valid")]
    Signature,
    /// The address is genuine and its time is over.
    #[error("this address has expired")]
    Expired,
    /// The address is genuine and for another operation.
    #[error("this address is not for this operation")]
    Operation,
}

impl Grant {
    /// Path and query of the address. `file` is the last path segment, for people and clients
    /// that go by its ending; it is not signed.
    pub fn path_and_query(&self, key: &SigningKey, file: &str) -> String {
        let Self { operation, artifact, generation, expires_secs } = self;
        let sig = hex::encode(self.signature(key));
        let op = operation.word();
        format!("/{PREFIX}/{artifact}/{generation}/{file}?op={op}&exp={expires_secs}&sig={sig}")
    }

    /// Reads the grant out of an address that was used for `operation` at `now_ms`.
    ///
    /// `query` is the raw query: other parameters may stand in it.
    pub fn verify(
        key: &SigningKey,
        operation: Operation,
        artifact: &str,
        generation: &str,
        query: &str,
        now_ms: Millis,
    ) -> Result<Self, Refused> {
        let field = |name| single(query, name).ok_or(Refused::Signature);
        let claimed = match field("op")?.as_str() {
            "r" => Operation::Read,
            "w" => Operation::Write,
            _ => return Err(Refused::Signature),
        };
        let grant = Self {
            operation: claimed,
            artifact: decimal(artifact)?,
            generation: decimal(generation)?,
            expires_secs: field("exp")?.parse().map_err(|_| Refused::Signature)?,
        };
        // Clients may add base64 padding to what they take for base64.
        let signature = hex::decode(field("sig")?.trim_end_matches('=')).map_err(|_| Refused::Signature)?;
        if !equal(&signature, &grant.signature(key)) {
            return Err(Refused::Signature);
        }
        if grant.expires_secs.saturating_mul(1_000) <= now_ms {
            return Err(Refused::Expired);
        }
        if claimed == operation { Ok(grant) } else { Err(Refused::Operation) }
    }

    fn signature(&self, key: &SigningKey) -> [u8; 32] {
        key.sign(&[
            self.operation.word().as_bytes(),
            &self.artifact.to_be_bytes(),
            &self.generation.to_be_bytes(),
            &self.expires_secs.to_be_bytes(),
        ])
    }
}

/// A number in the one spelling that we write; another one was not signed by us.
fn decimal(text: &str) -> Result<u64, Refused> {
    let number: u64 = text.parse().map_err(|_| Refused::Signature)?;
    if number.to_string() == text { Ok(number) } else { Err(Refused::Signature) }
}

/// The value of `name`, decoded; `None` when it is absent or there are several.
fn single(query: &str, name: &str) -> Option<String> {
    let mut values = url::form_urlencoded::parse(query.as_bytes()).filter(|(key, _)| key == name);
    let (_, value) = values.next()?;
    values.next().is_none().then(|| value.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = 1_000_000;

    fn key() -> SigningKey {
        SigningKey::derive(b"root", "signed-url")
    }

    fn grant() -> Grant {
        Grant { operation: Operation::Write, artifact: 12, generation: 3, expires_secs: 1_001 }
    }

    fn verify(path_and_query: &str, operation: Operation, now: Millis) -> Result<Grant, Refused> {
        let (path, query) = path_and_query.split_once('?').expect("a query");
        let mut segments = path.split('/').skip(2);
        let (artifact, generation) = (segments.next().expect("artifact"), segments.next().expect("generation"));
        Grant::verify(&key(), operation, artifact, generation, query, now)
    }

    #[test]
    fn an_address_grants_exactly_what_was_signed() {
        let url = grant().path_and_query(&key(), "archive.zip");
        assert!(url.starts_with("/_blob/12/3/archive.zip?op=w&exp=1001&sig="), "{url}");
        assert_eq!(verify(&url, Operation::Write, NOW), Ok(grant()));
        assert_eq!(verify(&url, Operation::Read, NOW), Err(Refused::Operation));
        assert_eq!(verify(&url, Operation::Write, 1_001_000), Err(Refused::Expired));
    }

    #[test]
    fn any_changed_character_of_path_operation_expiry_or_signature_is_refused() {
        let url = grant().path_and_query(&key(), "archive.zip");
        let start = "/_blob/".len();
        let file = url.find("/archive").expect("file")..url.find("op=").expect("op");
        for at in (start..url.len()).filter(|at| !file.contains(at)) {
            for new in ['0', '9', 'r', 'f', '/'] {
                let mut changed: Vec<char> = url.chars().collect();
                if changed[at] == new {
                    continue;
                }
                changed[at] = new;
                let changed: String = changed.into_iter().collect();
                if changed.matches('/').count() != url.matches('/').count() {
                    continue; // another route
                }
                assert!(verify(&changed, Operation::Write, NOW).is_err(), "{changed}");
            }
        }
    }

    #[test]
    fn padded_and_percent_encoded_signatures_are_accepted_and_doubled_ones_are_not() {
        let url = grant().path_and_query(&key(), "a");
        assert!(verify(&format!("{url}=="), Operation::Write, NOW).is_ok());
        assert!(verify(&format!("{url}%3D"), Operation::Write, NOW).is_ok());
        let (head, sig) = url.split_once("sig=").expect("sig");
        let encoded: Vec<String> = sig.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let encoded = encoded.concat();
        assert!(verify(&format!("{head}sig={encoded}"), Operation::Write, NOW).is_ok());
        assert!(verify(&format!("{url}&comp=block&blockid=x"), Operation::Write, NOW).is_ok());
        assert!(verify(&format!("{url}&sig={sig}"), Operation::Write, NOW).is_err());
    }

    #[test]
    fn addresses_hold_nothing_that_clients_rewrite() {
        let url = grant().path_and_query(&key(), "archive.zip");
        let (path, query) = url.split_once('?').expect("a query");
        assert!(path.chars().all(|c| c.is_ascii_alphanumeric() || "/._~-".contains(c)));
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').expect("a value");
            assert!(!["comp", "blockid"].contains(&name) && !value.is_empty() && !value.contains('='));
        }
    }
}
