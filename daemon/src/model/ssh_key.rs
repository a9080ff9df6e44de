//! Public SSH keys, as users give them.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD},
};
use ssh_key::public::{KeyData, PublicKey as Decoded, RsaPublicKey};

use super::secret;

/// Longest text of a key, in bytes. The text of the largest RSA key has about 2,800.
pub const TEXT_MAX_BYTES: usize = 16 << 10;
/// Longest comment, in characters.
pub const COMMENT_MAX_CHARS: usize = 1_000;
/// Smallest and largest RSA key, in bits.
pub const RSA_BITS: std::ops::RangeInclusive<u32> = 2_048..=16_384;

/// Names of the algorithms of keys.
const ALGORITHMS: [&str; 7] = [
    "ssh-ed25519",
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ssh-ed25519@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "ssh-rsa",
];
const DSA: &str = "ssh-dss";
const CERTIFICATE_SUFFIX: &str = "-cert-v01@openssh.com";

const RFC_4716_BEGIN: &str = "---- BEGIN SSH2 PUBLIC KEY ----";
const RFC_4716_END: &str = "---- END SSH2 PUBLIC KEY ----";

/// A public key with a supported algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    /// The key in the format of the SSH protocol. There is one blob for each key.
    pub blob: Vec<u8>,
    /// The comment after the key; can be empty.
    pub comment: String,
}

/// Why a text is not accepted as a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublicKeyProblem {
    /// The text is longer than [`TEXT_MAX_BYTES`].
    #[error("is longer than {TEXT_MAX_BYTES} bytes")]
    TooLong,
    /// The text is a private key.
    #[error("is a private key, which must stay secret; give the public key, in the file that ends with .pub")]
    Private,
    /// The text is a PEM file that is not a private key.
    #[error("is a PEM file; give the line that `ssh-keygen -i -m PKCS8 -f FILE` prints")]
    Pem,
    /// The text has several lines.
    #[error("must be a single line with one key")]
    SeveralLines,
    /// The algorithm is preceded by options, as in `authorized_keys`.
    #[error("must begin with the algorithm, without options before it")]
    Options,
    /// The algorithm is DSA.
    #[error("is a DSA key, which is not secure; create one with `ssh-keygen -t ed25519`")]
    Dsa,
    /// The key is a certificate.
    #[error("is a certificate; give the public key that it certifies")]
    Certificate,
    /// The algorithm is not supported.
    #[error("has an unknown algorithm; supported are ed25519, ecdsa and rsa, also on security keys")]
    Algorithm,
    /// The key is incomplete or damaged.
    #[error("is not a complete public key")]
    Damaged,
    /// The RSA key is too short.
    #[error("is an RSA key with {bits} bits, but at least {} are required", RSA_BITS.start())]
    Short {
        /// Length of the key.
        bits: u32,
    },
    /// The RSA key is too long.
    #[error("is an RSA key with {bits} bits, but at most {} are supported", RSA_BITS.end())]
    Long {
        /// Length of the key.
        bits: u32,
    },
    /// The comment is too long or has control characters.
    #[error("has a comment with control characters or with more than {COMMENT_MAX_CHARS} characters")]
    Comment,
}

impl PublicKey {
    /// Reads a key in the format of OpenSSH (`ssh-ed25519 AAAA… comment`) or of RFC 4716.
    pub fn parse(text: &str) -> Result<Self, PublicKeyProblem> {
        if text.len() > TEXT_MAX_BYTES {
            return Err(PublicKeyProblem::TooLong);
        }
        let text = text.trim_matches([' ', '\t', '\r', '\n']);
        if is_private(text) {
            return Err(PublicKeyProblem::Private);
        }
        let (algorithm, blob, comment) = if text.starts_with(RFC_4716_BEGIN) {
            let (blob, comment) = rfc_4716(text)?;
            (None, blob, comment)
        } else {
            let (algorithm, blob, comment) = open_ssh(text)?;
            (Some(algorithm), blob, comment)
        };
        if comment.chars().count() > COMMENT_MAX_CHARS || comment.chars().any(char::is_control) {
            return Err(PublicKeyProblem::Comment);
        }
        let found = checked(&blob)?;
        if algorithm.is_some_and(|algorithm| algorithm != found) {
            return Err(PublicKeyProblem::Damaged);
        }
        Ok(Self { blob, comment })
    }

    /// Returns the key as a line in the format of OpenSSH.
    pub fn line(&self) -> String {
        line(&self.blob, &self.comment)
    }
}

/// Returns the line of a key with this blob, which was accepted before.
pub fn line(blob: &[u8], comment: &str) -> String {
    let algorithm = algorithm_of(blob).unwrap_or("unknown");
    let separator = if comment.is_empty() { "" } else { " " };
    format!("{algorithm} {}{separator}{comment}", STANDARD.encode(blob))
}

/// Returns the fingerprint of a blob, as OpenSSH shows it.
pub fn fingerprint(blob: &[u8]) -> String {
    format!("SHA256:{}", STANDARD_NO_PAD.encode(secret::sha256(blob)))
}

fn is_private(text: &str) -> bool {
    text.contains("PRIVATE KEY-----") || text.contains("ENCRYPTED PRIVATE KEY ----") || text.starts_with("PuTTY-User-")
}

/// Splits a line in the format of OpenSSH.
fn open_ssh(text: &str) -> Result<(&str, Vec<u8>, String), PublicKeyProblem> {
    if text.starts_with("-----BEGIN ") {
        return Err(PublicKeyProblem::Pem);
    }
    if text.contains(['\r', '\n']) {
        return Err(PublicKeyProblem::SeveralLines);
    }
    let (algorithm, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
    match algorithm {
        DSA => return Err(PublicKeyProblem::Dsa),
        _ if algorithm.ends_with(CERTIFICATE_SUFFIX) => return Err(PublicKeyProblem::Certificate),
        _ if ALGORITHMS.contains(&algorithm) => {}
        _ if rest.split([' ', '\t']).any(|word| word == DSA || ALGORITHMS.contains(&word)) => {
            return Err(PublicKeyProblem::Options);
        }
        _ => return Err(PublicKeyProblem::Algorithm),
    }
    let rest = rest.trim_start_matches([' ', '\t']);
    let (encoded, comment) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    let blob = STANDARD.decode(encoded).map_err(|_| PublicKeyProblem::Damaged)?;
    Ok((algorithm, blob, comment.trim_matches([' ', '\t']).to_owned()))
}

/// Reads the format of RFC 4716: headers, of which a line can continue after a backslash, and base64.
fn rfc_4716(text: &str) -> Result<(Vec<u8>, String), PublicKeyProblem> {
    let mut lines = text.lines().skip(1).map(str::trim_end);
    let (mut comment, mut encoded, mut ended) = (String::new(), String::new(), false);
    while let Some(line) = lines.next() {
        if line == RFC_4716_END {
            ended = true;
            break;
        }
        let Some((name, value)) = line.split_once(':').filter(|_| encoded.is_empty()) else {
            encoded.push_str(line);
            continue;
        };
        let mut value = value.trim_start().to_owned();
        while let Some(begin) = value.strip_suffix('\\') {
            value = format!("{begin}{}", lines.next().ok_or(PublicKeyProblem::Damaged)?);
        }
        if name.eq_ignore_ascii_case("comment") {
            let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            quoted.unwrap_or(&value).trim().clone_into(&mut comment);
        }
    }
    if !ended {
        return Err(PublicKeyProblem::Damaged);
    }
    if lines.next().is_some() {
        return Err(PublicKeyProblem::SeveralLines);
    }
    Ok((STANDARD.decode(encoded).map_err(|_| PublicKeyProblem::Damaged)?, comment))
}

/// Returns the name of the algorithm at the start of a blob.
fn algorithm_of(blob: &[u8]) -> Option<&str> {
    let (length, rest) = blob.split_first_chunk()?;
    let name = rest.get(..usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    std::str::from_utf8(name).ok()
}

/// Returns the algorithm of a blob that is a complete key with nothing after it.
fn checked(blob: &[u8]) -> Result<&str, PublicKeyProblem> {
    let algorithm = algorithm_of(blob).ok_or(PublicKeyProblem::Damaged)?;
    match algorithm {
        DSA => return Err(PublicKeyProblem::Dsa),
        _ if algorithm.ends_with(CERTIFICATE_SUFFIX) => return Err(PublicKeyProblem::Certificate),
        _ if ALGORITHMS.contains(&algorithm) => {}
        _ => return Err(PublicKeyProblem::Algorithm),
    }
    let decoded = Decoded::from_bytes(blob).map_err(|_| PublicKeyProblem::Damaged)?;
    if let KeyData::Rsa(rsa) = decoded.key_data() {
        check_rsa(rsa)?;
    }
    // A key with a second encoding could be added twice.
    let encoded = decoded.to_bytes().map_err(|_| PublicKeyProblem::Damaged)?;
    if encoded == blob { Ok(algorithm) } else { Err(PublicKeyProblem::Damaged) }
}

fn check_rsa(key: &RsaPublicKey) -> Result<(), PublicKeyProblem> {
    let exponent = key.e().as_positive_bytes().unwrap_or_default();
    let modulus = key.n().as_positive_bytes().unwrap_or_default();
    let is_odd = |number: &[u8]| number.last().is_some_and(|byte| byte & 1 == 1);
    let bits = bits_of(modulus);
    if bits < *RSA_BITS.start() {
        return Err(PublicKeyProblem::Short { bits });
    }
    if bits > *RSA_BITS.end() {
        return Err(PublicKeyProblem::Long { bits });
    }
    let sound = is_odd(exponent) && is_odd(modulus) && bits_of(exponent) > 1 && bits_of(exponent) <= 64;
    if sound { Ok(()) } else { Err(PublicKeyProblem::Damaged) }
}

/// Returns the length of a positive number in bits.
fn bits_of(number: &[u8]) -> u32 {
    let significant = &number[number.iter().take_while(|byte| **byte == 0).count()..];
    let leading = significant.first().map_or(0, |byte| byte.leading_zeros());
    u32::try_from(significant.len() * 8).unwrap_or(u32::MAX) - leading
}

#[cfg(test)]
mod tests;
