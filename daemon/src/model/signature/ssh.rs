//! Signatures with SSH keys, as `ssh-keygen -Y sign` makes them. The format is described in OpenSSH's PROTOCOL.sshsig.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ssh_key::{
    Algorithm, PublicKey, SshSig,
    encoding::{Decode as _, Encode as _},
};

/// First line of a signature.
pub(super) const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";
/// What git signs is in this namespace, so that a signature for another purpose does not count.
const NAMESPACE: &str = "git";
/// Longest key, in bytes: an RSA key of 8,192 bits. Signatures of longer keys take much longer to verify, and every
/// reader of a commit starts a verification.
const BLOB_MAX_BYTES: usize = 1_100;
/// Length of what security keys append to a signature: a byte with flags, and a counter.
const FLAGS_AND_COUNTER_BYTES: usize = 5;
/// The flag that says that somebody touched the security key.
const USER_PRESENT: u8 = 1;

/// A signature with an SSH key.
#[derive(Debug)]
pub struct SshSignature {
    signature: SshSig,
    blob: Vec<u8>,
}

impl SshSignature {
    /// Reads the text form of a signature.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let body = text.trim().strip_prefix(BEGIN)?.strip_suffix(END)?;
        let encoded: String = body.split_ascii_whitespace().collect();
        let bytes = STANDARD.decode(encoded).ok()?;
        let mut rest = bytes.as_slice();
        let signature = SshSig::decode(&mut rest).ok()?;
        let blob = signature.public_key().encode_vec().ok()?;
        let is_complete = rest.is_empty() && signature.version() == SshSig::VERSION;
        is_complete.then_some(Self { signature, blob })
    }

    /// Returns the public key that it names, in the format of the SSH protocol.
    pub fn blob(&self) -> &[u8] {
        &self.blob
    }

    /// Returns whether the key that it names has signed `payload` for git.
    pub fn fits(&self, payload: &[u8]) -> bool {
        // A signature must name the algorithm of the key. The library does not compare them for all kinds of keys, and
        // takes any bytes for a signature with RSA: an untouched security key could pass as another kind.
        let is_accepted = match (self.signature.public_key().algorithm(), self.signature.algorithm()) {
            (Algorithm::Rsa { .. }, Algorithm::Rsa { hash: Some(_) }) => true,
            (key @ (Algorithm::Ed25519 | Algorithm::Ecdsa { .. }), named) => named == key,
            (key @ (Algorithm::SkEd25519 | Algorithm::SkEcdsaSha2NistP256), named) => named == key && self.is_touched(),
            _ => false,
        };
        let key = PublicKey::from(self.signature.public_key().clone());
        is_accepted && self.blob.len() <= BLOB_MAX_BYTES && key.verify(NAMESPACE, payload, &self.signature).is_ok()
    }

    /// Returns whether the signature of a security key says that somebody touched it.
    fn is_touched(&self) -> bool {
        let bytes = self.signature.signature_bytes();
        let flags = bytes.len().checked_sub(FLAGS_AND_COUNTER_BYTES).and_then(|at| bytes.get(at));
        flags.is_some_and(|flags| flags & USER_PRESENT != 0)
    }
}
