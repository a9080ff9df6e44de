//! Reads the packets of an OpenPGP key. Nothing is verified here.

use std::io::BufReader;

use pgp::{
    armor::{BlockType, Dearmor, DearmorOptions},
    errors::Error,
    packet::{Packet, PacketParser, PublicKey, PublicSubkey, Signature, UserId},
    types::{Fingerprint, KeyDetails as _, KeyId},
};

use super::{GpgKeyProblem, TEXT_MAX_BYTES};

/// Most packets of a key.
const PACKETS_MAX: usize = 2_000;
/// Most user IDs of a key.
pub(super) const USER_IDS_MAX: usize = 100;
/// Most subkeys of a key.
pub(super) const SUBKEYS_MAX: usize = 50;

/// The packets of a key. Its signatures name the primary key as their issuer.
pub(super) struct KeyPackets {
    pub(super) primary: PublicKey,
    /// Signatures over the primary key alone.
    pub(super) direct: Vec<Signature>,
    pub(super) users: Vec<(UserId, Vec<Signature>)>,
    pub(super) subkeys: Vec<(PublicSubkey, Vec<Signature>)>,
    id: KeyId,
    fingerprint: Fingerprint,
    target: Target,
}

/// What the next signature is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Primary,
    User,
    Subkey,
    /// A packet that does not count.
    Ignored,
}

impl KeyPackets {
    /// Reads an armored key.
    pub(super) fn read(text: &str) -> Result<Self, GpgKeyProblem> {
        let options = DearmorOptions::new().set_limit(TEXT_MAX_BYTES);
        let mut armored = Dearmor::with_options(text.trim().as_bytes(), options);
        armored.read_header().map_err(|_| GpgKeyProblem::NotArmored)?;
        if armored.typ != Some(BlockType::PublicKey) {
            return Err(GpgKeyProblem::NotArmored);
        }
        let mut key: Option<Self> = None;
        for (number, packet) in PacketParser::new(BufReader::new(armored)).enumerate() {
            if number == PACKETS_MAX {
                return Err(GpgKeyProblem::TooComplex);
            }
            let packet = match (packet, key.as_mut()) {
                (Ok(packet), _) => packet,
                // What follows a packet of a newer kind or version belongs to it.
                (Err(error), Some(key)) if is_unknown(&error) => {
                    key.target = Target::Ignored;
                    continue;
                }
                (Err(error), None) if is_unknown(&error) => return Err(GpgKeyProblem::Version),
                (Err(_), _) => return Err(GpgKeyProblem::Damaged),
            };
            match packet {
                Packet::Marker(_) | Packet::Padding(_) | Packet::Trust(_) => {}
                Packet::SecretKey(_) | Packet::SecretSubkey(_) => return Err(GpgKeyProblem::Private),
                Packet::PublicKey(primary) if key.is_none() => key = Some(Self::new(primary)),
                Packet::PublicKey(_) => return Err(GpgKeyProblem::Several),
                packet => key.as_mut().ok_or(GpgKeyProblem::Damaged)?.add(packet)?,
            }
        }
        key.ok_or(GpgKeyProblem::Damaged)
    }

    fn new(primary: PublicKey) -> Self {
        Self {
            id: primary.legacy_key_id(),
            fingerprint: primary.fingerprint(),
            primary,
            direct: Vec::new(),
            users: Vec::new(),
            subkeys: Vec::new(),
            target: Target::Primary,
        }
    }

    fn add(&mut self, packet: Packet) -> Result<(), GpgKeyProblem> {
        match packet {
            Packet::UserId(_) if self.users.len() == USER_IDS_MAX => return Err(GpgKeyProblem::TooComplex),
            Packet::PublicSubkey(_) if self.subkeys.len() == SUBKEYS_MAX => return Err(GpgKeyProblem::TooComplex),
            Packet::UserId(id) => {
                self.users.push((id, Vec::new()));
                self.target = Target::User;
            }
            Packet::PublicSubkey(subkey) => {
                self.subkeys.push((subkey, Vec::new()));
                self.target = Target::Subkey;
            }
            Packet::Signature(signature) if self.is_own(&signature) => {
                let signatures = match self.target {
                    Target::Primary => Some(&mut self.direct),
                    Target::User => self.users.last_mut().map(|(_, signatures)| signatures),
                    Target::Subkey => self.subkeys.last_mut().map(|(_, signatures)| signatures),
                    Target::Ignored => None,
                };
                if let Some(signatures) = signatures {
                    signatures.push(signature);
                }
            }
            Packet::Signature(_) => {}
            _ => self.target = Target::Ignored,
        }
        Ok(())
    }

    /// Returns whether a signature names the primary key as its issuer.
    fn is_own(&self, signature: &Signature) -> bool {
        signature.issuer_key_id().contains(&&self.id) || signature.issuer_fingerprint().contains(&&self.fingerprint)
    }
}

/// Returns whether the library has read a packet completely but does not know its kind, version or algorithm.
fn is_unknown(error: &Error) -> bool {
    match error {
        Error::Unsupported { .. } | Error::EllipticCurve { .. } => true,
        Error::InvalidPacketContent { source } => is_unknown(source),
        _ => false,
    }
}
