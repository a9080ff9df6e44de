//! Converts OpenPGP keys.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use farrier_common::api;
use farrier_proto::store::{GpgKey, GpgKeyPart, User};

use super::{number, time};
use crate::model::gpg_key::shown_id;

/// Converts a key of the account `owner` with its subkeys.
pub(in crate::http) fn gpg_key(row: &GpgKey, owner: &User) -> api::GpgKey {
    let Some((primary, subkeys)) = row.parts.split_first() else { return api::GpgKey::default() };
    let primary_key_id = shown_id(primary.key_id);
    let own = owner.email.to_lowercase();
    let email = |email: &String| api::GpgKeyEmail { email: email.clone(), verified: *email == own };
    api::GpgKey {
        emails: row.emails.iter().map(email).collect(),
        subkeys: subkeys.iter().map(|subkey| part(row, subkey, &primary_key_id)).collect(),
        ..part(row, primary, "")
    }
}

fn part(row: &GpgKey, part: &GpgKeyPart, primary_key_id: &str) -> api::GpgKey {
    api::GpgKey {
        id: number(row.id),
        primary_key_id: primary_key_id.to_owned(),
        key_id: shown_id(part.key_id),
        public_key: STANDARD.encode(&part.packet),
        emails: Vec::new(),
        subkeys: Vec::new(),
        can_sign: part.can_sign,
        can_encrypt_comms: part.can_encrypt_comms,
        can_encrypt_storage: part.can_encrypt_storage,
        can_certify: part.can_certify,
        verified: row.verified,
        created_at: time(part.created_ms),
        expires_at: time(part.expires_ms),
    }
}
