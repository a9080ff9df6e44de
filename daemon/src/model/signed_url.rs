//! Signed URLs of artifact bytes: what they grant and how they are encoded.
//!
//! The parameters have the names of Azure's shared access signatures, because Azure's Python client drops all others:
//!
//! | name | value |
//! |---|---|
//! | `sv`, `sr` | constants: the version of the format and the kind of resource |
//! | `se` | the expiry, `2026-11-22T14:35:00Z` |
//! | `sp` | the operation: `r` to read, `cw` to write |
//! | `si` | the account that received the URL, if there is one |
//! | `sig` | the signature |
//!
//! The signature covers these values and artifact and generation of the path. It does not cover the host, so a URL
//! works on every listener and behind every proxy. It is hexadecimal because clients of the Azure family drop the
//! rest of a query value after a second `=`.

mod earlier;

use super::secret::{SigningKey, equal};
use crate::clock::Millis;

/// First path segment of all signed URLs. It cannot be an account name, since these begin with a letter or digit.
pub const PREFIX: &str = "_blob";
/// The value of the parameter `sv`. Clients require the parameter and do not read it.
const VERSION: &str = "2024-11-04";
/// The value of the parameter `sr`: a blob.
const RESOURCE: &str = "b";

/// What a URL may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `GET` and `HEAD`.
    Read,
    /// `PUT` of blocks and block list.
    Write,
}

impl Operation {
    /// Returns the value of the parameter `sp`.
    fn permissions(self) -> &'static str {
        match self {
            Self::Read => "r",
            Self::Write => "cw",
        }
    }

    fn from_permissions(text: &str) -> Option<Self> {
        [Self::Read, Self::Write].into_iter().find(|operation| operation.permissions() == text)
    }
}

/// The account that received a URL, and how it was authenticated. The URL is valid only as long as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IssuedTo {
    /// Id of the account.
    pub user: u64,
    /// Id of the access token and of its owner. `None`: a password was used.
    pub token: Option<(u64, u64)>,
}

impl IssuedTo {
    /// Returns the value of the parameter `si`.
    pub(super) fn text(self) -> String {
        match self.token {
            Some((id, owner)) => format!("{}.{id}.{owner}", self.user),
            None => self.user.to_string(),
        }
    }

    pub(super) fn parse(text: &str) -> Result<Self, UrlRefused> {
        let parts: Vec<&str> = text.split('.').collect();
        match *parts.as_slice() {
            [user] => Ok(Self { user: decimal(user)?, token: None }),
            [user, id, owner] => Ok(Self { user: decimal(user)?, token: Some((decimal(id)?, decimal(owner)?)) }),
            _ => Err(UrlRefused::Signature),
        }
    }
}

/// A permission for one generation of one artifact, until a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The permitted operation.
    pub operation: Operation,
    /// Id of the artifact.
    pub artifact: u64,
    /// Its generation: the bytes of one upload.
    pub generation: u64,
    /// When the permission expires, in seconds since the epoch.
    pub expires_secs: i64,
    /// The account that received the URL. `None`: a job, an anonymous caller, or the operator on this machine.
    pub issued_to: Option<IssuedTo>,
}

/// Why a URL does not permit a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlRefused {
    /// The signature does not match, or the URL is incomplete.
    #[error("the signature of this address is not valid")]
    Signature,
    /// The URL is authentic but has expired.
    #[error("this address has expired")]
    Expired,
    /// The URL is authentic but for another operation.
    #[error("this address is not for this operation")]
    Operation,
}

/// A grant as a URL claims it, and the values that its signature must cover.
struct Claim {
    grant: Grant,
    signed: Vec<Vec<u8>>,
}

impl Grant {
    /// Returns path and query of the URL. `file` is the last path segment, for people and for clients that look at the
    /// file extension. It is not signed.
    pub fn path_and_query(&self, key: &SigningKey, file: &str) -> String {
        let Self { operation, artifact, generation, expires_secs, issued_to } = self;
        let expiry = expiry_text(*expires_secs);
        let sp = operation.permissions();
        let policy = issued_to.map(IssuedTo::text);
        let sig = hex::encode(signature(key, &self.signed_values(sp, &expiry, policy.as_deref(), VERSION, RESOURCE)));
        let si = policy.map(|policy| format!("&si={policy}")).unwrap_or_default();
        // As the clients of Azure encode it.
        let se = expiry.replace(':', "%3A");
        format!("/{PREFIX}/{artifact}/{generation}/{file}?sv={VERSION}&se={se}&sr={RESOURCE}&sp={sp}{si}&sig={sig}")
    }

    /// Verifies a URL that was used for `operation` at `now_ms` and returns its grant.
    ///
    /// `query` is the raw query. It may contain other parameters.
    pub fn verify(
        key: &SigningKey,
        operation: Operation,
        artifact: &str,
        generation: &str,
        query: &str,
        now_ms: Millis,
    ) -> Result<Self, UrlRefused> {
        let (artifact, generation) = (decimal(artifact)?, decimal(generation)?);
        let claim = if has(query, "sp") {
            Self::claim(artifact, generation, query)?
        } else {
            earlier::claim(artifact, generation, query)?
        };
        // Clients may add base64 padding, since they take the signature for base64.
        let sig = required(query, "sig")?;
        let sig = hex::decode(sig.trim_end_matches('=')).map_err(|_| UrlRefused::Signature)?;
        if !equal(&sig, &signature(key, &claim.signed)) {
            return Err(UrlRefused::Signature);
        }
        let grant = claim.grant;
        if grant.expires_secs.saturating_mul(1_000) <= now_ms {
            return Err(UrlRefused::Expired);
        }
        if grant.operation == operation { Ok(grant) } else { Err(UrlRefused::Operation) }
    }

    fn claim(artifact: u64, generation: u64, query: &str) -> Result<Claim, UrlRefused> {
        let refused = UrlRefused::Signature;
        let (sp, expiry) = (required(query, "sp")?, required(query, "se")?);
        let policy = if has(query, "si") { Some(required(query, "si")?) } else { None };
        let expires: jiff::Timestamp = expiry.parse().map_err(|_| refused)?;
        let grant = Self {
            operation: Operation::from_permissions(&sp).ok_or(refused)?,
            artifact,
            generation,
            expires_secs: expires.as_second(),
            issued_to: policy.as_deref().map(IssuedTo::parse).transpose()?,
        };
        let (version, resource) = (required(query, "sv")?, required(query, "sr")?);
        let signed = grant.signed_values(&sp, &expiry, policy.as_deref(), &version, &resource);
        Ok(Claim { grant, signed })
    }

    /// Returns the values that the signature covers, as they are in the URL.
    fn signed_values(
        &self,
        permissions: &str,
        expiry: &str,
        policy: Option<&str>,
        version: &str,
        resource: &str,
    ) -> Vec<Vec<u8>> {
        let texts = [permissions, expiry, version, resource].into_iter().chain(policy);
        let numbers = [self.artifact, self.generation].map(|number| number.to_be_bytes().to_vec());
        numbers.into_iter().chain(texts.map(|text| text.as_bytes().to_vec())).collect()
    }
}

fn signature(key: &SigningKey, values: &[Vec<u8>]) -> [u8; 32] {
    let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    key.sign(&values)
}

/// Returns a time in the format of the parameter `se`.
fn expiry_text(secs: i64) -> String {
    let time = jiff::Timestamp::from_second(secs).unwrap_or(jiff::Timestamp::MAX);
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Parses a number in its canonical spelling. farrier signs no other spelling.
pub(super) fn decimal(text: &str) -> Result<u64, UrlRefused> {
    let number: u64 = text.parse().map_err(|_| UrlRefused::Signature)?;
    if number.to_string() == text { Ok(number) } else { Err(UrlRefused::Signature) }
}

/// Returns whether the query has a parameter `name`.
fn has(query: &str, name: &str) -> bool {
    url::form_urlencoded::parse(query.as_bytes()).any(|(key, _)| key == name)
}

/// Returns the decoded value of `name`, or an error if it is absent or repeated.
pub(super) fn required(query: &str, name: &str) -> Result<String, UrlRefused> {
    single(query, name).ok_or(UrlRefused::Signature)
}

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
        Grant { operation: Operation::Write, artifact: 12, generation: 3, expires_secs: 1_001, issued_to: None }
    }

    fn verify(path_and_query: &str, operation: Operation, now: Millis) -> Result<Grant, UrlRefused> {
        let (path, query) = path_and_query.split_once('?').expect("a query");
        let mut segments = path.split('/').skip(2);
        let (artifact, generation) = (segments.next().expect("artifact"), segments.next().expect("generation"));
        Grant::verify(&key(), operation, artifact, generation, query, now)
    }

    #[test]
    fn a_signed_url_grants_only_the_signed_operation_until_it_expires() {
        let url = grant().path_and_query(&key(), "archive.zip");
        let start = "/_blob/12/3/archive.zip?sv=2024-11-04&se=1970-01-01T00%3A16%3A41Z&sr=b&sp=cw&sig=";
        assert!(url.starts_with(start), "{url}");
        assert_eq!(verify(&url, Operation::Write, NOW), Ok(grant()));
        assert_eq!(verify(&url, Operation::Read, NOW), Err(UrlRefused::Operation));
        assert_eq!(verify(&url, Operation::Write, 1_001_000), Err(UrlRefused::Expired));
    }

    #[test]
    fn the_account_in_a_url_cannot_be_changed_or_removed() {
        for issued_to in [IssuedTo { user: 7, token: None }, IssuedTo { user: 7, token: Some((12, 7)) }] {
            let grant = Grant { issued_to: Some(issued_to), ..grant() };
            let url = grant.path_and_query(&key(), "a");
            let to = format!("&si={}", issued_to.text());
            assert_eq!(verify(&url, Operation::Write, NOW), Ok(grant));
            for other in ["", "&si=", "&si=8", "&si=07", "&si=7.12", "&si=7.12.8", &to.repeat(2)] {
                assert!(verify(&url.replace(&to, other), Operation::Write, NOW).is_err(), "{other}");
            }
        }
    }

    #[test]
    fn any_changed_character_of_path_operation_expiry_or_signature_is_refused() {
        let url = grant().path_and_query(&key(), "archive.zip");
        let start = "/_blob/".len();
        let file = url.find("/archive").expect("file")..url.find("sv=").expect("sv");
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
    fn signatures_may_be_padded_or_percent_encoded_but_not_repeated() {
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
    fn signed_urls_contain_no_characters_or_parameters_that_clients_rewrite() {
        let url = grant().path_and_query(&key(), "archive.zip");
        let (path, query) = url.split_once('?').expect("a query");
        assert!(path.chars().all(|c| c.is_ascii_alphanumeric() || "/._~-".contains(c)));
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').expect("a value");
            assert!(!["comp", "blockid"].contains(&name) && !value.is_empty() && !value.contains('='));
        }
    }
}
