//! Public SSH keys.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use farrierd::model::secret;

/// Returns a public key as one line. Equal seeds give equal keys. Nobody has the private key.
pub fn ssh_key(seed: &str) -> String {
    let mut blob = Vec::new();
    for part in [b"ssh-ed25519".as_slice(), &secret::sha256(seed.as_bytes())] {
        blob.extend(u32::try_from(part.len()).expect("short").to_be_bytes());
        blob.extend(part);
    }
    format!("ssh-ed25519 {} {seed}@example.org", STANDARD.encode(blob))
}
