//! Signatures with OpenPGP keys, as `gpg --armor --detach-sign` makes them.

use std::io::BufReader;

use farrier_proto::store::{GpgKey, GpgKeyPart};
use pgp::{
    armor::{Dearmor, DearmorOptions},
    packet::{Packet, PacketParser, Signature, SignatureType},
    types::Fingerprint,
};

use super::TEXT_MAX_BYTES;
use crate::model::gpg_key::{guarded, is_strong, is_understood, ms, number_of};

/// First line of a signature.
const BEGIN: &str = "-----BEGIN PGP SIGNATURE-----";
const END: &str = "-----END PGP SIGNATURE-----";
/// How the first and the last line of armored data start.
const LINE_STARTS: [&str; 2] = ["-----BEGIN ", "-----END "];

/// A signature with an OpenPGP key.
#[derive(Debug)]
pub struct OpenPgpSignature {
    signature: Signature,
    key_id: u64,
}

impl OpenPgpSignature {
    /// Reads the text form of a signature. It must say when and with which key it was made.
    ///
    /// The text has one signature and nothing else. Git also refuses several: it would not be clear which one counts.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let body = text.strip_prefix(BEGIN)?.strip_suffix(END)?;
        if LINE_STARTS.iter().any(|start| body.contains(start)) {
            return None;
        }
        guarded(|| {
            let options = DearmorOptions::new().set_limit(TEXT_MAX_BYTES);
            let mut packets = PacketParser::new(BufReader::new(Dearmor::with_options(text.as_bytes(), options)));
            let Packet::Signature(signature) = packets.next()?.ok()? else { return None };
            if packets.next().is_some() {
                return None;
            }
            signature.created()?;
            let key_id = issuer(&signature)?;
            Some(Self { signature, key_id })
        })
    }

    /// Returns the ID of the primary key or subkey with which it was made.
    pub fn key_id(&self) -> u64 {
        self.key_id
    }

    /// Returns whether `key` has signed `payload`, in a time in which it was valid. `now_ms`: the current time.
    pub fn fits(&self, key: &GpgKey, payload: &[u8], now_ms: i64) -> bool {
        let (Some(primary), Some(part)) = (key.parts.first(), self.part_of(key)) else { return false };
        let Some(created_ms) = self.signature.created().map(ms) else { return false };
        let covers =
            |part: &GpgKeyPart| part.created_ms <= created_ms && (part.expires_ms == 0 || created_ms < part.expires_ms);
        part.can_sign
            && covers(part)
            && covers(primary)
            && self.signature.typ() == Some(SignatureType::Binary)
            && is_strong(self.signature.hash_alg())
            && is_understood(&self.signature, now_ms)
            && guarded(|| self.verify(part, payload)).is_some()
    }

    fn part_of<'a>(&self, key: &'a GpgKey) -> Option<&'a GpgKeyPart> {
        key.parts.iter().find(|part| part.key_id == self.key_id)
    }

    /// Returns `None` if the part has not signed `payload`.
    fn verify(&self, part: &GpgKeyPart, payload: &[u8]) -> Option<()> {
        match PacketParser::new(part.packet.as_slice()).next()?.ok()? {
            Packet::PublicKey(key) => self.signature.verify(&key, payload).ok(),
            Packet::PublicSubkey(key) => self.signature.verify(&key, payload).ok(),
            _ => None,
        }
    }
}

/// Returns the ID of the key with which a signature was made.
fn issuer(signature: &Signature) -> Option<u64> {
    if let Some(id) = signature.issuer_key_id().first() {
        return number_of(**id);
    }
    let found = signature.issuer_fingerprint();
    let id = match found.first()? {
        Fingerprint::V4(bytes) => bytes.last_chunk()?,
        Fingerprint::V6(bytes) => bytes.first_chunk()?,
        _ => return None,
    };
    Some(u64::from_be_bytes(*id))
}
