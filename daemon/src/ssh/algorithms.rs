//! The algorithms and limits of the SSH protocol, as in the defaults of current OpenSSH servers.

use std::{borrow::Cow, time::Duration};

use russh::{
    Limits, MethodKind, MethodSet, Preferred, SshId, cipher, compression, kex,
    keys::{Algorithm, EcdsaCurve, HashAlg},
    mac, server,
};

use super::HostKeys;

/// No groups of finite fields and no SHA-1.
const KEY_EXCHANGES: &[kex::Name] = &[
    kex::MLKEM768X25519_SHA256,
    kex::CURVE25519,
    kex::CURVE25519_PRE_RFC_8731,
    kex::ECDH_SHA2_NISTP256,
    kex::EXTENSION_SUPPORT_AS_SERVER,
    kex::EXTENSION_OPENSSH_STRICT_KEX_AS_SERVER,
];
const CIPHERS: &[cipher::Name] =
    &[cipher::CHACHA20_POLY1305, cipher::AES_256_GCM, cipher::AES_256_CTR, cipher::AES_192_CTR, cipher::AES_128_CTR];
const MACS: &[mac::Name] = &[mac::HMAC_SHA256_ETM, mac::HMAC_SHA512_ETM, mac::HMAC_SHA256, mac::HMAC_SHA512];
/// Algorithms of host keys, and of the signatures of users. RSA keys sign with SHA-2 only.
const SIGNATURES: &[Algorithm] = &[
    Algorithm::Ed25519,
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::SkEd25519,
    Algorithm::SkEcdsaSha2NistP256,
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
    Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
];

/// Keys that a client may try on one connection.
const TRIES: usize = 6;
/// Bytes after which the session keys are exchanged again.
const REKEY_BYTES: usize = 1 << 30;
const REKEY_AFTER: Duration = Duration::from_secs(3_600);
/// Bytes that a client may send on a channel before the daemon has read them.
const WINDOW_BYTES: u32 = 2 << 20;
/// Packets of a channel that wait for its command.
const CHANNEL_PACKETS: usize = 64;
/// A silent client is asked for a sign of life this often, and is disconnected after [`KEEPALIVE_MAX`] questions.
const KEEPALIVE: Duration = Duration::from_secs(60);
const KEEPALIVE_MAX: usize = 3;

/// Returns whether users may sign with `algorithm`. The library accepts more than it announces.
pub(super) fn is_allowed(algorithm: &Algorithm) -> bool {
    SIGNATURES.contains(algorithm)
}

/// Returns the configuration of the SSH library.
pub(super) fn config(keys: &HostKeys) -> server::Config {
    server::Config {
        server_id: SshId::Standard(Cow::Borrowed("SSH-2.0-farrier")),
        methods: MethodSet::from(&[MethodKind::PublicKey][..]),
        // Which keys are known is no secret: a client that has the public key can offer it.
        auth_rejection_time: Duration::ZERO,
        auth_rejection_time_initial: Some(Duration::ZERO),
        keys: keys.private(),
        limits: Limits::new(REKEY_BYTES, REKEY_BYTES, REKEY_AFTER),
        window_size: WINDOW_BYTES,
        channel_buffer_size: CHANNEL_PACKETS,
        preferred: Preferred {
            kex: Cow::Borrowed(KEY_EXCHANGES),
            key: Cow::Borrowed(SIGNATURES),
            host_key_certificates: Cow::Borrowed(&[]),
            cipher: Cow::Borrowed(CIPHERS),
            mac: Cow::Borrowed(MACS),
            compression: Cow::Borrowed(&[compression::NONE]),
        },
        max_auth_attempts: TRIES,
        // `connection` has the time limits.
        inactivity_timeout: None,
        keepalive_interval: Some(KEEPALIVE),
        keepalive_max: KEEPALIVE_MAX,
        ..server::Config::default()
    }
}
