//! Signed addresses of LFS objects: what they grant and how they are encoded.
//!
//! The path is `/<owner>/<repository>.git/info/lfs/objects/<oid>`, or `…/info/lfs/verify` for the check after an
//! upload. The query has the operation, the ID of the repository, the size, the end and the account. The signature
//! covers these and the oid. It does not cover owner and name: the ID decides, so an address stays valid after a
//! rename. It does not cover the host, so an address works on every listener and behind every proxy.

use super::{
    secret::{SigningKey, equal},
    signed_url::{IssuedTo, UrlRefused, decimal, required},
};
use crate::clock::Millis;

/// What an address may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LfsOperation {
    /// `GET` and `HEAD`.
    Download,
    /// `PUT`.
    Upload,
    /// `POST` of oid and size after an upload.
    Verify,
}

impl LfsOperation {
    fn word(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Upload => "upload",
            Self::Verify => "verify",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        [Self::Download, Self::Upload, Self::Verify].into_iter().find(|operation| operation.word() == word)
    }
}

/// The caller that received an address. The address is valid only as long as the caller has its access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LfsCaller {
    /// A caller without an account.
    Anonymous,
    /// An account with a password or an access token.
    Account(IssuedTo),
    /// An account without credentials that can be withdrawn alone: the operator on this machine.
    User(u64),
    /// An account with a token of `git-lfs-authenticate`.
    Key {
        /// The account.
        account: u64,
        /// The key with which it signed in over SSH.
        key: u64,
    },
    /// A deploy key of the repository with a token of `git-lfs-authenticate`, by the ID of the public key.
    DeployKey(u64),
}

impl LfsCaller {
    fn text(self) -> String {
        match self {
            Self::Anonymous => "-".into(),
            Self::Account(account) => account.text(),
            Self::User(id) => format!("u{id}"),
            Self::Key { account, key } => format!("k{account}.{key}"),
            Self::DeployKey(key) => format!("d{key}"),
        }
    }

    fn parse(text: &str) -> Result<Self, UrlRefused> {
        let mut rest = text.chars();
        match rest.next() {
            Some('-') if text == "-" => Ok(Self::Anonymous),
            Some('u') => Ok(Self::User(decimal(rest.as_str())?)),
            Some('d') => Ok(Self::DeployKey(decimal(rest.as_str())?)),
            Some('k') => {
                let (account, key) = rest.as_str().split_once('.').ok_or(UrlRefused::Signature)?;
                Ok(Self::Key { account: decimal(account)?, key: decimal(key)? })
            }
            _ => Ok(Self::Account(IssuedTo::parse(text)?)),
        }
    }
}

/// A permission for one object of one repository, until a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LfsGrant {
    /// The permitted operation.
    pub operation: LfsOperation,
    /// ID of the repository.
    pub repository: u64,
    /// SHA-256 of the object.
    pub oid: [u8; 32],
    /// Size of the object, bytes.
    pub size: u64,
    /// When the permission expires, in seconds since the epoch.
    pub expires_secs: i64,
    /// The caller that received the address.
    pub caller: LfsCaller,
}

impl LfsGrant {
    /// Returns the query of the address, without `?`.
    pub fn query(&self, key: &SigningKey) -> String {
        let Self { operation, repository, size, expires_secs, caller, .. } = self;
        let (word, to, sig) = (operation.word(), caller.text(), hex::encode(self.signature(key)));
        format!("op={word}&repository={repository}&size={size}&end={expires_secs}&to={to}&sig={sig}")
    }

    /// Verifies an address for the object `oid` that was used for `operation` at `now_ms`, and returns its grant.
    /// `query`: the raw query.
    pub fn verify(
        key: &SigningKey,
        operation: LfsOperation,
        oid: &[u8; 32],
        query: &str,
        now_ms: Millis,
    ) -> Result<Self, UrlRefused> {
        let refused = UrlRefused::Signature;
        let end = required(query, "end")?;
        let grant = Self {
            operation: LfsOperation::parse(&required(query, "op")?).ok_or(refused)?,
            repository: decimal(&required(query, "repository")?)?,
            oid: *oid,
            size: decimal(&required(query, "size")?)?,
            expires_secs: i64::try_from(decimal(&end)?).map_err(|_| refused)?,
            caller: LfsCaller::parse(&required(query, "to")?)?,
        };
        let sig = hex::decode(required(query, "sig")?).map_err(|_| refused)?;
        if !equal(&sig, &grant.signature(key)) {
            return Err(refused);
        }
        if grant.expires_secs.saturating_mul(1_000) <= now_ms {
            return Err(UrlRefused::Expired);
        }
        if grant.operation == operation { Ok(grant) } else { Err(UrlRefused::Operation) }
    }

    fn signature(&self, key: &SigningKey) -> [u8; 32] {
        key.sign(&[
            self.operation.word().as_bytes(),
            &self.repository.to_be_bytes(),
            &self.oid,
            &self.size.to_be_bytes(),
            &self.expires_secs.to_be_bytes(),
            self.caller.text().as_bytes(),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Millis = 1_000_000;

    fn key() -> SigningKey {
        SigningKey::derive(b"root", "lfs-address")
    }

    fn grant(caller: LfsCaller) -> LfsGrant {
        LfsGrant { operation: LfsOperation::Upload, repository: 12, oid: [7; 32], size: 3, expires_secs: 1_001, caller }
    }

    fn verify(query: &str) -> Result<LfsGrant, UrlRefused> {
        LfsGrant::verify(&key(), LfsOperation::Upload, &[7; 32], query, NOW)
    }

    #[test]
    fn an_address_grants_only_the_signed_operation_and_object_until_it_expires() {
        for caller in [
            LfsCaller::Anonymous,
            LfsCaller::User(3),
            LfsCaller::Key { account: 3, key: 8 },
            LfsCaller::DeployKey(8),
            LfsCaller::Account(IssuedTo { user: 7, token: None }),
            LfsCaller::Account(IssuedTo { user: 7, token: Some((12, 8)) }),
        ] {
            let query = grant(caller).query(&key());
            assert_eq!(verify(&query), Ok(grant(caller)));
            let other = |operation, oid, now| LfsGrant::verify(&key(), operation, oid, &query, now);
            assert_eq!(other(LfsOperation::Download, &[7; 32], NOW), Err(UrlRefused::Operation));
            assert_eq!(other(LfsOperation::Upload, &[8; 32], NOW), Err(UrlRefused::Signature));
            assert_eq!(other(LfsOperation::Upload, &[7; 32], 1_001_000), Err(UrlRefused::Expired));
        }
    }

    #[test]
    fn any_changed_character_of_the_query_is_refused() {
        let query = grant(LfsCaller::User(3)).query(&key());
        for at in 0..query.len() {
            for new in ['0', '9', 'u', '-', '&'] {
                let mut changed: Vec<char> = query.chars().collect();
                if changed[at] != new {
                    changed[at] = new;
                    assert!(verify(&changed.into_iter().collect::<String>()).is_err(), "{at} {new}");
                }
            }
        }
        for bad in ["", "op=upload", &format!("{query}&size=3"), &query.replace("size=3", "size=+3")] {
            assert!(verify(bad).is_err(), "{bad}");
        }
    }
}
