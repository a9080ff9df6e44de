//! Secrets: random bytes, keys derived from the daemon's root secret, and constant-time comparison.
//!
//! A secret never appears in `Debug` output. Only explicit methods return its value.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Returns random bytes from the operating system.
///
/// Panics if the system cannot provide them: without randomness no secret is safe.
pub fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the system gives randomness");
    bytes
}

/// Returns the SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// A secret that the operator has chosen and gives to others.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedSecret(String);

impl SharedSecret {
    /// Shortest secret, in bytes.
    pub const MIN_BYTES: usize = 16;

    /// Returns the secret, or `None` if it is too short.
    pub fn new(text: String) -> Option<Self> {
        (text.len() >= Self::MIN_BYTES).then_some(Self(text))
    }

    /// Returns whether `text` is the secret, in a time that does not depend on where they differ.
    pub fn matches(&self, text: &str) -> bool {
        equal(&sha256(self.0.as_bytes()), &sha256(text.as_bytes()))
    }
}

impl fmt::Debug for SharedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedSecret(…)")
    }
}

/// A key for one purpose.
#[derive(Clone)]
pub struct SigningKey([u8; 32]);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

impl SigningKey {
    /// Derives the key for `purpose` from `root`. Keys of different purposes are independent.
    pub fn derive(root: &[u8], purpose: &str) -> Self {
        Self(mac(root, &[purpose.as_bytes()]))
    }

    /// Returns HMAC-SHA256 over `parts`, each preceded by its length, so that different lists never look the same.
    pub fn sign(&self, parts: &[&[u8]]) -> [u8; 32] {
        let lengths: Vec<[u8; 8]> = parts.iter().map(|part| (part.len() as u64).to_be_bytes()).collect();
        let framed: Vec<&[u8]> = lengths.iter().zip(parts).flat_map(|(length, part)| [&length[..], part]).collect();
        mac(&self.0, &framed)
    }

    /// Returns HMAC-SHA256 over `bytes` alone, as protocols define it.
    pub fn sign_plain(&self, bytes: &[u8]) -> [u8; 32] {
        mac(&self.0, &[bytes])
    }
}

/// Compares two byte strings in a time that does not depend on where they differ.
pub fn equal(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}

fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_depend_on_purpose_and_part_boundaries_and_debug_hides_keys() {
        let key = SigningKey::derive(b"root", "a");
        assert_ne!(key.0, SigningKey::derive(b"root", "b").0);
        assert_ne!(key.sign(&[b"ab", b"c"]), key.sign(&[b"a", b"bc"]));
        assert_eq!(format!("{key:?}"), "SigningKey(…)");
    }

    #[test]
    fn a_shared_secret_matches_only_itself_and_is_not_printed() {
        let secret = SharedSecret::new("0123456789abcdef".into()).expect("long enough");
        assert!(secret.matches("0123456789abcdef"));
        for other in ["", "0123456789abcde", "0123456789abcdeF", "0123456789abcdef0"] {
            assert!(!secret.matches(other), "{other}");
        }
        assert_eq!(format!("{secret:?}"), "SharedSecret(…)");
        assert_eq!(SharedSecret::new("0123456789abcde".into()), None);
    }
}
