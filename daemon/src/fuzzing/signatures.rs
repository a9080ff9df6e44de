//! Checks of OpenPGP keys, and of commits with signatures.

use farrier_proto::store::GpgKey;

use super::NOW_MS;
use crate::{
    git::read::commit::{CommitObject, TagObject},
    model::{
        gpg_key::{GpgPublicKey, TEXT_MAX_BYTES, shown_id},
        signature::ObjectSignature,
        ssh_key,
    },
};

/// Checks OpenPGP keys: an accepted key has parts that can be compared with signatures, and readable addresses.
pub fn gpg_key(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let key = match GpgPublicKey::parse(text, NOW_MS) {
        Ok(key) => key,
        Err(problem) => {
            assert!(!problem.to_string().is_empty());
            return;
        }
    };
    assert!(text.len() <= TEXT_MAX_BYTES && !text.contains("PRIVATE KEY"), "{text:?}");
    assert!(!key.parts.is_empty(), "{text:?}");
    for part in &key.parts {
        assert!(part.packet.len() <= text.len() && matches!(part.fingerprint.len(), 20 | 32), "{text:?}");
        assert_eq!(shown_id(part.key_id).len(), 16);
    }
    for email in &key.emails {
        assert!(email.contains('@') && !email.chars().any(|c| c.is_whitespace() || c.is_control()), "{email:?}");
    }
}

/// Checks commits and tags with signatures: the signed data is a part of the object, and no key that did not sign it
/// fits.
pub fn object_signature(input: &[u8]) {
    let (commit, tag) = (CommitObject::parse("id", input), TagObject::parse("id", input));
    for signed in [&commit.signed, &tag.signed].into_iter().flatten() {
        assert!(signed.payload.len() < input.len(), "the signature is not a part of the signed data");
        match ObjectSignature::parse(&signed.signature) {
            Some(ObjectSignature::Ssh(signature)) => {
                let _ = (signature.fits(&signed.payload), ssh_key::fingerprint(signature.blob()));
                assert!(!signature.fits(b"not signed by anybody"));
            }
            Some(ObjectSignature::OpenPgp(signature)) => {
                assert!(!signature.fits(&GpgKey::default(), &signed.payload, NOW_MS));
            }
            None => {}
        }
    }
}
