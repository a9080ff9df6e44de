//! Public OpenPGP keys, as users give them.
//!
//! Of a key, only what the owner of its primary key has signed counts: user IDs, subkeys, their capabilities and ends.
//! Signatures of other people are ignored.

mod packets;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use farrier_proto::store::GpgKeyPart;
use pgp::{
    crypto::{hash::HashAlgorithm, public_key::PublicKeyAlgorithm},
    packet::{KeyFlags, PacketTrait, PublicKey, PublicSubkey, Signature, SignatureType, SubpacketData},
    ser::Serialize as _,
    types::{Duration, KeyDetails, KeyId, KeyVersion, PublicParams, Tag, Timestamp},
};

use self::packets::{KeyPackets, SUBKEYS_MAX, USER_IDS_MAX};

/// Longest text of a key, in bytes.
pub const TEXT_MAX_BYTES: usize = 256 << 10;
/// Most signatures of a key that are verified.
const CHECKS_MAX: u32 = 400;
/// Smallest RSA key, in bits. The library supports at most 8,192.
const RSA_MIN_BITS: u16 = 2_048;
/// Longest address that is read from a user ID, in bytes.
const ADDRESS_MAX_BYTES: usize = 254;
const REVOCATIONS: [SignatureType; 3] =
    [SignatureType::KeyRevocation, SignatureType::SubkeyRevocation, SignatureType::CertRevocation];
const CERTIFICATIONS: [SignatureType; 4] =
    [SignatureType::CertGeneric, SignatureType::CertPersona, SignatureType::CertCasual, SignatureType::CertPositive];

/// A public key with its subkeys and addresses.
#[derive(Clone, Debug, PartialEq)]
pub struct GpgPublicKey {
    /// The primary key, then the subkeys.
    pub parts: Vec<GpgKeyPart>,
    /// The addresses in its user IDs, in lower case.
    pub emails: Vec<String>,
}

/// Why a text is not accepted as an OpenPGP key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpgKeyProblem {
    /// The text is longer than [`TEXT_MAX_BYTES`].
    #[error("is longer than {TEXT_MAX_BYTES} bytes; export it with `gpg --export-options export-minimal`")]
    TooLong,
    /// The text is a private key.
    #[error("is a private key, which must stay secret; give the output of `gpg --armor --export`")]
    Private,
    /// The text is no armored public key.
    #[error("is not an armored public key; give the output of `gpg --armor --export`")]
    NotArmored,
    /// The text has several keys.
    #[error("has several keys; add them one after the other")]
    Several,
    /// The key is incomplete or damaged.
    #[error("is not a complete public key")]
    Damaged,
    /// The key has too many packets, user IDs, subkeys or signatures.
    #[error(
        "has too many parts: at most {USER_IDS_MAX} user IDs, {SUBKEYS_MAX} subkeys and {CHECKS_MAX} signatures of its \
         owner are allowed; export it with `gpg --export-options export-minimal`"
    )]
    TooComplex,
    /// The key has an old or unknown version.
    #[error("has an unsupported version; keys of the versions 4 and 6 are supported")]
    Version,
    /// The algorithm cannot be verified.
    #[error("has an algorithm that is not supported; RSA, ECDSA and EdDSA are supported")]
    Algorithm,
    /// The RSA key is too short.
    #[error("is an RSA key with {bits} bits, but at least {RSA_MIN_BITS} are required")]
    Short {
        /// Length of the key.
        bits: u16,
    },
    /// No user ID and no property of the key has a valid signature of the key.
    #[error("has no valid signature of its owner")]
    Unsigned,
    /// The owner has revoked the key.
    #[error("was revoked by its owner")]
    Revoked,
}

impl GpgPublicKey {
    /// Reads an armored key. `now_ms`: the current time.
    pub fn parse(text: &str, now_ms: i64) -> Result<Self, GpgKeyProblem> {
        if text.len() > TEXT_MAX_BYTES {
            return Err(GpgKeyProblem::TooLong);
        }
        if text.contains("PRIVATE KEY") {
            return Err(GpgKeyProblem::Private);
        }
        if text.matches("-----BEGIN PGP").count() > 1 {
            return Err(GpgKeyProblem::Several);
        }
        let read = || KeyPackets::read(text).and_then(|key| Evaluation { now_ms, checks: 0 }.key(&key));
        guarded(|| Some(read())).unwrap_or(Err(GpgKeyProblem::Damaged))
    }
}

/// Returns the ID of a primary key or subkey as people write it.
pub fn shown_id(key_id: u64) -> String {
    format!("{key_id:016X}")
}

/// Runs `work` on untrusted data. Returns `None` if the library panics: a key or signature that finds a bug in it is
/// refused, and must not end a task of the daemon.
pub(super) fn guarded<T>(work: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(None)
}

/// Returns whether a hash algorithm is safe for data that other people may have chosen.
pub(super) fn is_strong(hash: Option<HashAlgorithm>) -> bool {
    use HashAlgorithm::{Sha3_256, Sha3_512, Sha224, Sha256, Sha384, Sha512};
    hash.is_some_and(|hash| matches!(hash, Sha224 | Sha256 | Sha384 | Sha512 | Sha3_256 | Sha3_512))
}

/// Returns whether a signature says nothing that must be understood but is not, and has not expired.
pub(super) fn is_understood(signature: &Signature, now_ms: i64) -> bool {
    let Some(config) = signature.config() else { return false };
    let unknown = config.hashed_subpackets().any(|packet| {
        let data = &packet.data;
        let unknown =
            matches!(data, SubpacketData::Other(..) | SubpacketData::Experimental(..) | SubpacketData::Notation(_));
        packet.is_critical && unknown
    });
    let Some(created) = signature.created() else { return false };
    let ends = end_ms(created, signature.signature_expiration_time());
    !unknown && (ends == 0 || now_ms < ends)
}

/// Returns the ID of a key as a number.
pub(super) fn number_of(id: KeyId) -> Option<u64> {
    let bytes: &[u8] = id.as_ref();
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

/// Returns a time in milliseconds.
pub(super) fn ms(time: Timestamp) -> i64 {
    i64::from(time.as_secs()) * 1_000
}

/// Returns the end of a period that begins with `start`; 0 if it does not end.
fn end_ms(start: Timestamp, length: Option<Duration>) -> i64 {
    length.filter(|length| length.as_secs() != 0).map_or(0, |length| ms(start) + i64::from(length.as_secs()) * 1_000)
}

/// Verifies the signatures of a key by its owner.
struct Evaluation {
    now_ms: i64,
    checks: u32,
}

impl Evaluation {
    fn key(&mut self, key: &KeyPackets) -> Result<GpgPublicKey, GpgKeyProblem> {
        let primary = &key.primary;
        check_primary(primary)?;
        let of_key = |signature: &Signature| signature.verify_key(primary);
        if self.newest(&key.direct, &[SignatureType::KeyRevocation], of_key)?.is_some() {
            return Err(GpgKeyProblem::Revoked);
        }
        let direct = self.newest(&key.direct, &[SignatureType::Key], of_key)?;
        let (mut emails, mut certifications) = (Vec::new(), Vec::new());
        for (id, signatures) in &key.users {
            let of_user = |signature: &Signature| signature.verify_certification(primary, Tag::UserId, id);
            let Some(found) = self.newest(signatures, &CERTIFICATIONS, of_user)? else { continue };
            let revoked = self.newest(signatures, &[SignatureType::CertRevocation], of_user)?;
            if revoked.is_some_and(|revoked| created(revoked) >= created(found)) {
                continue;
            }
            certifications.push(found);
            if let Some(email) = id.as_str().and_then(address).filter(|email| !emails.contains(email)) {
                emails.push(email);
            }
        }
        certifications.sort_by_key(|found| (found.is_primary(), created(found)));
        // A signature over the key alone decides before those over user IDs, as in gpg. See also RFC 9580, 5.2.3.10.
        let properties: Vec<&Signature> = direct.into_iter().chain(certifications.pop()).collect();
        if properties.is_empty() {
            return Err(GpgKeyProblem::Unsigned);
        }
        let length = properties.iter().find_map(|signature| signature.key_expiration_time());
        // A key without any flags may be used for everything. Flags that name other uses forbid to sign.
        let flags = match properties.iter().find(|signature| has_flags(signature)) {
            Some(signature) => Capabilities::of(&signature.key_flags()),
            None => Capabilities { sign: true, certify: true, ..Capabilities::default() },
        };
        let mut parts = vec![part(primary, flags, length).ok_or(GpgKeyProblem::Damaged)?];
        for (subkey, signatures) in &key.subkeys {
            parts.extend(self.subkey(primary, subkey, signatures)?);
        }
        Ok(GpgPublicKey { parts, emails })
    }

    /// Returns a subkey that belongs to `primary` and was not revoked.
    fn subkey(
        &mut self,
        primary: &PublicKey,
        subkey: &PublicSubkey,
        signatures: &[Signature],
    ) -> Result<Option<GpgKeyPart>, GpgKeyProblem> {
        if !is_supported(subkey) {
            return Ok(None);
        }
        let bound = |signature: &Signature| signature.verify_subkey_binding(primary, subkey);
        let Some(binding) = self.newest(signatures, &[SignatureType::SubkeyBinding], bound)? else { return Ok(None) };
        if self.newest(signatures, &[SignatureType::SubkeyRevocation], bound)?.is_some() {
            return Ok(None);
        }
        let mut flags = Capabilities { certify: false, ..Capabilities::of(&binding.key_flags()) };
        // A subkey that signs must also have signed that it belongs to the primary key, see RFC 9580, 5.2.1.8.
        flags.sign = flags.sign
            && signs(subkey.algorithm())
            && rsa_bits(subkey).is_none_or(|bits| bits >= RSA_MIN_BITS)
            && match binding.embedded_signature() {
                Some(back) => self.is_valid(back, |back| back.verify_primary_key_binding(subkey, primary))?,
                None => false,
            };
        Ok(part(subkey, flags, binding.key_expiration_time()))
    }

    /// Returns the newest valid signature of one of these kinds.
    fn newest<'a>(
        &mut self,
        signatures: &'a [Signature],
        kinds: &[SignatureType],
        verify: impl Fn(&Signature) -> pgp::errors::Result<()>,
    ) -> Result<Option<&'a Signature>, GpgKeyProblem> {
        let of_kind = signatures.iter().filter(|signature| signature.typ().is_some_and(|kind| kinds.contains(&kind)));
        let mut found: Vec<&Signature> = of_kind.collect();
        found.sort_by_key(|signature| std::cmp::Reverse(created(signature)));
        for signature in found {
            if self.is_valid(signature, &verify)? {
                return Ok(Some(signature));
            }
        }
        Ok(None)
    }

    fn is_valid(
        &mut self,
        signature: &Signature,
        verify: impl Fn(&Signature) -> pgp::errors::Result<()>,
    ) -> Result<bool, GpgKeyProblem> {
        self.checks += 1;
        if self.checks > CHECKS_MAX {
            return Err(GpgKeyProblem::TooComplex);
        }
        // Many keys still have signatures with SHA-1, which the library checks for known collisions.
        let hash = signature.hash_alg();
        let accepted = is_strong(hash) || hash == Some(HashAlgorithm::Sha1);
        // A revocation counts in any case: nothing that it says can make the key valid again, and it does not expire.
        let revokes = signature.typ().is_some_and(|kind| REVOCATIONS.contains(&kind));
        Ok(accepted && (revokes || is_understood(signature, self.now_ms)) && verify(signature).is_ok())
    }
}

/// What a key may be used for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of OpenPGP")]
struct Capabilities {
    sign: bool,
    certify: bool,
    encrypt_comms: bool,
    encrypt_storage: bool,
}

impl Capabilities {
    fn of(flags: &KeyFlags) -> Self {
        Self {
            sign: flags.sign(),
            certify: flags.certify(),
            encrypt_comms: flags.encrypt_comms(),
            encrypt_storage: flags.encrypt_storage(),
        }
    }
}

fn check_primary(key: &PublicKey) -> Result<(), GpgKeyProblem> {
    if !is_supported(key) {
        return Err(GpgKeyProblem::Version);
    }
    if !signs(key.algorithm()) {
        return Err(GpgKeyProblem::Algorithm);
    }
    match rsa_bits(key) {
        Some(bits) if bits < RSA_MIN_BITS => Err(GpgKeyProblem::Short { bits }),
        _ => Ok(()),
    }
}

/// Returns whether the version of a key is supported. The library panics when it writes keys of other versions.
fn is_supported(key: &impl KeyDetails) -> bool {
    matches!(key.version(), KeyVersion::V4 | KeyVersion::V6)
}

/// Returns whether signatures with this algorithm are verified. DSA is not: its parameters come from the key, so a
/// hostile key could make the verification slow.
fn signs(algorithm: PublicKeyAlgorithm) -> bool {
    use PublicKeyAlgorithm::{ECDSA, Ed448, Ed25519, EdDSALegacy, RSA, RSASign};
    matches!(algorithm, RSA | RSASign | ECDSA | EdDSALegacy | Ed25519 | Ed448)
}

/// Returns the length of an RSA key in bits.
fn rsa_bits(key: &impl KeyDetails) -> Option<u16> {
    let PublicParams::RSA(params) = key.public_params() else { return None };
    // The modulus is written first, after its length in bits.
    let bytes = params.to_bytes().ok()?;
    Some(u16::from_be_bytes(*bytes.first_chunk()?))
}

/// Returns whether a signature says what the key may be used for.
fn has_flags(signature: &Signature) -> bool {
    let is_flags = |data: &SubpacketData| matches!(data, SubpacketData::KeyFlags(_));
    signature.config().is_some_and(|config| config.hashed_subpackets().any(|packet| is_flags(&packet.data)))
}

fn created(signature: &Signature) -> i64 {
    signature.created().map_or(0, ms)
}

fn part(key: &(impl KeyDetails + PacketTrait), flags: Capabilities, length: Option<Duration>) -> Option<GpgKeyPart> {
    let mut packet = Vec::new();
    key.to_writer_with_header(&mut packet).ok()?;
    let fingerprint = key.fingerprint().as_bytes().to_vec();
    Some(GpgKeyPart {
        key_id: number_of(key.legacy_key_id())?,
        fingerprint,
        packet,
        can_sign: flags.sign,
        can_encrypt_comms: flags.encrypt_comms,
        can_encrypt_storage: flags.encrypt_storage,
        can_certify: flags.certify,
        created_ms: ms(key.created_at()),
        expires_ms: end_ms(key.created_at(), length),
    })
}

/// Returns the address of a user ID such as `Ann <ann@example.org>`, in lower case.
fn address(user_id: &str) -> Option<String> {
    let text = match user_id.rsplit_once('<') {
        Some((_, rest)) => rest.split_once('>')?.0,
        None => user_id,
    };
    let is_address = text.len() <= ADDRESS_MAX_BYTES
        && text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
        && !text.chars().any(|c| c.is_whitespace() || c.is_control());
    is_address.then(|| text.to_lowercase())
}
