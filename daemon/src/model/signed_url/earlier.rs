//! The parameters of URLs that earlier versions signed: `op`, `exp`, `to` and `sig`.
//!
//! These URLs stay valid until they expire, so that an update of the daemon does not end uploads and downloads.

use super::{Claim, Grant, IssuedTo, Operation, UrlRefused, has, required};

/// Returns the grant that a URL claims.
pub(super) fn claim(artifact: u64, generation: u64, query: &str) -> Result<Claim, UrlRefused> {
    let op = required(query, "op")?;
    let operation = match op.as_str() {
        "r" => Operation::Read,
        "w" => Operation::Write,
        _ => return Err(UrlRefused::Signature),
    };
    let expires_secs: i64 = required(query, "exp")?.parse().map_err(|_| UrlRefused::Signature)?;
    let issued_to = if has(query, "to") { Some(IssuedTo::parse(&required(query, "to")?)?) } else { None };
    let numbers = [artifact.to_be_bytes(), generation.to_be_bytes(), expires_secs.to_be_bytes()];
    let mut signed = vec![op.into_bytes()];
    signed.extend(numbers.map(Vec::from));
    signed.extend(issued_to.map(|account| account.text().into_bytes()));
    Ok(Claim { grant: Grant { operation, artifact, generation, expires_secs, issued_to }, signed })
}

#[cfg(test)]
mod tests {
    use crate::{
        clock::Millis,
        model::{
            secret::SigningKey,
            signed_url::{Grant, IssuedTo, Operation, UrlRefused},
        },
    };

    // Signed by version 0.1 with the key that is derived from "root".
    const WRITE: &str = "op=w&exp=1001&sig=a0ba3cf8461223d8bbf097b995819bf9c6e287e2a34a49734fabb34df08c3a3d";
    const READ_FOR_ACCOUNT: &str =
        "op=r&exp=1001&to=7.12.7&sig=c0816e47fb358e7269c08cd900453586a02d415064d7f0704a9b23549ce3c7ff";

    fn verify(query: &str, operation: Operation, now: Millis) -> Result<Grant, UrlRefused> {
        Grant::verify(&SigningKey::derive(b"root", "signed-url"), operation, "12", "3", query, now)
    }

    #[test]
    fn urls_of_earlier_versions_are_valid_until_they_expire() {
        let write =
            Grant { operation: Operation::Write, artifact: 12, generation: 3, expires_secs: 1_001, issued_to: None };
        let account = IssuedTo { user: 7, token: Some((12, 7)) };
        let read = Grant { operation: Operation::Read, issued_to: Some(account), ..write };
        assert_eq!(verify(WRITE, Operation::Write, 1_000_000), Ok(write));
        assert_eq!(verify(READ_FOR_ACCOUNT, Operation::Read, 1_000_000), Ok(read));
        assert_eq!(verify(WRITE, Operation::Read, 1_000_000), Err(UrlRefused::Operation));
        assert_eq!(verify(WRITE, Operation::Write, 1_001_000), Err(UrlRefused::Expired));
    }

    #[test]
    fn a_modified_url_of_an_earlier_version_is_refused() {
        for (old, new) in [("op=w", "op=r"), ("exp=1001", "exp=1002"), ("sig=", "to=7&sig="), ("sig=", "sp=cw&sig=")] {
            let changed = WRITE.replace(old, new);
            assert_eq!(verify(&changed, Operation::Write, 1_000_000), Err(UrlRefused::Signature), "{changed}");
        }
        let removed = READ_FOR_ACCOUNT.replace("&to=7.12.7", "");
        assert_eq!(verify(&removed, Operation::Read, 1_000_000), Err(UrlRefused::Signature));
    }
}
